/**
 * The first words on a connection: ApiVersions in the newest version we know, and once more in an older one if the broker
 * says that it does not know that (KIP-511). Says who we are (KIP-511 too).
 */

import { apiVersions } from '../protocol/apis/api-versions.ts'
import type { Api } from '../protocol/dsl.ts'
import type { Connection } from './connection.ts'
import { failureOf, type Result } from './result.ts'
import { type Task, until } from './task.ts'
import { type MaxVersions, ownMaxVersion, Versions } from './versions.ts'

const SOFTWARE = { clientSoftwareName: 'ottla', clientSoftwareVersion: '0.1.0' }

export function* askVersions(connection: Connection, pins: MaxVersions): Task<Result<Versions>> {
  let version = ownMaxVersion(apiVersions as unknown as Api, pins)
  for (;;) {
    const reply = yield* until(connection.request(apiVersions, SOFTWARE, { version }))
    if (!reply.ok) return reply
    const { errorCode, apiKeys } = reply.value
    const failure = failureOf(errorCode)
    if (failure === undefined) return { ok: true, value: new Versions(apiKeys, pins) }
    const own = apiKeys.find(range => range.apiKey === apiVersions.key)
    const lower = Math.min(version - 1, own?.maxVersion ?? 0)
    if (failure.error.code !== 'UNSUPPORTED_VERSION' || lower < 0) return failure
    version = lower
  }
}
