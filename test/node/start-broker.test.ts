import { Kafka, logLevel } from 'kafkajs'
import { afterEach, describe, expect, it } from 'vitest'
import { type BrokerOptions, OttlaError, type RunningBroker, startBroker } from '../../src/node/index.ts'
import { startWorkerBroker } from '../../src/node/worker-broker.ts'
import { API_VERSIONS, askApiVersions, Client, until } from './support.ts'

const running: RunningBroker[] = []

afterEach(async () => {
  await Promise.all(running.splice(0).map(broker => broker.close()))
})

describe.each([
  ['in this thread', false],
  ['in a worker thread', true],
])('startBroker %s', (_, worker) => {
  async function start(options: BrokerOptions = {}): Promise<RunningBroker> {
    const broker = await startBroker({ worker, ...options })
    running.push(broker)
    return broker
  }

  it('takes any free port, accepts connections when it resolves, and says where', async () => {
    const broker = await start()
    expect(broker.port).toBeGreaterThan(0)
    expect(broker.bootstrapServers).toBe(`127.0.0.1:${broker.port}`)
    expect(broker.host).toBe('127.0.0.1')
    expect(broker.clusterId).toMatch(/^[\w-]{22}$/)
    const answer = await askApiVersions(broker.port)
    expect(answer.readInt32BE(4)).toBe(7)
    expect(answer.readInt16BE(8)).toBe(0)
  })

  it('refuses a port that is taken, with its code and a hint, and leaves nothing behind', async () => {
    const { port } = await start()
    const error = await start({ port }).catch(error => error)
    expect(error).toBeInstanceOf(OttlaError)
    expect(error).toMatchObject({ code: 'OTTLA_PORT_IN_USE', message: `port ${port} on 127.0.0.1 is taken` })
    expect(error.hint).toContain('port 0')
  })

  it('refuses wrong options before it starts anything', async () => {
    await expect(start({ configs: { 'num.partition': 2 } })).rejects.toMatchObject({
      code: 'OTTLA_UNKNOWN_CONFIG',
      hint: 'did you mean num.partitions?',
    })
  })

  it('tells clients the advertised address and creates the declared topics', async () => {
    const broker = await start({
      topics: ['orders:12', { name: 'events', configs: { 'retention.ms': 1000 } }],
      configs: { 'num.partitions': 3 },
    })
    const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING })
    const admin = kafka.admin()
    await admin.connect()
    const cluster = await admin.describeCluster()
    const { topics } = await admin.fetchTopicMetadata({ topics: ['orders', 'events'] })
    await admin.disconnect()
    expect(cluster.clusterId).toBe(broker.clusterId)
    expect(cluster.brokers).toEqual([{ nodeId: 1, host: '127.0.0.1', port: broker.port }])
    expect(topics.map(topic => [topic.name, topic.partitions.length]).sort()).toEqual([
      ['events', 3],
      ['orders', 12],
    ])
  })

  it('advertises another address when told to', async () => {
    const broker = await start({ advertised: 'kafka.test:19092' })
    expect(broker.bootstrapServers).toBe('kafka.test:19092')
    const answer = await askApiVersions(broker.port)
    expect(answer.length).toBeGreaterThan(10)
  })

  it('remembers the requests that it answered', async () => {
    const broker = await start()
    await askApiVersions(broker.port)
    expect(await broker.requests()).toMatchObject([
      { apiKey: 18, api: 'ApiVersions', version: 0, clientId: 'test', errorCodes: [] },
    ])
  })

  it('closes once however often it is told to, and ends the connections', async () => {
    const broker = await start()
    const client = await Client.open(broker.port)
    client.socket.write(API_VERSIONS)
    await until(() => client.bytes > 0, 'an answer')
    await Promise.all([broker.close(), broker.close()])
    await broker.close()
    await until(() => client.closed, 'the connection closed')
    await expect(broker.requests()).rejects.toMatchObject({ code: 'OTTLA_BROKER_CLOSED' })
    const late = new Client(broker.port)
    await until(() => late.closed, 'a late client refused')
    const again = await start({ port: broker.port })
    expect(again.port).toBe(broker.port)
  })

  it('closes at the end of a block with await using', async () => {
    let port: number
    {
      await using broker = await startBroker({ worker })
      port = broker.port
    }
    const late = new Client(port)
    await until(() => late.closed, 'a late client refused')
  })

  it('gives log lines to a function', async () => {
    const lines: string[] = []
    const broker = await start({
      logLevel: 'debug',
      log: (level, message, fields) => lines.push(`${level} ${message} ${JSON.stringify(fields)}`),
    })
    expect(lines).toContainEqual(expect.stringMatching(/^info listening .*"port":\d+/))
    const client = await Client.open(broker.port)
    client.socket.write('this is no Kafka request')
    await until(() => client.closed, 'the connection closed')
    await until(() => lines.some(line => line.startsWith('warn')), 'a line about it')
    expect(lines.filter(line => line.startsWith('warn'))).toHaveLength(1)
  })

  it('gives log lines to a logger like pino, from the level on', async () => {
    const lines: string[] = []
    const take = (level: string) => (fields: object, message: string) =>
      lines.push(`${level} ${message} ${Object.keys(fields).length}`)
    const log = {
      trace: take('trace'),
      debug: take('debug'),
      info: take('info'),
      warn: take('warn'),
      error: take('error'),
    }
    const broker = await start({ log, logLevel: 'warn' })
    const client = await Client.open(broker.port)
    client.socket.write('this is no Kafka request')
    await until(() => lines.length > 0, 'a line')
    expect(lines).toEqual([expect.stringMatching(/^warn closing connection .* 1$/)])
  })
})

describe('startBroker', () => {
  it('runs twenty brokers side by side that know nothing of each other', async () => {
    const brokers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => startBroker({ topics: [`topic-${index}`] })),
    )
    running.push(...brokers)
    expect(new Set(brokers.map(broker => broker.port)).size).toBe(20)
    expect(new Set(brokers.map(broker => broker.clusterId)).size).toBe(20)
    await askApiVersions(brokers[7].port)
    const counts = await Promise.all(brokers.map(async broker => (await broker.requests()).length))
    expect(counts).toEqual(brokers.map((_, index) => (index === 7 ? 1 : 0)))
  })

  it('fails what waits for a worker thread that ends by itself', async () => {
    const entry = (body: string) => new URL(`data:text/javascript,${encodeURIComponent(body)}`)
    const facts = { bootstrapServers: 'x:1', host: 'x', port: 1, clusterId: 'c' }
    const input = { type: 'broker' as const, options: {} as never, logLevel: undefined }
    const fatal: Error[] = []
    const lines: string[] = []
    const begin = (body: string) =>
      startWorkerBroker(input, {
        log: (level, message) => lines.push(`${level} ${message}`),
        onFatal: error => fatal.push(error),
        entry: entry(`import { parentPort } from 'node:worker_threads'; ${body}`),
      })

    await expect(begin("throw new Error('early')")).rejects.toMatchObject({
      code: 'OTTLA_WORKER_STOPPED',
      cause: { message: 'early' },
    })
    expect(fatal).toEqual([])

    const started = `parentPort.postMessage(${JSON.stringify({ type: 'started', facts })});`
    const broker = await begin(`${started} parentPort.on('message', () => { throw new Error('late') })`)
    await expect(broker.methods.requests()).rejects.toMatchObject({
      code: 'OTTLA_WORKER_STOPPED',
      cause: { message: 'late' },
    })
    expect(fatal).toMatchObject([{ code: 'OTTLA_WORKER_STOPPED' }])
    expect(lines).toEqual([expect.stringMatching(/^error internal error: the worker thread .* Error: late$/)])
    await expect(broker.methods.requests()).rejects.toMatchObject({ code: 'OTTLA_WORKER_STOPPED' })
    await broker.close()
  })
})
