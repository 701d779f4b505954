/** What a machine may lack: a test that needs it is skipped with the reason, and fails with OTTLA_CONFORMANCE_REQUIRED=1. */
import type { TestContext } from 'vitest'

export async function required<T>(context: TestContext, get: () => Promise<T>): Promise<T> {
  try {
    return await get()
  } catch (error) {
    if (process.env.OTTLA_CONFORMANCE_REQUIRED === '1') throw error
    return context.skip(`skipped: ${error}`)
  }
}
