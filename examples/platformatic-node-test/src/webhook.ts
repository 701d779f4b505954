/**
 * What goes through the topic `webhooks`: something happened, and a customer's server wants to know.
 */
export interface Webhook {
  /** Where it is posted. */
  readonly url: string
  readonly event: string
}

export const WEBHOOKS = 'webhooks'

/** @throws TypeError for what is no webhook. */
export function readWebhook(text: string | null | undefined): Webhook {
  const { url, event } = JSON.parse(text ?? 'null') ?? {}
  if (typeof url !== 'string' || !URL.canParse(url) || typeof event !== 'string') throw new TypeError('not a webhook')
  return { url, event }
}
