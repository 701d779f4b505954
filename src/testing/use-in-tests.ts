/**
 * What `useBroker` and `useCluster` have in common: something that is started before the tests of a file, put in order before each, and closed
 * after the last, by the hooks of whatever runs them. Knows no runner; all have these four hooks.
 */

type Hook = (run: () => Promise<void>) => unknown

/** The hooks of vitest and jest, or those of node:test. */
export type Hooks = { beforeEach: Hook; afterEach: Hook } & (
  | { beforeAll: Hook; afterAll: Hook }
  | { before: Hook; after: Hook }
)

/** What tests leave behind for each other. */
export interface Isolation {
  /**
   * `reset` puts everything back before each test; it is the default in memory. `names` leaves topics and groups as they are: each test takes
   * names of its own (`broker.unique('orders')`), which is what tests need that run side by side or share one broker, and the default with
   * a `dataDir`.
   */
  isolation?: 'reset' | 'names'
}

/** Whether to put back, by the options. */
export function resets({ isolation, dataDir }: Isolation & { dataDir?: string }): boolean {
  return (isolation ?? (dataDir === undefined ? 'reset' : 'names')) === 'reset'
}

interface InTests<Used> {
  /** What is used, in a word, for messages. */
  readonly what: string
  start(): Promise<Used>
  /** Puts it in order before a test; `fresh` before the first. */
  refresh(used: Used, fresh: boolean): Promise<void>
  /** What to print when a test failed. */
  told(used: Used): Promise<string>
}

/** Gives access to what is used, which throws outside of tests and hooks. */
export function useInTests<Used extends { close(): Promise<void> }>(hooks: Hooks, inTests: InTests<Used>): () => Used {
  const { before, after } =
    'beforeAll' in hooks
      ? { before: hooks.beforeAll, after: hooks.afterAll }
      : { before: hooks.before, after: hooks.after }
  let used: Used | undefined
  let fresh = true
  before(async () => {
    used = await inTests.start()
  })
  hooks.beforeEach(async () => {
    if (used !== undefined) await inTests.refresh(used, fresh)
    fresh = false
  })
  // Without a parameter: to jest one means a callback that is to be called, to vitest a fixture.
  hooks.afterEach(async function () {
    // biome-ignore lint/complexity/noArguments: rest parameters are parameters, too
    const [context] = arguments
    if (used !== undefined && hasFailed(context)) console.error(await inTests.told(used))
  })
  after(async () => {
    await used?.close()
    used = undefined
  })
  return () => {
    if (used === undefined) throw new TypeError(`the ${inTests.what} is there in tests and hooks only`)
    return used
  }
}

/** As vitest (`task`) and node:test (`passed`) tell their hooks. */
function hasFailed(context: unknown): boolean {
  const { task, passed } = (context ?? {}) as { task?: { result?: { state?: string } }; passed?: boolean }
  return task?.result?.state === 'fail' || passed === false
}
