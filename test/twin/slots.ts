/** Runs what it is given, at most `count` at a time, in the order given. */
export function slots(count: number): <T>(run: () => Promise<T>) => Promise<T> {
  let free = count
  const waiting: (() => void)[] = []
  return async run => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await run()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
