/**
 * `ottla lab`: experiments on the model, as text to read or as JSON. One file per lab; this one only knows their options.
 * No broker is started: the model shows the rules, and the broker is tested against it.
 */
import { Command, InvalidArgumentError } from 'commander'
import { dlqStory, drawDlq } from './dlq.ts'
import { drawIsr, isrStory } from './isr.ts'
import { drawLag, lagStory } from './lag.ts'
import { type RebalanceOptions, rebalanceAsText, rebalanceReport } from './rebalance.ts'
import { type Story, storyAsText } from './story.ts'

/** More would be no help on a screen, and long to compute for the sticky assignors. */
const MAX_PARTITIONS = 1000
const MAX_MEMBERS = 100

type Write = (text: string) => void

export function labCommand(write: Write = writeOut): Command {
  return new Command('lab')
    .description('Experiments that show how Kafka works, on the model; no broker needed.')
    .addCommand(rebalanceCommand(write))
    .addCommand(
      storyCommand(write, 'isr', 'Replicas die, an election follows, and records get lost.', isrStory, drawIsr),
    )
    .addCommand(storyCommand(write, 'dlq', 'Poison, a dead letter queue, a fix, and a redrive.', dlqStory, drawDlq))
    .addCommand(storyCommand(write, 'lag', 'Poll, commit, crash, replay, and seek(0, 0).', lagStory, drawLag))
}

function storyCommand<State>(
  write: Write,
  name: string,
  description: string,
  tell: () => Story<State>,
  draw: (state: State) => string[],
): Command {
  return new Command(name)
    .description(description)
    .option('--json', 'print JSON for programs')
    .action(({ json }: { json?: boolean }) => write(json ? asJson(tell()) : storyAsText(tell(), draw)))
}

interface RebalanceArguments extends Omit<RebalanceOptions, 'changes'> {
  change?: string[]
  json?: boolean
}

function rebalanceCommand(write: Write): Command {
  return new Command('rebalance')
    .description('What each assignor moves when members come and go.')
    .option('--partitions <count>', 'partitions of the topic', readPartitions, 12)
    .option('--members <names>', 'members at the start', readMembers, ['a', 'b', 'c'])
    .option('--change <change>', '+d: d joins, -a: a leaves; repeatable (default: +d, then -a)', addChange)
    .option('--json', 'print JSON for programs')
    .action(({ partitions, members, change, json }: RebalanceArguments) => {
      const report = rebalanceReport({ partitions, members, changes: change ?? ['+d', '-a'] })
      write(json ? asJson(report) : rebalanceAsText(report))
    })
}

/** Maps become objects: in JSON every name is an ordinary one. */
function asJson(report: unknown): string {
  const plain = (_: string, value: unknown) => (value instanceof Map ? Object.fromEntries(value) : value)
  return `${JSON.stringify(report, plain, 2)}\n`
}

/** A reader that has seen enough, as `head` has, closes the pipe; that is no failure. */
function writeOut(text: string): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.stdout.write(text)
}

function readPartitions(text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > MAX_PARTITIONS) {
    throw new InvalidArgumentError(`A lab has 1 to ${MAX_PARTITIONS} partitions.`)
  }
  return count
}

function readMembers(text: string): string[] {
  const members = text.split(',').map(readName)
  const twice = members.find((member, index) => members.indexOf(member) !== index)
  if (twice !== undefined) throw new InvalidArgumentError(`${twice} is there twice.`)
  if (members.length > MAX_MEMBERS) throw new InvalidArgumentError(`A lab has at most ${MAX_MEMBERS} members.`)
  return members
}

function addChange(text: string, before: string[] = []): string[] {
  if (!/^[+-]/.test(text)) throw new InvalidArgumentError('Write it as +member or -member.')
  readName(text.slice(1))
  if (before.length === MAX_MEMBERS) throw new InvalidArgumentError(`A lab has at most ${MAX_MEMBERS} changes.`)
  return [...before, text]
}

/** A name that can stand in a list and in a table. */
function readName(text: string): string {
  if (!/^[^\s,\p{C}]+$/u.test(text)) throw new InvalidArgumentError('A member has a name without blanks and commas.')
  return text
}
