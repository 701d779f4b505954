/** The pure broker as a whole: what `node/`, tests and the simulator start. */
export { Cluster } from './cluster.ts'
export { DiskCluster } from './disk-cluster.ts'
export { Hub, type TopicDeclaration } from './hub.ts'
export { type ClusterSnapshot, MemoryCluster } from './memory-cluster.ts'
export type { StandaloneCluster } from './standalone.ts'
export { type VerifiedDirectory, verifyDataDirectory } from './verify-data-directory.ts'
