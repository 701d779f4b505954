import type { ControllerMessages } from '../../broker/link.ts'
import type { MetadataRecord } from '../../broker/metadata/records.ts'
import { SCRAM_MECHANISMS, scramKeys } from '../../broker/metadata/scram.ts'
import { KafkaError } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'

/**
 * Sets and deletes SCRAM credentials, each user for itself (KIP-554, `ScramControlManager`). A user may stand in a request once,
 * whatever the mechanism. What is kept are the keys that the salted password gives, not the password.
 */

type Message = ControllerMessages['alterUserScramCredentials']['request']
type Reply = ControllerMessages['alterUserScramCredentials']['reply']
type Deletion = Message['request']['deletions'][number]
type Upsertion = Message['request']['upsertions'][number]
type Outcome = MetadataRecord | KafkaError

export function alterUserScramCredentialsDecision({ request }: Message, context: DecisionContext): Reply {
  const outcomes = new Map<string, Outcome>()
  for (const deletion of request.deletions) decide(outcomes, deletion.name, () => remove(deletion, context))
  for (const upsertion of request.upsertions) decide(outcomes, upsertion.name, () => set(upsertion))
  const results = [...outcomes].map(([user, outcome]) => {
    if (outcome instanceof KafkaError) return { user, errorCode: outcome.code, errorMessage: outcome.message }
    context.append(outcome)
    return { user, errorCode: 0, errorMessage: null }
  })
  return { results }
}

/** The first thing that is wrong with a user counts; the second change to one is such a thing. */
function decide(outcomes: Map<string, Outcome>, user: string, change: () => MetadataRecord): void {
  const known = outcomes.get(user)
  if (known instanceof KafkaError) return
  try {
    if (known !== undefined) {
      throw new KafkaError('DUPLICATE_RESOURCE', 'A user credential cannot be altered twice in the same request')
    }
    outcomes.set(user, change())
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    outcomes.set(user, error)
  }
}

function remove({ name, mechanism }: Deletion, { image }: DecisionContext): MetadataRecord {
  check(name, mechanism)
  if (!image.scram.of(name).some(credential => credential.mechanism === mechanism)) {
    throw new KafkaError('RESOURCE_NOT_FOUND', 'Attempt to delete a user credential that does not exist')
  }
  return { type: 'removeScramCredential', name, mechanism }
}

function set({ name, mechanism, iterations, salt, saltedPassword }: Upsertion): MetadataRecord {
  const { hash, minIterations, maxIterations } = check(name, mechanism)
  if (iterations < minIterations) throw new KafkaError('UNACCEPTABLE_CREDENTIAL', 'Too few iterations')
  if (iterations > maxIterations) throw new KafkaError('UNACCEPTABLE_CREDENTIAL', 'Too many iterations')
  // Kafka stumbles over this one: its HMAC takes no empty key.
  if (saltedPassword.length === 0) throw new KafkaError('UNACCEPTABLE_CREDENTIAL', 'The salted password is empty')
  return { type: 'scramCredential', name, mechanism, iterations, salt, ...scramKeys(hash, saltedPassword) }
}

function check(name: string, mechanism: number) {
  if (name === '') throw new KafkaError('UNACCEPTABLE_CREDENTIAL', 'Username must not be empty')
  const known = SCRAM_MECHANISMS.get(mechanism)
  if (known === undefined) throw new KafkaError('UNSUPPORTED_SASL_MECHANISM', 'Unknown SCRAM mechanism')
  return known
}
