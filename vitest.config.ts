import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What comes out the same on every version of Node, or has little to do with it: the package, the house, its documents. */
const ONCE = ['test/{docs,package,runtimes,sim}/**/*.test.ts', 'test/{layers,style}.test.ts']

/** Real sockets, threads and processes: each file in a process of its own. */
const REAL = ['src/node/**/*.test.ts', 'test/{crash,node,testing}/**/*.test.ts', 'test/twin/tcp*.test.ts']

/** What takes longest begins first, so that a run does not end with one of these alone. */
const LONGEST =
  /twin\/tcp|sim\/.*sim\.test|crash\/crash|node\/data-dir\.|node\/start-cluster|node\/cluster-http|package\/pack/

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = (file: TestSpecification) => LONGEST.test(file.moduleId)
    return [...sorted.filter(isLong), ...sorted.filter(file => !isLong(file))]
  }
}

const EXCLUDE = [...configDefaults.exclude, 'test/conformance/**']

/** Vitest would leave one core free: of two, that is half. What waits as much as it works goes three at a time even there. */
const workers = (least: number) => Math.max(least, availableParallelism() - 1)

/*
 * Three projects, so that each file pays only for what it needs, and CI can choose (`.ci/run`). The pure part keeps nothing
 * between two tests but classes and tables; its files share their modules, since loading these for each file anew takes
 * longer than most of them run. `--isolate` takes that back, for whoever suspects it.
 */
export default defineConfig({
  test: {
    include: [],
    setupFiles: ['test/support/seed.ts'],
    testTimeout: 30_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...EXCLUDE, ...ONCE, ...REAL],
          pool: 'threads',
          isolate: false,
          maxWorkers: workers(2),
        },
      },
      {
        extends: true,
        test: { name: 'real', include: REAL, exclude: EXCLUDE, sequence: { groupOrder: 1 }, maxWorkers: workers(3) },
      },
      {
        extends: true,
        test: { name: 'once', include: ONCE, exclude: EXCLUDE, sequence: { groupOrder: 1 }, maxWorkers: workers(3) },
      },
    ],
  },
})
