import { describeUserScramCredentials } from '../../protocol/apis/describe-user-scram-credentials.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { repeated } from '../../util/repeated.ts'
import type { Broker } from '../broker.ts'
import { handler } from '../handler.ts'

/** For which SCRAM mechanisms users have credentials, and with how many iterations (`ScramImage.describe`). */
export const describeUserScramCredentialsHandler = handler(describeUserScramCredentials, ({ users }, { broker }) => {
  const asked = users?.map(({ name }) => name) ?? []
  const names = asked.length === 0 ? broker.image.scram.users() : [...new Set(asked)]
  const twice = repeated(asked)
  return {
    errorMessage: '',
    results: names.map(user => (twice.has(user) ? refuseTwice(user) : describe(user, broker))),
  }
})

function refuseTwice(user: string) {
  const errorMessage = `Cannot describe SCRAM credentials for the same user twice in a single request: ${user}`
  return { user, errorCode: ERROR_CODES.DUPLICATE_RESOURCE, errorMessage }
}

function describe(user: string, { image }: Broker) {
  const credentialInfos = image.scram.of(user).map(({ mechanism, iterations }) => ({ mechanism, iterations }))
  if (credentialInfos.length > 0) return { user, errorMessage: '', credentialInfos }
  const errorMessage = `Attempt to describe a user credential that does not exist: ${user}`
  return { user, errorCode: ERROR_CODES.RESOURCE_NOT_FOUND, errorMessage }
}
