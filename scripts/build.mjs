/**
 * Builds `dist/`: every entry of the package and the command as ES modules by esbuild, types by tsc.
 *
 *   node scripts/build.mjs            everything
 *   node scripts/build.mjs --quick    no types, and nothing at all when no source is newer than the last build
 *
 * A few big files start faster than hundreds of small ones. Files are replaced one by one and only when they change, so that
 * a broker that starts meanwhile finds them whole.
 */
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const stamp = join(root, 'node_modules/.cache/ottla/built')
const quick = process.argv.includes('--quick')

const sources = (await filesIn(join(root, 'src'))).filter(path => !/\.(test|contract)\.ts$/.test(path))
const began = Date.now()
if (!quick || (await stale())) {
  const written = await bundle()
  if (!quick) {
    await declare()
    await removeAllBut(written)
  }
  await mkdir(dirname(stamp), { recursive: true })
  await writeFile(stamp, '')
  console.log(`built dist/ in ${Date.now() - began} ms`)
}

async function stale() {
  const inputs = [...sources, join(root, 'package.json'), fileURLToPath(import.meta.url)]
  try {
    const { mtimeMs } = await stat(stamp)
    await stat(join(dist, 'bin/ottla.js'))
    for (const path of inputs) if ((await stat(path)).mtimeMs > mtimeMs) return true
    return false
  } catch {
    return true
  }
}

/** What package.json exports: one build with shared chunks, so that no class exists twice. */
async function library() {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const entryPoints = {}
  for (const [subpath, target] of Object.entries(exports)) {
    const name = target.default?.replace(/^\.\/dist\/(.*)\.js$/, '$1')
    if (name === undefined) continue
    if (sources.includes(join(root, `src/${name}.ts`))) entryPoints[name] = `./src/${name}.ts`
    else console.warn(`build: ${subpath} is left out, there is no src/${name}.ts`)
  }
  // Chunks lie beside the worker's entry, which is found relative to the code that starts it.
  return { entryPoints, splitting: true, chunkNames: 'node/[name]-[hash]', packages: 'external' }
}

/** What runs by itself, each in one file: a process and a thread share no classes with anybody. */
async function programs() {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  return [
    { entryPoints: { 'node/worker': './src/node/worker.ts' }, packages: 'external' },
    {
      entryPoints: { 'bin/ottla': './src/cli/main.ts' },
      external: packages.filter(name => name !== 'commander'),
      // The parser of the command line is CommonJS; loaded from its package, it alone would take 8 ms at the start.
      banner: {
        js: "import { createRequire as makeRequire } from 'node:module'\nconst require = makeRequire(import.meta.url)",
      },
    },
  ]
}

async function bundle() {
  const { build } = await import('esbuild')
  const paths = new Set()
  for (const options of [await library(), ...(await programs())]) {
    const { outputFiles } = await build({
      absWorkingDir: root,
      outdir: 'dist',
      bundle: true,
      write: false,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      sourcemap: true,
      logLevel: 'warning',
      ...options,
    })
    for (const { path, contents } of outputFiles) {
      paths.add(path)
      await replace(path, contents)
    }
  }
  await chmod(join(dist, 'bin/ottla.js'), 0o755)
  return paths
}

async function replace(path, contents) {
  const old = await readFile(path).catch(() => undefined)
  if (old?.equals(contents)) return
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}`
  await writeFile(temporary, contents, { mode: path.endsWith('bin/ottla.js') ? 0o755 : 0o644 })
  await rename(temporary, path)
}

/** tsc writes into a folder of its own, since it would write over files that somebody packs meanwhile. */
async function declare() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const types = join(dirname(stamp), `types-${process.pid}`)
  try {
    const options = ['-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', types]
    const { status } = spawnSync(process.execPath, [tsc, ...options], { cwd: root, stdio: 'inherit' })
    if (status !== 0) throw new Error('the types are wrong')
    for (const path of await filesIn(types)) await replace(join(dist, relative(types, path)), await readFile(path))
  } finally {
    await rm(types, { recursive: true, force: true })
  }
}

/** What is neither a bundle of this build nor the types of a source is left from an earlier one. */
async function removeAllBut(written) {
  const types = new Set(sources.map(path => join(dist, relative(join(root, 'src'), path).replace(/\.ts$/, '.d.ts'))))
  for (const path of await filesIn(dist)) {
    if (!written.has(path) && !types.has(path)) await rm(path)
  }
}

async function filesIn(directory) {
  const found = await readdir(directory, { withFileTypes: true, recursive: true })
  return found.filter(each => each.isFile()).map(each => `${each.parentPath}${sep}${each.name}`)
}
