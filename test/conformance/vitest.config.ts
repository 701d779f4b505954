import { defineConfig } from 'vitest/config'

// The conformance run is not part of `npm test`: it starts real clients, and takes minutes rather than seconds.
export default defineConfig({
  test: {
    include: [
      'test/conformance/run.ts',
      'test/conformance/*.test.ts',
      'test/conformance/{java,releases,failover,disk}/*.test.ts',
    ],
    maxConcurrency: 4,
    // A step that needs longer than this hangs; the slowest waits for a crashed member's session to time out.
    testTimeout: 40_000,
    hookTimeout: 90_000,
    fileParallelism: false,
    reporters: ['verbose'],
  },
})
