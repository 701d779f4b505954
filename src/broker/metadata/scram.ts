import { type Hash, hmac, SHA_256, SHA_512 } from '../../util/sha2.ts'
import { utf8Encode } from '../../util/utf8.ts'

/** The SCRAM credentials of users as the metadata has them (`ScramImage`, RFC 5802), by user and mechanism. */

export interface ScramCredential {
  readonly name: string
  /** As the protocol numbers them: see {@link SCRAM_MECHANISMS}. */
  readonly mechanism: number
  readonly salt: Uint8Array
  readonly storedKey: Uint8Array
  readonly serverKey: Uint8Array
  readonly iterations: number
}

export interface ScramMechanism {
  readonly name: string
  readonly hash: Hash
  readonly minIterations: number
  readonly maxIterations: number
}

export const SCRAM_MECHANISMS: ReadonlyMap<number, ScramMechanism> = new Map([
  [1, { name: 'SCRAM-SHA-256', hash: SHA_256, minIterations: 4096, maxIterations: 16384 }],
  [2, { name: 'SCRAM-SHA-512', hash: SHA_512, minIterations: 4096, maxIterations: 16384 }],
])

/** What a server keeps of a password: with it a client can be checked, but not played. */
export function scramKeys(hash: Hash, saltedPassword: Uint8Array): Pick<ScramCredential, 'storedKey' | 'serverKey'> {
  return {
    storedKey: hash.digest(hmac(hash, saltedPassword, utf8Encode('Client Key'))),
    serverKey: hmac(hash, saltedPassword, utf8Encode('Server Key')),
  }
}

export class ScramCredentials {
  readonly #byUser = new Map<string, Map<number, ScramCredential>>()

  users(): string[] {
    return [...this.#byUser.keys()]
  }

  /** The credentials of a user, one for each mechanism. */
  of(user: string): ScramCredential[] {
    return [...(this.#byUser.get(user)?.values() ?? [])]
  }

  set(credential: ScramCredential): void {
    const credentials = this.#byUser.get(credential.name) ?? new Map<number, ScramCredential>()
    this.#byUser.set(credential.name, credentials.set(credential.mechanism, credential))
  }

  remove(user: string, mechanism: number): void {
    const credentials = this.#byUser.get(user)
    credentials?.delete(mechanism)
    if (credentials?.size === 0) this.#byUser.delete(user)
  }
}
