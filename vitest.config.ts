import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'test/conformance/**'],
    setupFiles: ['test/support/seed.ts'],
    testTimeout: 30_000,
  },
})
