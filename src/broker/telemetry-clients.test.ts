import { expect, it } from 'vitest'
import { TelemetryClients } from './telemetry-clients.ts'

const INTERVAL = 1000

function outcome(act: () => void): string {
  try {
    act()
    return 'ok'
  } catch (error) {
    return (error as Error).message
  }
}

it('accepts one push after a question, then one per interval', () => {
  const clients = new TelemetryClients(INTERVAL)
  expect(outcome(() => clients.asks('a', 0))).toBe('ok')
  expect(outcome(() => clients.pushes('a', 10, false))).toBe('ok')
  expect(outcome(() => clients.pushes('a', 20, false))).toBe('THROTTLING_QUOTA_EXCEEDED')
  expect(outcome(() => clients.asks('a', 1009))).toBe('THROTTLING_QUOTA_EXCEEDED')
  expect(outcome(() => clients.pushes('a', 1010, false))).toBe('ok')
  expect(outcome(() => clients.pushes('b', 1010, false))).toBe('ok')
})

it('accepts a last push at any time, and nothing after it', () => {
  const clients = new TelemetryClients(INTERVAL)
  clients.pushes('a', 0, false)
  expect(outcome(() => clients.pushes('a', 1, true))).toBe('ok')
  clients.ends('a')
  expect(outcome(() => clients.pushes('a', 5000, false))).toBe('INVALID_REQUEST')
})

it('remembers a bounded number of clients', () => {
  const clients = new TelemetryClients(INTERVAL)
  for (let client = 0; client <= 1000; client++) clients.pushes(String(client), 0, false)
  expect(outcome(() => clients.pushes('0', 1, false))).toBe('ok')
  expect(outcome(() => clients.pushes('1000', 1, false))).toBe('THROTTLING_QUOTA_EXCEEDED')
})
