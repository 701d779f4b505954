import { HANDLERS } from '../../src/broker/apis/index.ts'
import { idleConfigs } from '../../src/broker/configs/acted-on.ts'
import { APIS } from '../../src/protocol/apis/index.ts'

/** docs/differences.md, made from what the handlers say of themselves and from the general differences below. */

const GENERAL = [
  'Offsets, timestamps and ids are exact within ±(2^53 − 1); beyond, they are read as that bound, and refused when written. Configs keep their text, and a default of 2^63 − 1 counts as "no limit".',
  'One process: the controller has no quorum, and its log one copy.',
  'Brokers of a cluster fetch from each other over links of their own, and not over a listener.',
  'A log that fails takes its one replica offline, which all brokers tell; Kafka gives up the whole log directory, and the broker with the last one.',
  'A full disk refuses records with KAFKA_STORAGE_ERROR, and takes nothing offline: service goes on when there is room. Kafka treats it as any other failure of the disk.',
  'What is read from a disk is checked by its CRC before it is served: CORRUPT_MESSAGE where Kafka leaves that to the consumer.',
  'A log that `log.flush.offset.checkpoint.interval.ms` comes round to is flushed; Kafka only writes down what happened to be flushed.',
  'A follower whose log has to be cut first has it written down that nothing behind the cut can be trusted, and asks its leader again then. Segments that retention drops go once it is written down where the log begins.',
  'A `min.insync.replicas` that is lowered lets the high watermark go on at once; Kafka looks again when something else happens to the partition.',
  '`__consumer_offsets` is made with as many replicas as there are brokers when `offsets.topic.replication.factor` asks for more. Kafka would refuse to make it.',
  '`startBroker` sets `group.initial.rebalance.delay.ms` to 0; `ottla start` keeps Kafka’s 3000.',
  'In memory mode records beyond the memory limit are refused, and the message says so. Committed offsets and metadata still find room, and `file.delete.delay.ms` is 0.',
  'A batch whose records take more than 128 MiB when decompressed is refused, whatever `max.decompressed.message.bytes` allows.',
  'A length of 14 to 48 bytes in the header of a batch is CORRUPT_MESSAGE; Kafka runs off its buffer for some of them.',
  'Where Kafka answers UNKNOWN_SERVER_ERROR by an accident of its own, the code here may be another one.',
  'A request with more than a million elements in its lists closes the connection.',
  'Batches that the broker compresses itself (`compression.type` of a topic) may differ from Kafka’s by a few bytes in size.',
  'There is one log cleaner, whatever `log.cleaner.threads` says beyond 0. It works in slices of a millisecond or two, knows keys by SipHash instead of MD5, and its table of keys is as large as they need, up to `log.cleaner.dedupe.buffer.size`.',
  'Member ids, producer ids, session ids and topic ids are random or counted as in Kafka, and never the same numbers.',
]

export function renderDifferences(): string {
  const lines = [
    '# How Ottla differs from Apache Kafka 4.4',
    '',
    'Made from the handlers themselves (`differs` in `src/broker/apis/`); a test keeps it fresh. Run `npm run docs` after a change.',
    '',
    '## In general',
    '',
    ...GENERAL.map(line => `- ${line}`),
    '',
    '## Per API',
    '',
    '| key | API | versions | differs |',
    '| --: | --- | --- | --- |',
  ]
  for (const { api, advertisedMin, listed, differs } of HANDLERS) {
    const [min, max] = api.versions
    const versions = `${min}–${max}${advertisedMin < min ? ` (told from ${advertisedMin})` : ''}${listed ? '' : ' (not listed)'}`
    lines.push(`| ${api.key} | ${api.name} | ${versions} | ${differs.join(' ') || '–'} |`)
  }
  const served = new Set(HANDLERS.map(({ api }) => api.key))
  const unserved = APIS.filter(api => !served.has(api.key)).map(api => api.name)
  if (unserved.length > 0) lines.push('', `Known to the codec and not served: ${unserved.join(', ')}.`)
  lines.push(
    '',
    'What is not in this table is not advertised, and a request for it closes the connection, as in Kafka.',
    '',
  )
  const idle = idleConfigs()
  lines.push(
    '## Configs',
    '',
    'Every config of Kafka 4.4 is known by its name, checked as Kafka checks it, kept and described. These are not acted on; setting one is told in the log.',
    '',
    `Of topics: ${idle.topic.map(name => `\`${name}\``).join(', ')}.`,
    '',
    `Of brokers: ${idle.broker.map(name => `\`${name}\``).join(', ')}.`,
    '',
  )
  return lines.join('\n')
}
