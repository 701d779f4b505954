/** The rules for topic names (`org.apache.kafka.common.internals.Topic`). */

const MAX_LENGTH = 249

/** What is wrong with a name, or undefined. */
export function checkTopicName(name: string): string | undefined {
  if (name === '') return 'Topic name is invalid: the empty string is not allowed'
  if (name === '.' || name === '..') return `Topic name is invalid: '${name}' is not allowed`
  if (name.length > MAX_LENGTH) {
    return `Topic name is invalid: the length of '${name}' is longer than the max allowed length ${MAX_LENGTH}`
  }
  if (!/^[a-zA-Z0-9._-]+$/.test(name)) {
    return `Topic name is invalid: '${name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'`
  }
  return undefined
}

/** Names that differ only in `.` and `_` collide, since metrics cannot tell them apart. */
export function collisionKey(name: string): string {
  return name.replaceAll('.', '_')
}
