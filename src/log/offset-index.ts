/**
 * The sparse index from offsets to positions in a segment's file: one entry per `index.interval.bytes`, so that a reader
 * scans no more than that (Kafka's `OffsetIndex`). It lives in memory and is built from the file.
 */

/** The index of the last of the sorted `values` that is at most `value`, or −1. */
export function floorIndex(values: readonly number[], value: number): number {
  let low = -1
  let high = values.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (values[middle] <= value) low = middle
    else high = middle - 1
  }
  return low
}

export class OffsetIndex {
  readonly #offsets: number[] = []
  readonly #positions: number[] = []

  get entries(): number {
    return this.#offsets.length
  }

  /** Notes that the batch at `position` begins with `offset`. Both only grow. */
  append(offset: number, position: number): void {
    this.#offsets.push(offset)
    this.#positions.push(position)
  }

  /** Where to begin to look for `offset`: a batch that begins at or before it. */
  positionFor(offset: number): number {
    const index = floorIndex(this.#offsets, offset)
    return index < 0 ? 0 : this.#positions[index]
  }

  /** The position of the last known batch that begins at or before `position`. */
  floorPosition(position: number): number {
    const index = floorIndex(this.#positions, position)
    return index < 0 ? 0 : this.#positions[index]
  }

  clear(): void {
    this.#offsets.length = 0
    this.#positions.length = 0
  }
}
