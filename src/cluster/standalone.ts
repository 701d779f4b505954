import type { Broker } from '../broker/broker.ts'
import type { BrokerConnection, ConnectionPeer, ConnectionSink } from '../broker/sink.ts'
import type { KafkaError } from '../protocol/errors.ts'
import type { Later } from '../util/later.ts'
import type { Cluster } from './cluster.ts'
import type { TopicDeclaration } from './hub.ts'

/** A cluster of one broker, as those see it who run it: in memory, or on a data directory. */
export interface StandaloneCluster {
  readonly clusterId: string
  readonly cluster: Cluster
  readonly broker: Broker
  connect(sink: ConnectionSink, peer: ConnectionPeer): BrokerConnection
  /** Tells the cluster where it listens and makes its topics. Settles with why one was refused, or undefined. */
  start(beginning: Beginning): Later<KafkaError | undefined>
  /** Ends it; settles when nothing is left to be done. */
  shutdown(): Later<unknown>
}

/** What a cluster begins with. */
export interface Beginning {
  readonly host: string
  readonly port: number
  /** Those that are not there yet are made. */
  readonly topics: readonly TopicDeclaration[]
}
