import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { labCommand } from './lab-command.ts'

interface Result {
  stdout: string
  stderr: string
  exitCode: number
}

/** Runs `ottla lab` with these words. */
function lab(...words: string[]): Result {
  const result: Result = { stdout: '', stderr: '', exitCode: 0 }
  const command = labCommand(text => (result.stdout += text))
  for (const each of [command, ...command.commands]) {
    each.exitOverride().configureOutput({
      writeOut: text => (result.stdout += text),
      writeErr: text => (result.stderr += text),
    })
  }
  try {
    command.parse(words, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    result.exitCode = error.exitCode
  }
  return result
}

const REBALANCE = ['rebalance', '--partitions', '12', '--members', 'a,b,c', '--change', '+d', '--change', '-a']

describe.each([
  ['rebalance', REBALANCE] as const,
  ['isr', ['isr']] as const,
  ['dlq', ['dlq']] as const,
  ['lag', ['lag']] as const,
])('ottla lab %s', (name, words) => {
  it('prints the text in expected/', async () => {
    const { stdout, stderr } = lab(...words)
    expect(stderr).toBe('')
    await expect(stdout).toMatchFileSnapshot(`expected/${name}.txt`)
  })

  it('prints the JSON in expected/', async () => {
    const { stdout } = lab(...words, '--json')
    expect(JSON.parse(stdout).lab).toBe(name)
    await expect(stdout).toMatchFileSnapshot(`expected/${name}.json`)
  })

  it('fits into 100 columns and leaves no blanks at the end of a line', () => {
    const lines = lab(...words).stdout.split('\n')
    expect(lines.filter(line => line.length > 100 || line !== line.trimEnd())).toEqual([])
  })
})

describe('what the stories promise', () => {
  const steps = (name: string) => JSON.parse(lab(name, '--json').stdout).steps
  const step = (name: string, start: string) =>
    steps(name).find(({ action }: { action: string }) => action.startsWith(start))

  it('lag: the same records again after the crash, and seek(0, 0) makes the lag jump but not the committed lag', () => {
    expect(step('lag', 'The new consumer polls').answer.deliveredBefore).toEqual([4, 5, 6])
    expect(step('lag', 'Somebody found a bug').state).toMatchObject({ lag: 10, committedLag: 0 })
    expect(steps('lag').at(-1).state).toMatchObject({ lag: 0, committedLag: 0 })
  })

  it('isr: refused before it was appended; lost by the unclean election, and by no clean one', () => {
    const before = step('isr', 'The follower 2 is killed').state
    const refused = step('isr', 'The producer appends order-4')
    expect(refused.answer.error).toBe('NotEnoughReplicasError')
    expect(refused.state).toEqual(before)
    const unclean = steps('isr').filter((each: { state: IsrPart }) => each.state.uncleanLeaderElection)
    expect(unclean.at(-1).state.lost).toEqual(['order-3', 'order-4', 'order-5'])
    expect(unclean.at(-1).state.replicas[0].log).toEqual(['order-1', 'order-6'])
    const clean = steps('isr').at(-1).state
    expect(clean).toMatchObject({ uncleanLeaderElection: false, leader: 2, lost: [] })
    expect(clean.replicas[0].log).toEqual(['order-1', 'order-2', 'order-3', 'order-4', 'order-5'])
  })

  it('dlq: nothing is lost and nothing lands twice', () => {
    const { orders, parked } = steps('dlq').at(-1).state
    expect(orders.map((row: { key: string }) => row.key).sort()).toEqual(['ada', 'bob', 'bob'])
    expect(parked.map((row: { key: string }) => row.key)).toEqual(['eve'])
    const [dry, , again] = steps('dlq').slice(-3)
    expect(dry.state).toEqual(steps('dlq').at(-4).state)
    expect(again.answer).toEqual({ landed: 0, failed: 0, parked: 0, skipped: 0 })
  })

  it('rebalance: sticky moves three when d joins, the fewest there can be', () => {
    const { changes } = JSON.parse(lab(...REBALANCE, '--json').stdout)
    expect(changes[0].assignors.sticky.moved).toBe(3)
    expect(changes[0].assignors['cooperative-sticky'].moved).toBe(3)
    expect(changes[0].assignors.range.moved).toBeGreaterThan(3)
  })
})

interface IsrPart {
  uncleanLeaderElection: boolean
}

describe('ottla lab rebalance', () => {
  it('shows d joining and a leaving when no change is given', () => {
    expect(lab('rebalance').stdout).toBe(lab(...REBALANCE).stdout)
  })

  it('says when a change changes nothing, and when a member is idle', () => {
    const { stdout } = lab('rebalance', '--partitions', '2', '--members', 'b,a,c', '--change', '+a', '--change', '-d')
    expect(stdout).toContain('+a: a is already a member, so nothing happens')
    expect(stdout).toContain('-d: d is not a member, so nothing happens')
    expect(stdout).toMatch(/range +0 +a +0 +0\n +b +1 +1\n +c +idle +idle\n/)
  })

  it('counts nothing when the last member leaves, for nobody takes over', () => {
    const { stdout } = lab('rebalance', '--members', 'a', '--partitions', '4', '--change', '-a', '--change', '+b')
    expect(stdout).toContain('0 + 0  = 0')
  })

  it('takes any name for an ordinary one', () => {
    const words = ['rebalance', '--members', '__proto__,constructor,10', '--change', '-__proto__', '--change=+toString']
    expect(lab(...words).stdout).toContain('toString joins')
    const { assignors } = JSON.parse(lab(...words, '--json').stdout).changes[0]
    expect(Object.keys(assignors.range.before).sort()).toEqual(['10', '__proto__', 'constructor'])
    expect(Object.keys(assignors.range.after).sort()).toEqual(['10', 'constructor'])
  })

  it('counts as moved what it shows as taken over', () => {
    const words = ['--partitions', '23', '--members', 'e,d,c', '--change', '+a', '--change', '-d', '--change', '+f']
    const { changes } = JSON.parse(lab('rebalance', ...words, '--json').stdout)
    for (const { assignors } of changes) {
      for (const { before, after, moved } of Object.values<Shares>(assignors)) {
        const taken = Object.keys(after).flatMap(member =>
          after[member].filter(each => !before[member]?.includes(each)),
        )
        expect(taken.length).toBe(moved)
      }
    }
  })
})

interface Shares {
  before: Record<string, number[]>
  after: Record<string, number[]>
  moved: number
}

describe('bad input', () => {
  it.each([
    [['rebalance', '--partitions', 'many'], /'many' is invalid. A lab has 1 to 1000 partitions/],
    [['rebalance', '--partitions', '0'], /1 to 1000 partitions/],
    [['rebalance', '--partitions', '1001'], /1 to 1000 partitions/],
    [['rebalance', '--partitions', '1e2'], /1 to 1000 partitions/],
    [['rebalance', '--members', 'a,,b'], /A member has a name/],
    [['rebalance', '--members', ''], /A member has a name/],
    [['rebalance', '--members', 'a,b,a'], /a is there twice/],
    [['rebalance', '--change', 'd'], /Write it as \+member or -member/],
    [['rebalance', '--change', '+'], /A member has a name/],
    [['rebalance', '--change', '+d,-a'], /without blanks and commas/],
    [['rebalance', '--change'], /argument missing/],
    [['isr', '--verbose'], /unknown option '--verbose'/],
    [['lag', '7'], /too many arguments/],
    [['rebalanse'], /unknown command 'rebalanse'/],
  ])('%j is refused in one line', (words, message) => {
    const { stdout, stderr, exitCode } = lab(...words)
    expect(exitCode).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toMatch(message)
    // The hint of the library stands in a line of its own.
    expect(stderr.replace(/\(Did you mean .*\)\n$/, '')).toMatch(/^error: .*\n$/)
  })
})
