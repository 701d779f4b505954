/**
 * The schema language of the protocol: one declaration per message for all its versions, in wire order. TypeScript
 * types are inferred from it, `codec.ts` interprets it. It describes; it does not read or write.
 * Follows the message definitions of Kafka (`clients/src/main/resources/common/message`).
 *
 * @example
 * const heartbeatRequest = struct({
 *   groupId: string(),
 *   generationId: int32(),
 *   memberId: string(),
 *   groupInstanceId: string().since(3).nullable(3).default(null),
 * })
 */

export type Kind =
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'uint16'
  | 'uint32'
  | 'float64'
  | 'bool'
  | 'uuid'
  | 'string'
  | 'bytes'
  | 'records'
  | 'array'
  | 'struct'

/** Everything that is known of a field besides its name. */
export interface FieldSpec {
  readonly kind: Kind
  /** First and last version that has the field. */
  readonly since: number
  readonly until: number
  /** First version in which it may be null. */
  readonly nullableSince: number
  readonly default: unknown
  /** Its number in the tag buffer; undefined for a field at its place. */
  readonly tag: number | undefined
  /** May be dropped without a word when the version lacks it. */
  readonly ignorable: boolean
  /** Keeps its old encoding in flexible versions too (only the client id of the request header). */
  readonly fixed: boolean
  readonly element: Field<unknown, unknown> | undefined
  readonly fields: Fields | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: the inferred types of the fields stand in the mapped types below.
export type Fields = Record<string, Field<any, any>>

const LAST_VERSION = 32767

/** A field: `Out` is what decoding gives, `In` what encoding takes. Immutable; each method makes another. */
export class Field<Out, In = Out> {
  readonly spec: FieldSpec
  /** Only for the compiler. */
  declare readonly types: { out: Out; in: In }

  constructor(spec: FieldSpec) {
    this.spec = spec
  }

  /** The first version that has the field. */
  since(version: number): Field<Out, In> {
    return new Field({ ...this.spec, since: version })
  }

  /** The last version that has the field. */
  until(version: number): Field<Out, In> {
    return new Field({ ...this.spec, until: version })
  }

  /** May be null, from `version` on. The default stays what it is: say `.default(null)` if that is null. */
  nullable(version = 0): Field<Out | null, In | null> {
    return new Field({ ...this.spec, nullableSince: version })
  }

  /** What an absent field reads as, and what is written when the value is left out. */
  default(value: In): Field<Out, In> {
    return new Field({ ...this.spec, default: value })
  }

  /** Lives in the tag buffer under `tag`, from version `since` on, and is written only when it differs from its default. */
  tagged(tag: number, since: number): Field<Out, In> {
    return new Field({ ...this.spec, tag, since })
  }

  /** Dropped without a word in versions that lack it; without this, encoding such a value is refused. */
  ignorable(): Field<Out, In> {
    return new Field({ ...this.spec, ignorable: true })
  }

  /** Encoded the old way even in flexible versions. */
  fixed(): Field<Out, In> {
    return new Field({ ...this.spec, fixed: true })
  }
}

function field<Out, In = Out>(kind: Kind, zero: unknown, more: Partial<FieldSpec> = {}): Field<Out, In> {
  return new Field({
    kind,
    since: 0,
    until: LAST_VERSION,
    nullableSince: LAST_VERSION + 1,
    default: zero,
    tag: undefined,
    ignorable: false,
    fixed: false,
    element: undefined,
    fields: undefined,
    ...more,
  })
}

const NO_BYTES = new Uint8Array(0)

export const int8 = () => field<number>('int8', 0)
export const int16 = () => field<number>('int16', 0)
export const int32 = () => field<number>('int32', 0)
/** A JavaScript number: saturated when read, refused when written outside ±(2^53 − 1). */
export const int64 = () => field<number>('int64', 0)
export const uint16 = () => field<number>('uint16', 0)
export const uint32 = () => field<number>('uint32', 0)
export const float64 = () => field<number>('float64', 0)
export const bool = () => field<boolean>('bool', false)
/** As 22 characters of base64url, the way Kafka prints it. */
export const uuid = () => field<string>('uuid', 'AAAAAAAAAAAAAAAAAAAAAA')
export const string = () => field<string>('string', '')
/** Copied when decoded, so it may be kept. */
export const bytes = () => field<Uint8Array>('bytes', NO_BYTES)
/** Record batches: a view of the receive buffer when decoded, one or more parts (never copied) when encoded. */
export const records = () => field<Uint8Array, Uint8Array | readonly Uint8Array[]>('records', NO_BYTES)

export function array<Out, In>(element: Field<Out, In>): Field<Out[], readonly In[]> {
  return field('array', Object.freeze([]), { element })
}

export type StructOut<F extends Fields> = { -readonly [Name in keyof F]: F[Name]['types']['out'] }
export type StructIn<F extends Fields> = { readonly [Name in keyof F]?: F[Name]['types']['in'] }

/** A struct, which can be a message of its own or stand as a field. */
export type Struct<F extends Fields> = Field<StructOut<F>, StructIn<F>> & { readonly spec: { readonly fields: F } }

export function struct<F extends Fields>(fields: F): Struct<F> {
  return field('struct', undefined, { fields }) as Struct<F>
}

/** What decoding a field or message gives: every field there. */
export type Decoded<T extends { types: { out: unknown } }> = T['types']['out']
/** What encoding takes: fields may be left out, and then have their default. */
export type Encodable<T extends { types: { in: unknown } }> = T['types']['in']

/** One API of the protocol: request and response, all versions. */
export interface Api<Request extends Fields = Fields, Response extends Fields = Fields> {
  readonly key: number
  readonly name: string
  /** First and last version that this code speaks. */
  readonly versions: readonly [min: number, max: number]
  /** First flexible version (KIP-482), or undefined where there is none. */
  readonly flexible: number | undefined
  readonly request: Struct<Request>
  readonly response: Struct<Response>
}

export function api<Request extends Fields, Response extends Fields>(
  definition: Api<Request, Response>,
): Api<Request, Response> {
  return definition
}

/** A message that is no API: coordinator records, consumer protocol blobs, control records. */
export interface Message<F extends Fields = Fields> {
  readonly name: string
  readonly versions: readonly [min: number, max: number]
  readonly flexible: number | undefined
  readonly body: Struct<F>
}

export function message<F extends Fields>(definition: Message<F>): Message<F> {
  return definition
}
