/** The pure broker as a whole: what `node/`, tests and the simulator start. */
export { Cluster, type TopicDeclaration } from './cluster.ts'
export { type ClusterSnapshot, MemoryCluster } from './memory-cluster.ts'
