/** The leader epochs of a log in its directory, as Kafka keeps them (`LeaderEpochCheckpointFile`). */

import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import { CheckpointFile } from './checkpoint-file.ts'
import type { EpochEntry } from './leader-epochs.ts'

/** The file of a log that says where its leader epochs begin. */
export const EPOCHS_FILE = 'leader-epoch-checkpoint'

/** The epochs that the lines of a checkpoint say; undefined when they say something else. */
export function epochsIn(lines: readonly string[][]): EpochEntry[] | undefined {
  const rows = lines.map(words => words.map(Number))
  const isSane = rows.every(row => row.length === 2 && row.every(Number.isSafeInteger))
  return isSane ? rows.map(([epoch, startOffset]) => ({ epoch, startOffset })) : undefined
}

export class EpochCheckpoint {
  readonly #file: CheckpointFile
  /** What is in the file, or on its way there. */
  #written = ''

  constructor(storage: Storage, directory: string, env: Env) {
    this.#file = new CheckpointFile(storage, `${directory}/${EPOCHS_FILE}`, env)
  }

  /** The epochs as they were written last; none when the file is not there or is broken. */
  read(): EpochEntry[] {
    const entries = epochsIn(this.#file.read()) ?? this.#file.broken()
    this.#written = textOf(entries)
    return entries
  }

  /** Writes the entries, unless they are there already. Settles once they would survive a power cut. */
  write(entries: readonly EpochEntry[]): Later<StorageFailure | undefined> {
    const text = textOf(entries)
    if (text === this.#written) return this.#file.settled()
    this.#written = text
    return this.#file
      .write(() => (text === '' ? [] : text.split('\n')))
      .map(failure => {
        // Whoever asks again tries again.
        if (failure !== undefined) this.#written = '?'
        return failure
      })
  }
}

function textOf(entries: readonly EpochEntry[]): string {
  return entries.map(({ epoch, startOffset }) => `${epoch} ${startOffset}`).join('\n')
}
