// Reads the golden data: known answers made by Apache Kafka's own classes, one JSON value per line, compressed. They are the judge of
// what we encode, hash and assign; nothing here knows what a line means.

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

/** All lines of `test/golden/data/<name>.jsonl.gz`. */
export function loadGolden<T>(name: string): T[] {
  const file = new URL(`./data/${name}.jsonl.gz`, import.meta.url)
  const text = gunzipSync(readFileSync(file)).toString('utf8')
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as T)
}
