/**
 * In CI property tests run from one seed, so that what lands does not depend on chance; everywhere else each run draws its own,
 * and a failure prints the seed that repeats it.
 */
if (process.env.CI) {
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_130 })
}

export {}
