import { describe, expect, it } from 'vitest'
import { type ErrorName, KafkaError } from '../protocol/errors.ts'
import { Later } from '../util/later.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { errorOfAppend } from './append-errors.ts'
import type { Decision } from './decision.ts'
import { ListLog } from './list-log.contract.ts'
import type { CoordinatorRecord } from './ports.ts'
import { CoordinatorRuntime, type Machine, type Timers } from './runtime.ts'

/** The runtime with a machine that only remembers: texts are its records, `seen` its hard state. */

class Notes implements Machine {
  readonly seen: string[] = []
  readonly timers: Timers
  loads = 0

  constructor(timers: Timers) {
    this.timers = timers
  }

  apply({ key }: CoordinatorRecord, offset: number): void {
    this.seen.push(`${offset}:${utf8Decode(key)}`)
  }

  loaded(): void {
    this.loads++
  }
}

const note = (text: string): CoordinatorRecord => ({ key: utf8Encode(text), value: null })

function setUp() {
  const env = new VirtualEnv()
  const log = new ListLog()
  const runtime = new CoordinatorRuntime<Notes>({
    env,
    create: (_partition, timers) => new Notes(timers),
    commitTimeoutMs: () => 5_000,
  })
  runtime.becomeLeader(0, log)
  const refuse = (error: ErrorName): string => error
  const write = (...texts: string[]) =>
    runtime.execute(
      0,
      (_machine, decision) => {
        decision.append(...texts.map(note))
        return `wrote ${texts.join()}`
      },
      refuse,
    )
  const read = () => runtime.execute(0, machine => machine.seen.join(' '), refuse)
  return { env, log, runtime, refuse, write, read, machine: () => runtime.machine(0) as Notes }
}

const state = <T>(later: Later<T>) => (later.settled ? later.value : 'waits')

describe('a decision', () => {
  it('appends its records as one batch, applies them, and is answered', () => {
    const { log, write, machine } = setUp()
    expect(state(write('a', 'b'))).toBe('wrote a,b')
    expect(state(write('c'))).toBe('wrote c')
    expect(log.ends).toEqual([2, 3])
    expect(machine().seen).toEqual(['0:a', '1:b', '2:c'])
  })

  it('is answered when the high watermark has passed it, in order, and so are those that only read', () => {
    const { env, log, write, read } = setUp()
    log.held = true
    const answers = [write('a'), read(), write('b'), read()]
    env.settle()
    expect(answers.map(state)).toEqual(['waits', 'waits', 'waits', 'waits'])
    log.commit(1)
    expect(answers.map(state)).toEqual(['waits', 'waits', 'waits', 'waits'])
    env.settle()
    expect(answers.map(state)).toEqual(['wrote a', '0:a', 'waits', 'waits'])
    log.commit(2)
    env.settle()
    expect(answers.map(state)).toEqual(['wrote a', '0:a', 'wrote b', '0:a 1:b'])
    expect(env.timers).toBe(0)
  })

  it('that has waited for too long is answered COORDINATOR_NOT_AVAILABLE, although it stands in the log', () => {
    const { env, log, write, read, machine } = setUp()
    log.held = true
    const early = write('a')
    env.advance(4_000)
    const late = read()
    env.advance(1_000)
    expect([early, late].map(state)).toEqual(['COORDINATOR_NOT_AVAILABLE', 'waits'])
    log.commit()
    env.settle()
    expect(state(late)).toBe('0:a')
    expect(machine().seen).toEqual(['0:a'])
  })

  it('that throws a KafkaError is answered with it, and anything else is thrown on', () => {
    const { runtime, refuse } = setUp()
    const refused = runtime.execute(0, () => fail(new KafkaError('UNKNOWN_MEMBER_ID')), refuse)
    expect(state(refused)).toBe('UNKNOWN_MEMBER_ID')
    expect(() => runtime.execute(0, () => fail(new TypeError('a mistake')), refuse)).toThrow('a mistake')
  })

  it('whose append is refused changes nothing and puts back what it had changed ahead', () => {
    const { log, runtime, refuse, machine } = setUp()
    log.failing = 'NOT_ENOUGH_REPLICAS'
    const events: string[] = []
    const answer = runtime.execute(
      0,
      (_machine, decision) => {
        decision.append(note('a'))
        decision.whenFailed((error, _next, appended) => events.push(`${error} ${appended}`))
        decision.whenCommitted(() => events.push('committed'))
        return 'done'
      },
      refuse,
    )
    expect(state(answer)).toBe('COORDINATOR_NOT_AVAILABLE')
    expect(events).toEqual(['COORDINATOR_NOT_AVAILABLE false'])
    expect(machine().seen).toEqual([])
  })

  it('runs what follows as decisions of their own, once it is committed', () => {
    const { env, log, runtime, refuse, machine } = setUp()
    log.held = true
    runtime.execute(
      0,
      (_machine, decision) => {
        decision.append(note('first'))
        decision.whenCommitted(next => next.append(note('second')))
        return 'done'
      },
      refuse,
    )
    env.settle()
    expect(machine().seen).toEqual(['0:first'])
    log.held = false
    log.commit()
    env.settle()
    expect(machine().seen).toEqual(['0:first', '1:second'])
  })

  it('never runs in the middle of the append of another', () => {
    const { env, log, runtime, refuse, write, machine } = setUp()
    log.held = true
    let seen: string[] = []
    runtime.execute(
      0,
      (_machine, decision) => {
        decision.append(note('a'))
        decision.whenCommitted(() => {
          seen = [...machine().seen]
        })
        return 'done'
      },
      refuse,
    )
    // This append moves the high watermark past the record before, while its own is not applied.
    log.held = false
    write('b')
    env.settle()
    expect(seen).toEqual(['0:a', '1:b'])
  })
})

describe('a parked reply', () => {
  it('is settled by the machine, when it sees fit', () => {
    const { env, runtime, refuse } = setUp()
    const parked = new Later<string>(env.turns)
    const answer = runtime.execute(0, () => parked, refuse)
    expect(runtime.waiting).toBe(1)
    parked.settle('at last')
    env.settle()
    expect(state(answer)).toBe('at last')
    expect(runtime.waiting).toBe(0)
  })

  it('is refused when the append of its decision is', () => {
    const { env, log, runtime, refuse } = setUp()
    log.failing = 'MESSAGE_TOO_LARGE'
    const parked = new Later<string>(env.turns)
    runtime.execute(
      0,
      (_machine, decision) => {
        decision.append(note('a'))
        return parked
      },
      refuse,
    )
    expect(state(parked)).toBe('UNKNOWN_SERVER_ERROR')
  })
})

describe('a partition', () => {
  it('that is not loaded here answers NOT_COORDINATOR', () => {
    const { runtime, refuse } = setUp()
    expect(state(runtime.execute(1, () => 'never', refuse))).toBe('NOT_COORDINATOR')
  })

  it('is loaded by replay, up to the log end, and reads wait for the high watermark', () => {
    const { env, log, runtime, read } = setUp()
    const loaded = ListLog.from([note('a'), note('b')])
    loaded.held = true
    loaded.append([note('c')])
    runtime.becomeLeader(0, loaded)
    expect(runtime.machine(0)?.seen).toEqual(['0:a', '1:b', '2:c'])
    expect(runtime.machine(0)?.loads).toBe(1)
    expect(log.listeners).toBe(0)
    const answer = read()
    expect(state(answer)).toBe('waits')
    loaded.commit()
    env.settle()
    expect(state(answer)).toBe('0:a 1:b 2:c')
  })

  it('that moves away answers everybody, drops its state, timers and subscription', () => {
    const { env, log, runtime, refuse, write, read, machine } = setUp()
    log.held = true
    const fired: string[] = []
    const effects: string[] = []
    machine().timers.set('t', 1_000, () => fired.push('t'))
    const parked = new Later<string>(env.turns)
    runtime.execute(
      0,
      (_machine, decision) => {
        decision.append(note('x'))
        decision.whenCommitted(() => effects.push('committed'))
        decision.whenFailed(() => effects.push('failed'))
        return parked
      },
      refuse,
    )
    const answers = [write('a'), read(), parked]
    // A release is on its way when the partition goes.
    log.commit()
    runtime.resign(0)
    env.advance(60_000)
    expect(answers.map(state)).toEqual(['NOT_COORDINATOR', 'NOT_COORDINATOR', 'NOT_COORDINATOR'])
    expect([fired, effects]).toEqual([[], []])
    expect(log.listeners).toBe(0)
    expect(env.timers).toBe(0)
    expect(runtime.waiting).toBe(0)
    expect(runtime.partitions).toEqual([])
    runtime.resign(0)
  })

  it('is not served any more once the runtime is closed', () => {
    const { log, runtime, refuse, write } = setUp()
    log.held = true
    const waiting = write('a')
    runtime.close()
    runtime.becomeLeader(0, log)
    expect(state(waiting)).toBe('COORDINATOR_NOT_AVAILABLE')
    expect(state(runtime.execute(0, () => 'never', refuse))).toBe('COORDINATOR_NOT_AVAILABLE')
  })
})

describe('timers', () => {
  it('fire as decisions, once', () => {
    const { env, machine } = setUp()
    machine().timers.set('t', 1_000, decision => decision.append(note('fired')))
    env.advance(999)
    expect(machine().seen).toEqual([])
    env.advance(10_000)
    expect(machine().seen).toEqual(['0:fired'])
    expect(machine().timers.size).toBe(0)
  })

  it('are replaced by their key, and cancelled by it', () => {
    const { env, machine } = setUp()
    const { timers } = machine()
    const append = (text: string) => (decision: Decision) => decision.append(note(text))
    timers.set('a', 1_000, append('first'))
    env.advance(900)
    timers.set('a', 1_000, append('second'))
    timers.set('b', 500, append('never'))
    timers.cancel('b')
    env.advance(10_000)
    expect(machine().seen).toEqual(['0:second'])
    expect(env.timers).toBe(0)
  })

  it('that are replaced when due do not fire', () => {
    const { env, machine } = setUp()
    const { timers } = machine()
    timers.set('a', 1_000, () => timers.set('b', 1_000, decision => decision.append(note('later'))))
    timers.set('b', 1_000, decision => decision.append(note('never')))
    env.advance(1_000)
    expect(machine().seen).toEqual([])
    env.advance(1_000)
    expect(machine().seen).toEqual(['0:later'])
  })
})

describe('what a client is told when the log refuses', () => {
  it('speaks of the coordinator, not of a partition', () => {
    const told: [ErrorName, ErrorName][] = [
      ['UNKNOWN_TOPIC_OR_PARTITION', 'COORDINATOR_NOT_AVAILABLE'],
      ['NOT_ENOUGH_REPLICAS', 'COORDINATOR_NOT_AVAILABLE'],
      ['REQUEST_TIMED_OUT', 'COORDINATOR_NOT_AVAILABLE'],
      ['NOT_LEADER_OR_FOLLOWER', 'NOT_COORDINATOR'],
      ['KAFKA_STORAGE_ERROR', 'NOT_COORDINATOR'],
      ['MESSAGE_TOO_LARGE', 'UNKNOWN_SERVER_ERROR'],
      ['RECORD_LIST_TOO_LARGE', 'UNKNOWN_SERVER_ERROR'],
      ['INVALID_RECORD', 'INVALID_RECORD'],
    ]
    for (const [thrown, expected] of told) expect(errorOfAppend(new KafkaError(thrown))).toBe(expected)
    expect(() => errorOfAppend(new TypeError('a mistake'))).toThrow('a mistake')
  })
})

function fail(error: Error): never {
  throw error
}
