// Checks of arguments. All checks of a call come before it changes anything, so a call that throws leaves everything as it was.

/** Throws a TypeError that names the argument, unless `ok`. */
export function checkType(ok: boolean, name: string, wanted: string, value: unknown): void {
  if (!ok) throw new TypeError(`${name} must be ${wanted}, got ${show(value)}`)
}

/** Throws a RangeError that names the argument, unless `ok`. */
export function checkRange(ok: boolean, name: string, wanted: string, value: unknown): void {
  if (!ok) throw new RangeError(`${name} must be ${wanted}, got ${show(value)}`)
}

/** An integer from `min` to `max`; returns it, −0 as 0. */
export function checkInteger(name: string, value: number, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  const ok = Number.isSafeInteger(value) && value >= min && value <= max
  if (!ok) checkRange(ok, name, `an integer from ${min} to ${max}`, value)
  return value + 0
}

/** An offset, a number of records or of bytes, a time: a non-negative integer. */
export function checkCount(name: string, value: number): number {
  return checkInteger(name, value, 0)
}

/** How many partitions: a positive integer, no more than an int32 of Kafka's protocol can say. */
export function checkPartitionCount(value: number): number {
  return checkInteger('numPartitions', value, 1, 2147483647)
}

/** A partition of a topic that has `numPartitions`. */
export function checkPartition(value: number, numPartitions: number): number {
  return checkInteger('partition', value, 0, numPartitions - 1)
}

export function checkName(name: string, value: string): void {
  checkType(typeof value === 'string', name, 'a string', value)
}

export function checkArray(name: string, value: readonly unknown[]): void {
  checkType(Array.isArray(value), name, 'an array', value)
}

/** One of a few words; returns it. */
export function checkChoice<T extends string>(name: string, value: T, ...choices: readonly T[]): T {
  checkRange(choices.includes(value), name, `one of ${choices.join(', ')}`, value)
  return value
}

/** A value as an error message shows it; it never throws, whatever the value is. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return value !== null && (typeof value === 'object' || typeof value === 'function') ? typeof value : String(value)
}
