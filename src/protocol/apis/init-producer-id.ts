import { api, int16, int32, int64, string, struct } from '../dsl.ts'

/**
 * Gives a producer its id and epoch. Version 2 is flexible, 3 raises the epoch of an id that the producer has
 * (KIP-360), 4 may say PRODUCER_FENCED, 5 TRANSACTION_ABORTABLE (KIP-890). Version 6 is not stable in Kafka and not
 * spoken here.
 */
export const initProducerId = api({
  key: 22,
  name: 'InitProducerId',
  versions: [0, 5],
  flexible: 2,
  request: struct({
    // Null for a producer that is idempotent only.
    transactionalId: string().nullable(),
    transactionTimeoutMs: int32(),
    producerId: int64().since(3).default(-1),
    producerEpoch: int16().since(3).default(-1),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    producerId: int64().default(-1),
    producerEpoch: int16(),
  }),
})
