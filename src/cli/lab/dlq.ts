/**
 * `ottla lab dlq`: orders come in, two of them poisoned; the validator is fixed, and what is in the dead letter queue is put
 * back. All of it is done by the model's `ingest` and `redrive`.
 */
import { type DeadLetter, type IngestRecord, ingest, redrive, Topic } from '../../model/index.ts'
import { type Act, play, type Story } from './story.ts'
import { renderTable } from './table.ts'

interface Order {
  amount?: unknown
}

interface Row {
  partition: number
  offset: number
  key: string | null
}

interface OrderRow extends Row {
  value: Order
}

interface LetterRow extends OrderRow {
  reason: string
  attempts: number
  /** Whether the redrive group is done with it. */
  done: boolean
}

export interface DlqState {
  orders: OrderRow[]
  dlq: LetterRow[]
  parked: LetterRow[]
}

type Validator = (record: IngestRecord<string, Order>) => boolean

interface Scene {
  orders: Topic<string, Order>
  dlq: Topic<string, DeadLetter<string, Order>>
  parked: Topic<string, DeadLetter<string, Order>>
  validate: Validator
}

const MAX_ATTEMPTS = 2

const strict: Validator = ({ value }) => {
  if (value.amount === undefined) throw new Error('amount is missing')
  if (typeof value.amount !== 'number') throw new Error('amount is no number')
  return true
}

/** The fix: a new version of the shop sends amounts as text. */
const fixed: Validator = record => {
  const { amount } = record.value
  return (typeof amount === 'string' && /^\d+$/.test(amount)) || strict(record)
}

/** Takes in a record with the validator of the hour. */
function take(key: string, value: Order): Pick<Act<Scene>, 'action' | 'run'> {
  return {
    action: `A record arrives: key ${key}, value ${JSON.stringify(value)}.`,
    run: ({ orders: topic, dlq, validate }) => ingest({ key, value }, { validate, topic, dlq }),
  }
}

/** Tries all that waits in the dead letter queue. */
function redriveAll({ orders: topic, dlq, parked, validate }: Scene, dryRun = false) {
  return { ...redrive(dlq, { validate, topic, parked, maxAttempts: MAX_ATTEMPTS, dryRun }) }
}

const ACTS: Act<Scene>[] = [
  { ...take('ada', { amount: 5 }), why: 'It is valid, and lands in the topic.' },
  {
    ...take('bob', { amount: '7' }),
    why: `The validator does not know amounts as text. The record goes to the dead letter queue, under its own key, as it came,
      with the reason. It is not dropped, and it does not stop the consumer.`,
  },
  { ...take('eve', {}), why: 'This one is really broken. Poison like this is why there is a dead letter queue.' },
  {
    ...take('bob', { amount: 8 }),
    why: `The next record of bob's lands at once: poison does not block what comes after it. The price is the order, as will be
      seen.`,
  },
  {
    action: 'Somebody redrives the dead letter queue although nothing was fixed.',
    run: scene => redriveAll(scene),
    why: `Everything failed again, and was appended to the queue anew, with one attempt more. The old entries stay where they
      are, as in any log; the committed offset of the group "redrive" says that they are done.`,
  },
  {
    action: 'The validator is fixed: it takes amounts as text. First a redrive with dryRun.',
    run: scene => {
      scene.validate = fixed
      return redriveAll(scene, true)
    },
    why: 'A dry run says what would happen, and changes nothing.',
  },
  {
    action: `Now in earnest, with maxAttempts=${MAX_ATTEMPTS}.`,
    run: scene => redriveAll(scene),
    why: `What is valid now landed under its original key, so in the partition of its key, but behind a record that was sent
      later. What failed more often than maxAttempts was parked, where a human looks at it.`,
  },
  {
    action: 'Somebody is not sure whether it ran, and redrives again.',
    run: scene => redriveAll(scene),
    why: 'Nothing lands twice: progress is a committed offset, and there is nothing behind it.',
  },
]

/** The whole lab. */
export function dlqStory(): Story<DlqState> {
  const scene: Scene = { orders: new Topic(2), dlq: new Topic(1), parked: new Topic(1), validate: strict }
  return {
    lab: 'dlq',
    about: `a topic with ${scene.orders.numPartitions} partitions, its dead letter queue, and a topic where hopeless cases are parked.`,
    steps: play(scene, ACTS, describe),
  }
}

function describe({ orders, dlq, parked }: Scene): DlqState {
  return { orders: allOf(orders), dlq: allOf(dlq).map(asLetter(dlq)), parked: allOf(parked).map(asLetter(parked)) }
}

function allOf<V>(topic: Topic<string, V>) {
  const partitions = [...Array(topic.numPartitions).keys()]
  return partitions.flatMap(partition => topic.read(partition, 0, topic.endOffset(partition)))
}

function asLetter(topic: Scene['dlq']) {
  return ({ value: letter, ...row }: Row & { value: DeadLetter<string, Order> }): LetterRow => {
    const { reason, attempts, record } = letter
    return {
      ...row,
      value: record.value,
      reason,
      attempts,
      done: row.offset < topic.committed('redrive', row.partition),
    }
  }
}

export function drawDlq({ orders, dlq, parked }: DlqState): string[] {
  const head = ['topic', 'partition', 'offset', 'key', 'value', 'why it is here']
  const rows = orders.map(row => ['orders', ...cellsOf(row)])
  const letters = [...dlq.map(row => ['dlq', row] as const), ...parked.map(row => ['parked', row] as const)]
  const letterRows = letters.map(([topic, row]) => [topic, ...cellsOf(row), stateOf(row)])
  return renderTable([head, ...rows, ...letterRows])
}

function cellsOf({ partition, offset, key, value }: OrderRow): string[] {
  return [String(partition), String(offset), String(key), JSON.stringify(value)]
}

function stateOf({ reason, attempts, done }: LetterRow): string {
  return `${reason}; attempts: ${attempts}${done ? '; done with' : ''}`
}
