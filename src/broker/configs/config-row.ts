/**
 * A row of the config tables: name, type, default as text (null: none; undefined: must be given), what is valid in the
 * words of Kafka's validators, and flags (`dynamic`: may change while the broker runs; `internal`: not shown).
 */
export type ConfigRow = readonly [
  name: string,
  type: ConfigTypeName,
  defaultValue: string | null | undefined,
  valid?: string,
  flags?: string,
]

export type ConfigTypeName = 'boolean' | 'string' | 'int' | 'short' | 'long' | 'double' | 'list' | 'class' | 'password'
