/**
 * `ottla start`: a broker in the foreground. It reads the options, prints the screen, and stops on Ctrl-C or SIGTERM; the
 * broker is `startBroker`'s.
 */
import { Command, InvalidArgumentError, Option } from 'commander'
import { RELEASES } from '../broker/emulate/releases.ts'
import {
  type BrokerOptions,
  type LogFields,
  type LogLevel,
  OttlaError,
  type RunningBroker,
  type RunningCluster,
  startBroker,
} from '../node/index.ts'
import { formatLine, LOG_LEVELS } from '../node/log.ts'
import { isWildcard } from '../node/options.ts'
import { parseProperties } from './properties.ts'
import { renderScreen } from './screen.ts'

interface StartOptions {
  brokers: number
  rack: string[]
  workers?: boolean
  port: number
  host: string
  advertised?: string
  topic: string[]
  data?: string
  flush?: 'os' | 'commit'
  c: Record<string, string>
  config: Record<string, string>
  logLevel: LogLevel
  httpPort?: number
  emulate?: BrokerOptions['emulate']
}

/** Unlike `startBroker`, which is for tests, the command waits as Kafka does for more members before the first rebalance. */
const KAFKA_CONFIGS = { 'group.initial.rebalance.delay.ms': '3000' }
/** And a cluster notices as late as Kafka's that a broker is gone. */
const KAFKA_CLUSTER_CONFIGS = {
  ...KAFKA_CONFIGS,
  'broker.heartbeat.interval.ms': '2000',
  'broker.session.timeout.ms': '9000',
  'replica.lag.time.max.ms': '30000',
  'replica.fetch.backoff.ms': '1000',
  'replica.fetch.wait.max.ms': '500',
}

export function startCommand(version: string): Command {
  return new Command('start')
    .description('Start a broker, or several, in memory or on a data directory.')
    .option('--brokers <count>', 'how many brokers, each on a port of its own from --port on', readCount, 1)
    .option('--rack <name>', 'rack of the first broker, of the second, …; repeatable', append, [])
    .option('--workers', 'run each broker in a thread of its own')
    .option('--data <directory>', 'keep everything in this directory; without it, in memory')
    .addOption(
      new Option(
        '--flush <when>',
        'when records come to the disk: os leaves it to the system (default), commit acknowledges once they are there',
      ).choices(['os', 'commit']),
    )
    .option('--port <port>', 'port to listen on, 0 for any that is free', readPort, 9092)
    .option('--host <address>', 'address to listen on, 0.0.0.0 for all', '127.0.0.1')
    .option('--advertised <host:port>', 'how clients are told to reach the broker; of several, the host alone')
    .option('--topic <name:partitions>', 'topic to create, such as orders:12; repeatable', append, [])
    .option('-c <name=value>', "broker config by Kafka's name; repeatable, stands over --config", addConfig, {})
    .option('--config <file>', 'properties file with broker configs; repeatable, the later wins', addFile, {})
    .option('--http-port <port>', 'serve /metrics, /healthz and /describe on that port of loopback', readPort)
    .addOption(
      new Option('--emulate <release>', 'tell clients the API versions of an earlier Kafka').choices(
        Object.keys(RELEASES),
      ),
    )
    .addOption(new Option('--log-level <level>', 'least level to print').choices(LOG_LEVELS).default('warn'))
    .action((options: StartOptions) => start(options, version))
}

async function start(options: StartOptions, version: string): Promise<void> {
  if (options.flush !== undefined && options.data === undefined) {
    const hint = 'name a directory with --data, or leave --flush out'
    throw new OttlaError('OTTLA_INVALID_OPTION', '--flush is for brokers with --data', { hint })
  }
  const broker = await launch(options, error => {
    // Nothing can be decided any more; whoever watches over the process is to start it again.
    if (error instanceof OttlaError && error.code === 'OTTLA_DATA_DIR_FAILED') {
      process.exitCode = 1
      void broker.close()
    }
  }).catch(explain)
  stopOnSignal(broker)
  const screen = renderScreen({
    version,
    bootstrapServers: broker.bootstrapServers,
    clusterId: broker.clusterId,
    data: options.data === undefined ? undefined : { directory: options.data, flush: options.flush ?? 'os' },
    http: broker.http,
    emulates: options.emulate && RELEASES[options.emulate].version,
    topics: options.topic,
    needsAdvertised: isWildcard(options.host) && options.advertised === undefined,
  })
  process.stdout.write(screen)
}

async function launch(options: StartOptions, onFatal: (error: Error) => void): Promise<RunningBroker | RunningCluster> {
  const shared = {
    onFatal,
    port: options.port,
    host: options.host,
    topics: options.topic,
    dataDir: options.data,
    flush: options.flush,
    logLevel: options.logLevel,
    log: (level: LogLevel, message: string, fields: LogFields) =>
      void process.stderr.write(`${formatLine(new Date().toISOString(), level, message, fields)}\n`),
    limits: { requestLogSize: 0 },
    advertised: options.advertised,
    emulate: options.emulate,
    http: options.httpPort === undefined ? false : { port: options.httpPort },
  }
  if (options.brokers > 1) {
    const configs = { ...KAFKA_CLUSTER_CONFIGS, ...options.config, ...options.c }
    // Its code is loaded only then.
    const { startCluster } = await import('../node/start-cluster.ts')
    return startCluster({ ...shared, brokers: options.brokers, racks: options.rack, workers: options.workers, configs })
  }
  const [rack] = options.rack
  return startBroker({
    ...shared,
    worker: options.workers,
    configs: { ...KAFKA_CONFIGS, ...(rack && { 'broker.rack': rack }), ...options.config, ...options.c },
  })
}

/** What to do, in the words of the command line. */
function explain(error: unknown): never {
  if (error instanceof OttlaError && error.code === 'OTTLA_PORT_IN_USE') {
    const hint = 'stop whoever listens there, choose another with --port, or take any that is free with --port 0'
    throw new OttlaError(error.code, error.message, { hint, cause: error })
  }
  if (error instanceof OttlaError && error.code === 'OTTLA_DATA_DIR_LOCKED') {
    const hint = 'stop that broker, or choose another directory with --data'
    throw new OttlaError(error.code, error.message, { hint, cause: error })
  }
  throw error
}

/** The first signal stops the broker in good order, the second at once. Nothing is left then, and the process ends. */
function stopOnSignal(broker: { close(): Promise<void> }): void {
  let stopping = false
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    if (stopping) process.exit(signal === 'SIGINT' ? 130 : 143)
    stopping = true
    broker.close().catch(error => {
      process.stderr.write(`ottla: ${error instanceof Error ? error.stack : error}\n`)
      process.exitCode = 1
    })
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  // Not a second signal: a terminal sends one to both, and the parent may be gone first.
  stopWithNpm(() => {
    if (!stopping) stop('SIGTERM')
  })
}

/**
 * `npx` and `npm start` pass a signal on to the shell that they ran the command in, and that ends without a word to us. So
 * when npm started this process, the end of its parent counts as the signal.
 */
function stopWithNpm(stop: () => void): void {
  if (process.env.npm_command === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, 200)
  timer.unref()
}

function readPort(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('A port is a number from 0 to 65535.')
  return Number(text)
}

function readCount(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('There can be from 1 to 99.')
  return Number(text)
}

function append(text: string, before: string[]): string[] {
  return [...before, text]
}

function addConfig(text: string, before: Record<string, string>): Record<string, string> {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('Write it as name=value.')
  return { ...before, [text.slice(0, equals).trim()]: text.slice(equals + 1).trim() }
}

function addFile(path: string, before: Record<string, string>): Record<string, string> {
  let text: string
  try {
    // Importing node:fs makes Node load its streams too: three milliseconds for a file that is seldom there.
    text = process.getBuiltinModule('node:fs').readFileSync(path, 'utf8')
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be read: ${(error as NodeJS.ErrnoException).code}.`)
  }
  return { ...before, ...parseProperties(text) }
}
