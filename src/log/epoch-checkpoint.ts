/** The leader epochs of a log in its directory, as Kafka keeps them (`LeaderEpochCheckpointFile`). */

import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import { CheckpointFile } from './checkpoint-file.ts'
import type { EpochEntry } from './leader-epochs.ts'

const NAME = 'leader-epoch-checkpoint'

export class EpochCheckpoint {
  readonly #file: CheckpointFile

  constructor(storage: Storage, directory: string, env: Env) {
    this.#file = new CheckpointFile(storage, `${directory}/${NAME}`, env)
  }

  /** The epochs as they were written last; none when the file is not there or is broken. */
  read(): EpochEntry[] {
    const rows = this.#file.read().map(words => words.map(Number))
    const isSane = rows.every(row => row.length === 2 && row.every(Number.isSafeInteger))
    return isSane ? rows.map(([epoch, startOffset]) => ({ epoch, startOffset })) : this.#file.broken()
  }

  /** @param entries asked for when it is their turn to be written */
  write(entries: () => readonly EpochEntry[]): Later<StorageFailure | undefined> {
    return this.#file.write(() => entries().map(({ epoch, startOffset }) => `${epoch} ${startOffset}`))
  }

  /** Settles once what was written last would survive a power cut. */
  settled(): Later<StorageFailure | undefined> {
    return this.#file.settled()
  }
}
