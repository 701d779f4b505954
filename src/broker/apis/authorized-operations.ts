/**
 * The operations that a client may perform, as bits (bit n: operation n of `AclOperation`). Without an authorizer all that
 * the kind of resource knows are allowed (`AclEntry.supportedOperations`).
 */

/** Said when nobody asked. */
export const NOT_ASKED = -2147483648

/** Read, write, create, delete, alter, describe, describe and alter configs. */
export const TOPIC_OPERATIONS = 3576
/** Create, cluster action, describe and alter configs, alter, describe, idempotent write, create and describe tokens. */
export const CLUSTER_OPERATIONS = 8096
/** Read, describe, delete, describe and alter configs. */
export const GROUP_OPERATIONS = 3400
