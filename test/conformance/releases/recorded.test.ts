/**
 * The data of the releases that Ottla emulates equals what their own classes say. OTTLA_UPDATE_RELEASES=1 writes it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type EmulatedRelease, RELEASES } from '../../../src/broker/emulate/releases.ts'
import { fileOf, recordRelease, renderRelease } from './record.ts'
import { required } from './required.ts'

describe.each(Object.keys(RELEASES) as EmulatedRelease[])('Kafka %s', release => {
  it('tells what is recorded of it', async context => {
    const { version } = RELEASES[release]
    const recorded = await required(context, () => recordRelease(version))
    const rendered = renderRelease(release, version, recorded)
    if (process.env.OTTLA_UPDATE_RELEASES === '1') await writeFile(fileOf(release), rendered)
    expect(await readFile(fileOf(release), 'utf8')).toBe(rendered)
  }, 300_000)
})
