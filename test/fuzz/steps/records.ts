import type { Json, JsonObject } from '../../twin/json.ts'
import type { World } from '../world.ts'

/**
 * The records of a Produce request: mostly one good batch, sometimes one that is wrong in one place. Null records are left out,
 * since Kafka never answers them.
 */

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/** How many records it holds when it is good, and what it is. */
export function records(world: World, more: JsonObject = {}): { count: number; value: Json } {
  const count = 1 + world.int(3)
  const batch: JsonObject = {
    ...(world.chance(0.2) && { codec: world.pick(...CODECS) }),
    ...more,
    records: Array.from({ length: count }, () => record(world)),
  }
  return { count, value: world.chance(0.12) ? wrong(world, batch, count) : batch }
}

function record(world: World): Json {
  const value = world.pick<Json>('a', 'b', '', null, { repeat: 'x', times: 300 })
  const key = world.pick<Json>(null, null, 'k', 'k2', '')
  if (key === null && value !== null && world.chance(0.5)) return value
  return {
    key,
    value,
    ...(world.chance(0.2) && { timestamp: `now+${world.int(2000) - 1000}`.replace('+-', '-') }),
    ...(world.chance(0.02) && { timestamp: world.pick<Json>('now+7300000', 0, -1) }),
    ...(world.chance(0.15) && { headers: { h: world.pick<Json>('x', '', null) } }),
  }
}

/** The batch with one thing wrong or odd. */
function wrong(world: World, batch: JsonObject, count: number): Json {
  const first = (batch.records as Json[])[0]
  return world.pick<() => Json>(
    () => ({ ...batch, crc: 'wrong' }),
    () => ({ ...batch, magic: world.pick(0, 1, 3, -1) }),
    () => ({ ...batch, baseOffset: world.pick(5, -1) }),
    () => ({ ...batch, lastOffsetDelta: world.pick(count, 0, -1, 100) }),
    () => ({ ...batch, count: world.pick(count + 1, 0, -1) }),
    () => ({ ...batch, length: world.pick(0, -1, 1_000_000) }),
    () => ({ ...batch, attributes: world.pick(5, 7, 8, 64, 128) }),
    () => ({ ...batch, maxTimestamp: world.pick<Json>('now+5', 'now-5', -1) }),
    () => ({ ...batch, baseTimestamp: world.pick<Json>('now+5', -1) }),
    () => ({ ...batch, control: true }),
    () => ({ ...batch, logAppendTime: true }),
    () => ({ ...batch, partitionLeaderEpoch: world.pick(0, 5) }),
    () => ({ ...batch, records: [{ value: 'o', offsetDelta: world.pick(1, 5, -1) }] }),
    () => ({ ...batch, records: [first, { value: 'o', offsetDelta: world.pick(0, 3) }] }),
    () => ({ ...batch, records: [], lastOffsetDelta: world.pick(0, -1) }),
    () => ({ ...batch, cut: 1 + world.int(70) }),
    () => ({ ...batch, garbage: world.pick('zzzz', 'hex:00', 'hex:ffffffffff', '') }),
    () => ({ batches: [batch, { records: ['second'] }] }),
    () => ({
      ...batch,
      producerId: world.pick(-2, 9_000_000),
      producerEpoch: world.pick(-1, 0),
      baseSequence: world.pick(-1, 0),
    }),
    () =>
      world.pick(
        '',
        'hex:00',
        'hex:0000000000000000',
        'text that is no batch at all, but long enough for a header of one',
      ),
  )()
}
