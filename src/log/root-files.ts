/**
 * What lies in the root of a data directory beside the logs of partitions, as Kafka calls it. Whoever writes and whoever verifies
 * a directory takes the names from here.
 */

/** The mark of a good stop. */
export const CLEAN_SHUTDOWN_FILE = '.kafka_cleanshutdown'
/** The controller's log lies beside the others, and is none of them. */
export const METADATA_DIRECTORY = '__cluster_metadata-0'
/** Offsets of partitions, by what they are about. */
export const CHECKPOINT_FILES = {
  recoveryPoint: 'recovery-point-offset-checkpoint',
  highWatermark: 'replication-offset-checkpoint',
  logStartOffset: 'log-start-offset-checkpoint',
  cleaned: 'cleaner-offset-checkpoint',
} as const
