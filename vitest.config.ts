import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'

/** What comes out the same on every version of Node, or has little to do with it: the package, the house, its documents. */
const ONCE = ['test/{docs,package,runtimes,sim}/**/*.test.ts', 'test/{layers,style}.test.ts']

/** Real sockets, threads and processes: each file in a process of its own. */
const REAL = ['src/node/**/*.test.ts', 'test/{crash,node,testing}/**/*.test.ts', 'test/twin/tcp*.test.ts']

const EXCLUDE = [...configDefaults.exclude, 'test/conformance/**']

/*
 * Three projects, so that each file pays only for what it needs, and CI can choose (`.ci/run`). The pure part keeps nothing
 * between two tests but classes and tables; its files share their modules, since loading these for each file anew takes
 * longer than most of them run. `--isolate` takes that back, for whoever suspects it.
 */
export default defineConfig({
  test: {
    // Vitest would leave one core free: of two, that is half.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { extends: true, test: { name: 'once', include: ONCE, exclude: EXCLUDE } },
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...EXCLUDE, ...ONCE, ...REAL],
          pool: 'threads',
          isolate: false,
        },
      },
      { extends: true, test: { name: 'real', include: REAL, exclude: EXCLUDE } },
    ],
    setupFiles: ['test/support/seed.ts'],
    testTimeout: 30_000,
  },
})
