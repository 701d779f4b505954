/**
 * Runs the projects of `examples/` as their users would: packs Ottla, installs them all at once, checks their types, runs their tests.
 *
 *   node scripts/examples.mjs [name ...]     all, or those that are named
 *   node scripts/examples.mjs --built        packs `dist/` as it is, without building it first
 *   node scripts/examples.mjs --lock         writes `examples/package-lock.json` anew, and runs nothing
 *
 * The lock file knows the dependencies of the packed Ottla, and not its digest, which every build changes.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const examples = join(root, 'examples')
const lockPath = join(examples, 'package-lock.json')
/** Where CI has a Node for the projects that want a newer one. */
const NEWER_NODE = join(root, 'test/node-versions/22/node_modules/node/bin')

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { built: { type: 'boolean' }, lock: { type: 'boolean' } },
})
const { workspaces } = read(join(examples, 'package.json'))
const names = positionals.length > 0 ? positionals : workspaces
const unknown = names.filter(name => !workspaces.includes(name))
if (unknown.length > 0) stop(`there is no example ${unknown.join(', ')}; there are ${workspaces.join(', ')}`)

pack()
if (options.lock) {
  run('npm', ['install', '--package-lock-only'], examples)
  writeLock()
} else {
  checkLock()
  run('npm', ['ci', '--loglevel=error'], examples)
  const results = await atOnce(names, availableParallelism(), test)
  const count = result => results.filter(each => each === result).length
  console.log(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`)
  // In CI nothing is left out.
  if (count('failed') > 0 || (process.env.CI && count('skipped') > 0)) process.exitCode = 1
}

function pack() {
  const args = options.built ? ['--ignore-scripts'] : []
  const printed = run('npm', ['pack', '--json', '--pack-destination', examples, ...args], root, 'pipe')
  // The build that npm runs first may print before the JSON does.
  const [{ filename }] = JSON.parse(printed.slice(printed.search(/^\[/m)))
  renameSync(join(examples, filename), join(examples, 'ottla.tgz'))
}

function writeLock() {
  const lock = read(lockPath)
  delete lock.packages['node_modules/ottla'].integrity
  writeFileSync(lockPath, `${JSON.stringify(lock, null, 2)}\n`)
}

/** npm installs what the lock file says of Ottla, which has to be what Ottla says of itself. */
function checkLock() {
  const locked = read(lockPath).packages['node_modules/ottla']
  const manifest = read(join(root, 'package.json'))
  for (const field of ['version', 'dependencies', 'optionalDependencies']) {
    if (isDeepStrictEqual(locked[field], manifest[field])) continue
    stop(`examples/package-lock.json knows other ${field} of ottla; run node scripts/examples.mjs --lock`)
  }
  if (locked.integrity !== undefined) stop('the lock file has the digest of one build; run it with --lock')
}

/** So many at a time; the results in the order of the names. */
async function atOnce(names, count, work) {
  const results = []
  const rest = names.entries()
  const worker = async () => {
    for (const [index, name] of rest) results[index] = await work(name)
  }
  await Promise.all(Array.from({ length: count }, worker))
  return results
}

/** What a project prints comes when it is done, since others print as well. */
async function test(name) {
  const directory = join(examples, name)
  const env = environmentFor(read(join(directory, 'package.json')).engines.node)
  if (env === undefined) return 'skipped'
  const began = performance.now()
  const printed = []
  let passed = true
  for (const script of ['typecheck', 'test']) passed &&= await runScript(script, { cwd: directory, env }, printed)
  const result = passed ? 'passed' : 'failed'
  console.log(`\n== examples/${name}`)
  process.stdout.write(Buffer.concat(printed))
  console.log(`${name} ${result} in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return result
}

function runScript(script, options, printed) {
  return new Promise(resolve => {
    const child = spawn('npm', ['run', '--silent', script], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', bytes => printed.push(bytes))
    child.on('error', error => printed.push(Buffer.from(`${error}\n`)))
    child.on('close', status => resolve(status === 0))
  })
}

/** The environment with a Node that is new enough, as `>=22.22` says; undefined when there is none. */
function environmentFor(wanted) {
  const least = wanted.match(/\d+/g).map(Number)
  const isEnough = version => {
    const parts = version.match(/\d+/g).map(Number)
    const index = least.findIndex((number, place) => number !== parts[place])
    return index < 0 || parts[index] > least[index]
  }
  if (isEnough(process.version)) return process.env
  if (existsSync(NEWER_NODE)) return { ...process.env, PATH: `${NEWER_NODE}${delimiter}${process.env.PATH}` }
  console.log(`left out: it needs Node ${wanted}; run npm ci --prefix test/node-versions/22`)
  return undefined
}

function read(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function run(command, args, cwd, stdout = 'inherit') {
  const result = spawnSync(command, args, { cwd, stdio: ['ignore', stdout, 'inherit'], encoding: 'utf8' })
  if (result.status !== 0) stop(`${command} ${args.join(' ')} failed`)
  return result.stdout
}

function stop(message) {
  console.error(message)
  process.exit(1)
}
