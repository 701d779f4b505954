import { performance } from 'node:perf_hooks'
import { Topic } from '../src/model/index.ts'

/**
 * Appends and polled records a second of the model's Topic, beside a plain array implementation of twenty lines that does no
 * more than it must: the same keys, the same partitions, in turns, in one run.
 *
 *   npm run bench:model
 */

const PARTITIONS = 12
const RECORDS = 200_000
const ROUNDS = 7
const KEYS = Array.from({ length: 10_000 }, (_, index) => `user-${index}`)

interface Queue {
  append(key: string, value: number): unknown
  poll(max: number): { length: number }
}

class PlainTopic implements Queue {
  readonly #partitions = Array.from({ length: PARTITIONS }, () => [] as { key: string; value: number }[])
  readonly #positions = new Array(PARTITIONS).fill(0)

  append(key: string, value: number): [number, number] {
    let hash = 0x811c9dc5
    for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193)
    const partition = (hash >>> 0) % PARTITIONS
    return [partition, this.#partitions[partition].push({ key, value }) - 1]
  }

  poll(max: number) {
    const records: { partition: number; offset: number; key: string; value: number }[] = []
    for (let partition = 0; partition < PARTITIONS && records.length < max; partition++) {
      const log = this.#partitions[partition]
      while (records.length < max && this.#positions[partition] < log.length) {
        const offset = this.#positions[partition]++
        records.push({ partition, offset, ...log[offset] })
      }
    }
    return records
  }
}

function modelTopic(): Queue {
  const topic = new Topic<string, number>(PARTITIONS)
  topic.join('group', 'consumer')
  return { append: (key, value) => topic.append(key, value), poll: max => topic.poll('group', 'consumer', max) }
}

/** Records a second, appended and polled. */
function measure(queue: Queue): { appends: number; polls: number } {
  const began = performance.now()
  for (let record = 0; record < RECORDS; record++) queue.append(KEYS[record % KEYS.length], record)
  const appended = performance.now()
  let polled = 0
  while (polled < RECORDS) polled += queue.poll(100).length
  const ended = performance.now()
  return { appends: RECORDS / (appended - began), polls: RECORDS / (ended - appended) }
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]
}

const model: { appends: number; polls: number }[] = []
const plain: { appends: number; polls: number }[] = []
// The first round finds code that was never compiled.
for (let round = 0; round <= ROUNDS; round++) {
  // Who comes second finds the garbage of the first: they take turns.
  const order = round % 2 === 0 ? [modelTopic(), new PlainTopic()] : [new PlainTopic(), modelTopic()]
  for (const queue of order) {
    const rates = measure(queue)
    if (round > 0) (queue instanceof PlainTopic ? plain : model).push(rates)
  }
}
console.log(`Node ${process.version}, ${PARTITIONS} partitions, medians of ${ROUNDS} rounds, million a second\n`)
console.log('| what | model | plain arrays | ratio |\n|---|--:|--:|--:|')
for (const what of ['appends', 'polls'] as const) {
  const [ours, theirs] = [model, plain].map(rounds => median(rounds.map(round => round[what])) / 1000)
  console.log(`| ${what} | ${ours.toFixed(2)} | ${theirs.toFixed(2)} | ${(ours / theirs).toFixed(2)} |`)
}
