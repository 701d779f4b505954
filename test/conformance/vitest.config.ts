import { defineConfig } from 'vitest/config'

/** Clients in crowds, which are watched while sessions of a second end, and brokers die: nothing else runs meanwhile. */
const ALONE = ['test/conformance/run.ts', 'test/conformance/failover/*.test.ts']

/** One program at a time, for the most part: these files go two at a time, which is one for each core of a small machine. */
const BESIDE = ['test/conformance/*.test.ts', 'test/conformance/{java,releases,disk}/*.test.ts']

const EACH = {
  maxConcurrency: 4,
  // A step that needs longer than this hangs; the slowest waits for a crashed member's session to time out.
  testTimeout: 40_000,
  hookTimeout: 90_000,
}

// The conformance run is not part of `npm test`: it starts real clients, and takes minutes rather than seconds.
export default defineConfig({
  test: {
    include: [...ALONE, ...BESIDE],
    reporters: ['verbose'],
    // Once for all, which is why the projects do not extend this configuration.
    globalSetup: ['test/conformance/java/archive.ts'],
    projects: [
      { test: { ...EACH, name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } } },
      { test: { ...EACH, name: 'beside', include: BESIDE, maxWorkers: 2, sequence: { groupOrder: 2 } } },
    ],
  },
})
