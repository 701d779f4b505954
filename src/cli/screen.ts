/**
 * The one screen that `ottla start` prints: where the broker is, where its data lives, how to try it.
 */

export interface ScreenFacts {
  version: string
  bootstrapServers: string
  clusterId: string
  /** Where everything is kept; undefined in memory. */
  data: { directory: string; flush: 'os' | 'commit' } | undefined
  /** Where metrics are, if they are. */
  http: string | undefined
  /** The release of Kafka that is emulated, if one is. */
  emulates: string | undefined
  /** The declared topics, as text. */
  topics: string[]
  /** True when the broker listens for other machines, but tells them an address of this one. */
  needsAdvertised: boolean
}

function describeData(data: ScreenFacts['data']): string {
  if (data === undefined) return 'in memory; it is gone when the broker stops'
  const { directory, flush } = data
  return flush === 'commit'
    ? `${directory}; what is acknowledged survives a power cut`
    : `${directory}; what is acknowledged survives a crash of the broker`
}

export function renderScreen(facts: ScreenFacts): string {
  const { bootstrapServers } = facts
  const topic = facts.topics[0]?.split(':')[0] ?? 'orders'
  const topics = facts.topics.length > 0 ? facts.topics.join(', ') : 'none yet; they are created when first used'
  const warning = `
             clients on other machines cannot reach that; use --advertised host:port`
  return `Ottla ${facts.version}, Kafka's little sister

  address    ${bootstrapServers}${facts.needsAdvertised ? warning : ''}
  cluster    ${facts.clusterId}
  data       ${describeData(facts.data)}
  topics     ${topics}${facts.http === undefined ? '' : `\n  metrics    ${facts.http}/metrics`}${facts.emulates === undefined ? '' : `\n  emulates   Apache Kafka ${facts.emulates}`}

  kcat       echo hello | kcat -b ${bootstrapServers} -P -t ${topic}
             kcat -b ${bootstrapServers} -C -t ${topic} -o beginning
             kcat -b ${bootstrapServers} -G my-group ${topic}

  kafkajs    const kafka = new Kafka({ brokers: [${bootstrapServers
    .split(',')
    .map(server => `'${server}'`)
    .join(', ')}] })

             const producer = kafka.producer()
             await producer.connect()
             await producer.send({ topic: '${topic}', messages: [{ value: 'hello' }] })

             const consumer = kafka.consumer({ groupId: 'my-group' })
             await consumer.connect()
             await consumer.subscribe({ topic: '${topic}', fromBeginning: true })
             await consumer.run({ eachMessage: async ({ message }) => console.log(\`\${message.value}\`) })

Ctrl-C stops it.
`
}
