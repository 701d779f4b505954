/** Who a client is, in Kafka's two words (`KafkaPrincipal`). On a listener without authentication everybody is the same. */
export interface Principal {
  readonly type: string
  readonly name: string
}

export const ANONYMOUS: Principal = { type: 'User', name: 'ANONYMOUS' }
