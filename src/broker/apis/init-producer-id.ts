import { initProducerId } from '../../protocol/apis/init-producer-id.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import { handler } from '../handler.ts'

/**
 * Gives an idempotent producer its id: a fresh one with epoch 0 each time (`TransactionCoordinator.handleInitProducerId`).
 */
export const initProducerIdHandler = handler(
  initProducerId,
  (request, { broker }) => {
    const { transactionalId, producerId, producerEpoch } = request
    if ((producerId === -1) !== (producerEpoch === -1)) throw new KafkaError('INVALID_REQUEST')
    if (transactionalId === '') throw new KafkaError('INVALID_REQUEST')
    if (transactionalId !== null) throw new KafkaError('TRANSACTIONAL_ID_AUTHORIZATION_FAILED')
    return broker.producerIds.next().map(answer => {
      if (typeof answer === 'number') return { errorCode: 0, producerId: answer, producerEpoch: 0 }
      return { errorCode: ERROR_CODES[answer], producerId: -1, producerEpoch: -1 }
    })
  },
  {
    differs: [
      'A transactional id is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED: there are no transactions yet.',
    ],
    refuse: (_request, error) => ({ errorCode: error.code, producerId: -1, producerEpoch: -1 }),
  },
)
