/**
 * `ottla lab isr`: a partition with three replicas loses one after the other, until only one is left that is not in sync; then
 * the same once more without unclean leader election. All of it happens in the model's `ReplicatedPartition`; the scene only
 * notes which replicas it killed or stalled itself.
 */
import { type Acks, ReplicatedPartition } from '../../model/index.ts'
import { type Act, play, type Story } from './story.ts'
import { renderTable } from './table.ts'

export interface IsrState {
  uncleanLeaderElection: boolean
  minInsyncReplicas: number
  leader: number | null
  leaderEpoch: number
  isr: number[]
  highWatermark: number
  replicas: { id: number; alive: boolean; stalled: boolean; log: string[] }[]
  /** Acknowledged records that no replica has any more. */
  lost: string[]
}

const REPLICAS = [1, 2, 3]
const MIN_INSYNC_REPLICAS = 2

/** The partition, and what was done to its replicas. */
class Scene {
  readonly uncleanLeaderElection: boolean
  readonly partition: ReplicatedPartition<string, string>
  readonly dead = new Set<number>()
  readonly stalled = new Set<number>()

  constructor(uncleanLeaderElection: boolean) {
    this.uncleanLeaderElection = uncleanLeaderElection
    this.partition = new ReplicatedPartition({
      replicas: REPLICAS,
      minInsyncReplicas: MIN_INSYNC_REPLICAS,
      uncleanLeaderElection,
    })
  }

  append(value: string, acks: Acks) {
    return this.partition.append(null, value, { acks })
  }

  kill(replica: number) {
    this.dead.add(replica)
    this.partition.kill(replica)
    return null
  }

  restart(...replicas: number[]) {
    for (const replica of replicas) {
      this.dead.delete(replica)
      this.partition.restart(replica)
    }
    return null
  }

  stall(replica: number) {
    this.stalled.add(replica)
    this.partition.stall(replica)
    return null
  }

  shrinkIsr() {
    this.partition.shrinkIsr()
    return null
  }
}

/** Until replica 2 leads alone. */
const BEGINNING: Act<Scene>[] = [
  {
    action: 'A producer appends order-1 with acks=all.',
    run: scene => scene.append('order-1', 'all'),
    why: `With acks=all the producer gets its answer when every replica in the ISR has the record. Then the high watermark
      passes it, and consumers may read it.`,
  },
  {
    action: 'Replica 3 stops fetching: a long pause, a slow disk. The producer appends order-2 with acks=all.',
    run: scene => {
      scene.stall(3)
      return scene.append('order-2', 'all')
    },
    why: `Replica 3 still counts as in sync, so the leader waits for it, and the producer's time runs out. The record is in the
      leader's log all the same: a timeout means "I do not know", not "it did not happen".`,
  },
  {
    action: 'replica.lag.time.max.ms passes. The leader takes replica 3 out of the ISR.',
    run: scene => scene.shrinkIsr(),
    why: `A replica that does not keep up must not hold up the others for ever. The ISR is smaller now, everybody in it has
      order-2, and so the high watermark moves on.`,
  },
  {
    action: 'The producer appends order-3 with acks=all.',
    run: scene => scene.append('order-3', 'all'),
    why: 'It succeeds without replica 3: "all" means all that are in sync, not all that there are.',
  },
  {
    action: 'The follower 2 is killed.',
    run: scene => scene.kill(2),
    why: 'A dead replica leaves the ISR. Only the leader is left in it, which is fewer than min.insync.replicas.',
  },
  {
    action: 'The producer appends order-4 with acks=all.',
    run: scene => scene.append('order-4', 'all'),
    why: `This is what min.insync.replicas is for: no promise that a record is safe while it would be on one disk only. The
      record was refused before it was appended.`,
  },
  {
    action: 'Another producer is content with acks=1, and appends order-4.',
    run: scene => scene.append('order-4', 1),
    why: `acks=1 asks nobody but the leader, so it succeeds. But the high watermark stands still while the ISR is too small,
      whatever the acks: consumers do not see the record yet.`,
  },
  {
    action: 'Replica 2 is started again.',
    run: scene => scene.restart(2),
    why: 'It fetches what it missed, is back in the ISR, and with enough replicas in sync the high watermark moves.',
  },
  {
    action: 'The leader 1 is killed.',
    run: scene => scene.kill(1),
    why: `The controller elects a leader from the ISR. It has every record below the high watermark, so nothing that was
      acknowledged is lost. The leader epoch goes up: whatever the old leader still says can be told by its old epoch.`,
  },
  {
    action: 'A producer appends order-5 with acks=1.',
    run: scene => scene.append('order-5', 1),
    why: 'Replica 2 is the only one in sync, and the only one that has this record.',
  },
]

const UNCLEAN_ENDING: Act<Scene>[] = [
  {
    action: 'Replica 2 is killed, too. unclean.leader.election.enable is true.',
    run: scene => scene.kill(2),
    why: `Nobody in the ISR is alive. Replica 3 is, but it has been out of sync for long. An unclean election makes it leader
      all the same: the partition is available again, at the price of what replica 3 never had. Even the high watermark falls.`,
  },
  {
    action: 'A producer appends order-6 with acks=1.',
    run: scene => scene.append('order-6', 1),
    why: `The same offset was given before, to another record, and consumers may have read that one. Only the leader epoch tells
      the two apart.`,
  },
  {
    action: 'Replicas 1 and 2 are started again.',
    run: scene => scene.restart(1, 2),
    why: `The leader is right by definition. The others truncate their logs to where they agree with its epochs, and fetch the
      rest. Only now are the lost records gone for good: producers were told that they are safe, and no replica has them.
      order-2 is gone as well, but its producer had got no acknowledgement.`,
  },
]

const CLEAN_ENDING: Act<Scene>[] = [
  {
    action: `The same again up to order-5, but unclean.leader.election.enable is false (as it is by default). Replica 2 is
      killed.`,
    run: scene => scene.kill(2),
    why: `Replica 3 is alive, but may not lead, so the partition has no leader. The last replica that was in sync stays listed
      in the ISR: only it is known to have everything.`,
  },
  {
    action: 'A producer appends order-6 with acks=1.',
    run: scene => scene.append('order-6', 1),
    why: 'Without a leader nobody can append or read. Consistency was chosen over availability.',
  },
  {
    action: 'Replica 1 is started again.',
    run: scene => scene.restart(1),
    why: 'It was not in sync when the last leader died: it misses order-5. So it may not lead either.',
  },
  {
    action: 'Replica 2 is started again.',
    run: scene => scene.restart(2),
    why: `The last in-sync replica is back and leads. Replica 1 catches up from it, the high watermark moves, and nothing was
      lost; it took longer, that is all.`,
  },
]

/** The whole lab. */
export function isrStory(): Story<IsrState> {
  const unclean = new Scene(true)
  const clean = new Scene(false)
  const steps = play(unclean, [...BEGINNING, ...UNCLEAN_ENDING], describe)
  play(clean, BEGINNING, describe)
  return {
    lab: 'isr',
    about: `replicas ${REPLICAS.join(', ')}, min.insync.replicas=${MIN_INSYNC_REPLICAS}. In the logs, what is left of the | is below the high watermark: consumers see it.`,
    steps: [...steps, ...play(clean, CLEAN_ENDING, describe)],
  }
}

function describe({ partition, uncleanLeaderElection, dead, stalled }: Scene): IsrState {
  const { leader, leaderEpoch, isr, highWatermark } = partition
  const replicas = REPLICAS.map(id => {
    const log = partition.log(id).map(record => record.value)
    return { id, alive: !dead.has(id), stalled: stalled.has(id), log }
  })
  const lost = partition.lost().map(record => record.value)
  const minInsyncReplicas = MIN_INSYNC_REPLICAS
  return { uncleanLeaderElection, minInsyncReplicas, leader, leaderEpoch, isr, highWatermark, replicas, lost }
}

export function drawIsr(state: IsrState): string[] {
  const { leader, leaderEpoch, isr, highWatermark, replicas, lost } = state
  const head = `leader ${leader ?? 'none'}, leader epoch ${leaderEpoch}, ISR ${isr.join(' ')}, high watermark ${highWatermark}`
  const rows = replicas.map(replica => {
    const { id, log } = replica
    const below = log.slice(0, highWatermark)
    const above = log.slice(highWatermark)
    const shown = log.length < highWatermark ? log : [...below, '|', ...above]
    return [`replica ${id}`, rolesOf(replica, state), shown.join(' ')]
  })
  return [head, ...renderTable(rows), ...(lost.length > 0 ? [`acknowledged and lost: ${lost.join(' ')}`] : [])]
}

function rolesOf({ id, alive, stalled }: IsrState['replicas'][number], { leader, isr }: IsrState): string {
  const role = id === leader ? 'leader' : isr.includes(id) ? 'in sync' : 'out of sync'
  return [role, ...(alive ? [] : ['dead']), ...(stalled ? ['stalled'] : [])].join(', ')
}
