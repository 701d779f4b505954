import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { API_VERSIONS, askApiVersions, Client, fetchPath, until } from './support.ts'

const execute = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMMAND = join(ROOT, 'dist/bin/ottla.js')
const directory = mkdtempSync(join(tmpdir(), 'ottla-command-'))

beforeAll(async () => {
  await execute(process.execPath, [join(ROOT, 'scripts/build.mjs'), '--quick'])
}, 60_000)

afterAll(() => rmSync(directory, { recursive: true, force: true }))

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

interface Run {
  child: ChildProcess
  stdout: string
  stderr: string
  /** Exit code, or the signal that ended it; undefined while it runs. */
  status: number | string | undefined
}

function run(args: string[]): Run {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  const started: Run = { child, stdout: '', stderr: '', status: undefined }
  child.stdout.on('data', text => (started.stdout += text))
  child.stderr.on('data', text => (started.stderr += text))
  child.on('close', (code, signal) => (started.status = code ?? signal ?? 'unknown'))
  return started
}

function ottla(...args: string[]): Run {
  return run([COMMAND, ...args])
}

async function ended(started: Run): Promise<Run> {
  await until(() => started.status !== undefined, `the end of the process; it printed ${started.stdout}`, 20_000)
  return started
}

async function started(...args: string[]): Promise<Run & { port: number }> {
  const begun = ottla('start', '--port', '0', ...args)
  await until(() => begun.stdout.includes('Ctrl-C') || begun.status !== undefined, 'the screen', 20_000)
  const port = Number(/address\s+\S+:(\d+)/.exec(begun.stdout)?.[1])
  expect(port, begun.stderr).toBeGreaterThan(0)
  return Object.assign(begun, { port })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A Fetch v4 of `orders` that waits for half a minute. */
function waitingFetch(): Buffer {
  const topic = Buffer.from('orders')
  const parts = ['00010004' + '00000009' + '0000', 'ffffffff' + '00007530' + '00000001' + '00100000' + '00']
  const head = Buffer.from(`${parts.join('')}000000010006`, 'hex')
  const tail = Buffer.from('00000001' + '00000000' + '0000000000000000' + '00100000', 'hex')
  const body = Buffer.concat([head, topic, tail])
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length)
  return Buffer.concat([length, body])
}

function threadsOf({ child }: Run): number {
  return readdirSync(`/proc/${child.pid}/task`).length
}

describe('ottla start', () => {
  it('starts several brokers, each on a port of its own', async () => {
    const begun = await started(
      '--brokers',
      '3',
      '--rack',
      'a',
      '--rack',
      'b',
      '--topic',
      'orders:2',
      '--http-port',
      '0',
    )
    const addresses = /address\s+(\S+)/.exec(begun.stdout)?.[1].split(',') ?? []
    expect(addresses).toHaveLength(3)
    for (const address of addresses) await askApiVersions(Number(address.split(':').at(-1)))
    const http = /metrics\s+(http:\S+)\/metrics/.exec(begun.stdout)?.[1] as string
    expect((await fetchPath(http, '/healthz')).body).toContain('broker 3 running')
    begun.child.kill('SIGTERM')
    expect((await ended(begun)).status).toBe(0)
    expect(begun.stderr).toBe('')
  })

  it('runs each broker in a thread of its own', async () => {
    const [alone, threaded] = await Promise.all([
      started('--brokers', '3'),
      started('--brokers', '3', '--workers', '--topic', 'orders:2'),
    ])
    const addresses = /address\s+(\S+)/.exec(threaded.stdout)?.[1].split(',') ?? []
    expect(addresses).toHaveLength(3)
    for (const address of addresses) await askApiVersions(Number(address.split(':').at(-1)))
    if (process.platform === 'linux') expect(threadsOf(threaded)).toBeGreaterThanOrEqual(threadsOf(alone) + 3)
    threaded.child.kill('SIGTERM')
    expect((await ended(threaded)).status).toBe(0)
    expect(threaded.stderr).toBe('')
  })

  it('prints one screen that says where it is and how to use it, and answers', async () => {
    const broker = await started('--topic', 'orders:12', '--topic', 'events')
    const { port, stdout } = broker
    expect(stdout).toContain('orders:12, events')
    expect(stdout).toContain('in memory')
    expect(stdout).toContain(`kcat -b 127.0.0.1:${port} -P -t orders`)
    expect(stdout).toContain(`brokers: ['127.0.0.1:${port}']`)
    expect(stdout.split('\n').length).toBeLessThanOrEqual(24)
    expect((await askApiVersions(port)).readInt16BE(8)).toBe(0)
    expect(broker.stderr).toBe('')
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('answers what waits and ends within a second on %s', async signal => {
    const broker = await started('--topic', 'orders')
    const client = await Client.open(broker.port)
    client.socket.write(waitingFetch())
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(client.bytes).toBe(0)
    broker.child.kill(signal)
    await until(() => broker.status !== undefined, 'the end', 1000)
    expect(broker.status).toBe(0)
    expect(broker.stderr).toBe('')
    await until(() => client.closed, 'the connection closed')
    expect(Buffer.concat(client.chunks).readInt32BE(4)).toBe(9)
  })

  it('ends at once on a second signal', async () => {
    const broker = await started()
    const client = await Client.open(broker.port)
    client.socket.pause()
    broker.child.kill('SIGINT')
    broker.child.kill('SIGTERM')
    await ended(broker)
    expect([0, 130, 143]).toContain(broker.status)
  })

  it('ends when the shell is gone that npm started it in', async () => {
    const script = `node ${COMMAND} start --port 0 & echo pid $!; wait`
    const env = { ...process.env, npm_command: 'exec' }
    const shell = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'], env })
    let printed = ''
    shell.stdout.on('data', text => (printed += text))
    await until(() => printed.includes('Ctrl-C'), 'the screen', 20_000)
    const pid = Number(/pid (\d+)/.exec(printed)?.[1])
    const client = await Client.open(Number(/address\s+\S+:(\d+)/.exec(printed)?.[1]))
    shell.kill('SIGKILL')
    await until(() => client.closed && !isAlive(pid), 'the end')
  })

  it('says in one line which port is taken, with a hint, and fails', async () => {
    const { port } = await started()
    const second = await ended(ottla('start', '--port', String(port)))
    expect(second.status).toBe(1)
    expect(second.stdout).toBe('')
    expect(second.stderr.split('\n')).toEqual([
      `ottla: port ${port} on 127.0.0.1 is taken`,
      expect.stringContaining('--port 0'),
      '',
    ])
  })

  it('takes configs from files and options, the later over the earlier, options over files', async () => {
    const [one, two] = [join(directory, 'one.properties'), join(directory, 'two.properties')]
    writeFileSync(one, '# limits\nnum.partitions=0\nlog.retention.hours=1\n')
    writeFileSync(two, 'num.partitions=3\n')
    const refused = await ended(ottla('start', '--port', '0', '--config', two, '--config', one))
    expect(refused.stderr).toContain('Invalid value 0 for configuration num.partitions')
    await started('--config', one, '--config', two)
    await started('--config', one, '-c', 'num.partitions=4', '-c', 'group.min.session.timeout.ms=1000')
  })

  it.each([
    [['start', '-c', 'num.partition=3'], /unknown broker config num\.partition\n +did you mean num\.partitions\?/],
    [['start', '-c', 'num.partitions'], /-c <name=value>.*Write it as name=value/],
    [['start', '--config', '/nowhere.properties'], /--config <file>.*cannot be read: ENOENT/],
    [['start', '--topic', 'a b'], /not a topic name: a b/],
    [['start', '--port', '70000'], /--port <port>.*from 0 to 65535/],
    [['start', '--prot', '1'], /unknown option '--prot'\n\(Did you mean --port\?\)/],
    [['start', '--log-level', 'loud'], /Allowed choices are trace, debug, info, warn, error/],
    [['start', '--emulate', '3.8'], /Allowed choices are 2\.8, 3\.6, 3\.9, 4\.0/],
    [['strat'], /unknown command 'strat'\n\(Did you mean start\?\)/],
  ])('refuses %j', async (args, expected) => {
    const refused = await ended(ottla(...args))
    expect(refused.status).toBe(1)
    expect(refused.stderr).toMatch(expected)
  })

  it('prints help and version', async () => {
    const help = await ended(ottla('start', '--help'))
    expect(help.status).toBe(0)
    for (const option of ['--port', '--host', '--advertised', '--topic', '-c', '--config', '--log-level']) {
      expect(help.stdout).toContain(option)
    }
    const version = await ended(ottla('--version'))
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('warns that others cannot reach the address that is told when it listens for all', async () => {
    const broker = await started('--host', '0.0.0.0')
    expect(broker.stdout).toContain('--advertised')
    const told = await started('--host', '0.0.0.0', '--advertised', 'localhost')
    expect(told.stdout).not.toContain('--advertised')
    expect(told.stdout).toContain(`localhost:${told.port}`)
  })

  it('logs to standard error from the level that was asked for', async () => {
    const broker = await started('--log-level', 'info')
    await until(() => broker.stderr.includes('listening'), 'a log line')
    expect(broker.stderr).toMatch(/^\S+Z INFO {2}listening .*port=\d+/)
  })
})

describe('a process that used startBroker', () => {
  it.each([
    ['the broker in its own thread', 'startBroker()'],
    ['the broker in a worker', 'startBroker({ worker: true })'],
    ['brokers of a cluster in workers', 'startCluster({ brokers: 2, workers: true })'],
  ])('ends by itself after close, with %s', async (_, start) => {
    const index = JSON.stringify(join(ROOT, 'dist/node/index.js'))
    const script = `
      import { connect } from 'node:net'
      import { startBroker, startCluster } from ${index}
      const broker = await ${start}
      const [host, port] = broker.bootstrapServers.split(',')[0].split(':')
      const socket = connect(port, host)
      socket.write(Buffer.from('${API_VERSIONS.toString('hex')}', 'hex'))
      await new Promise(resolve => socket.on('data', resolve))
      await broker.close()
      console.log('closed')`
    const child = run(['--input-type=module', '-e', script])
    await once(child.child, 'spawn')
    await ended(child)
    expect([child.stdout, child.stderr, child.status]).toEqual(['closed\n', '', 0])
  })
})

describe('ottla start --data', () => {
  const dataDir = () => join(mkdtempSync(join(directory, 'data-')), 'new')

  it('keeps everything, is marked after a signal, and passes the check', async () => {
    const data = dataDir()
    const first = await started('--data', data, '--topic', 'orders:3')
    expect(first.stdout).toContain(`data       ${data}; what is acknowledged survives a crash of the broker`)
    const cluster = /cluster +(\S+)/.exec(first.stdout)?.[1]
    first.child.kill('SIGTERM')
    expect((await ended(first)).status).toBe(0)
    expect(readdirSync(data)).toContain('.kafka_cleanshutdown')
    const check = await ended(ottla('verify', data))
    expect([check.stdout, check.status]).toEqual([expect.stringMatching(/: 0 errors, 0 warnings\n$/), 0])
    const second = await started('--data', data, '--flush', 'commit')
    expect(second.stdout).toContain(`cluster    ${cluster}`)
    expect(second.stdout).toContain(`${data}; what is acknowledged survives a power cut`)
  })

  it('refuses a directory that is in use, and takes it once its broker was killed', async () => {
    const data = dataDir()
    const first = await started('--data', data)
    const second = await ended(ottla('start', '--port', '0', '--data', data))
    expect(second.stderr).toBe(
      `ottla: the data directory ${data} is in use by the broker of process ${first.child.pid}\n` +
        '       stop that broker, or choose another directory with --data\n',
    )
    expect(second.status).toBe(1)
    first.child.kill('SIGKILL')
    await ended(first)
    const third = await started('--data', data)
    expect(third.stderr).toBe('')
  })

  it.each([
    ['of others', { 'photo.jpg': '' }, 'it holds photo.jpg and no ottla.properties'],
    [
      'of a later release',
      { 'ottla.properties': 'format.version=2' },
      'its format is 2, and this release knows those up to 1',
    ],
  ])('refuses a directory %s', async (_, files, message) => {
    const data = mkdtempSync(join(directory, 'data-'))
    for (const [name, content] of Object.entries(files)) writeFileSync(join(data, name), content)
    const { stderr, status } = await ended(ottla('start', '--port', '0', '--data', data))
    expect([stderr, status]).toEqual([expect.stringContaining(message), 1])
    expect(readdirSync(data)).toEqual(Object.keys(files))
  })

  it('refuses --flush without a directory, and to check what is none', async () => {
    const start = await ended(ottla('start', '--flush', 'commit'))
    expect([start.stderr, start.status]).toEqual([expect.stringContaining('--flush is for brokers with --data'), 1])
    const check = await ended(ottla('verify', join(directory, 'nowhere')))
    expect([check.stderr, check.status]).toEqual([expect.stringContaining('there is no directory'), 1])
    const other = await ended(ottla('verify', mkdtempSync(join(directory, 'data-'))))
    expect([other.stdout, other.status]).toEqual([expect.stringContaining('it has no ottla.properties'), 1])
  })
})
