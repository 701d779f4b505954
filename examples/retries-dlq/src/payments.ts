/**
 * What the consumer is for: payments are charged through a bank that is sometimes not there, and sometimes says no.
 */

import { HopelessError } from './retry-plan.ts'
import type { Handler } from './retrying-consumer.ts'

export interface Payment {
  readonly account: string
  readonly cents: number
}

export interface Bank {
  /** Charges once for a key, however often it is called with it. Throws when the bank is not there. */
  charge(payment: Payment, idempotencyKey: string): Promise<'charged' | 'no such account'>
}

export const PAYMENTS = 'payments'
export const GROUP = 'payments'

export function chargeWith(bank: Bank): Handler {
  return async (value, { id }) => {
    const payment = readPayment(value)
    const answer = await bank.charge(payment, id)
    if (answer !== 'charged') throw new HopelessError(answer)
  }
}

function readPayment(value: Buffer | null): Payment {
  try {
    const { account, cents } = JSON.parse(String(value)) ?? {}
    if (typeof account === 'string' && Number.isSafeInteger(cents)) return { account, cents }
  } catch {
    // Said below.
  }
  throw new HopelessError('not a payment')
}
