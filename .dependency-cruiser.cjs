// The layers of the house, derived from one ordered list: a folder imports only what stands before it.
// docs in ARCHITECTURE.md; test/layers.test.ts plants a forbidden import and demands to be told.
const line = [
  'util',
  'core',
  'protocol',
  'records',
  'storage',
  'log',
  'coordinator',
  'broker',
  'cluster',
  'node',
  'testing',
  'cli',
]
// Side branches: what each may import besides itself.
const branches = {
  client: ['util', 'core', 'protocol', 'records'],
  model: ['util', 'core/assignors'],
}
// The part that touches the platform may also use the side branches.
const platform = ['node', 'testing', 'cli']

const folder = name => `^src/${name}/`
const rules = []
for (const [index, name] of line.entries()) {
  const allowed = [...line.slice(0, index + 1), ...(platform.includes(name) ? Object.keys(branches) : [])]
  rules.push(onlyImports(name, allowed))
}
for (const [name, allowed] of Object.entries(branches)) rules.push(onlyImports(name, [name, ...allowed]))

function onlyImports(name, allowed) {
  return {
    name: `${name}-imports-inward`,
    comment: `src/${name}/ may import only: ${allowed.join(', ')}`,
    severity: 'error',
    from: { path: folder(name), pathNot: '[.](test|contract)[.]ts$' },
    to: { path: '^src/', pathNot: allowed.map(folder) },
  }
}

module.exports = {
  forbidden: [
    ...rules,
    {
      name: 'no-cycle',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'pure-part-uses-no-node-module',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(node|testing|cli)/', '[.](test|contract)[.]ts$'] },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-optional'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js'] },
  },
}
