/** Takes out of the output of a tool what is another each time: ids, times, addresses, directories, log lines, the width of columns. */

const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ /, ''],
  [/127\.0\.0\.1:\d+/g, '[address]'],
  [/(TopicId: )[\w-]{22}\b/g, '$1[id]'],
  [/("logDir":|"log_dirs":\[)"[^"]*"/g, '$1"[directory]"'],
  [/(Finalized.*Epoch: )\d+/g, '$1[epoch]'],
  // Two records in a batch, the second 64 ms late or more, which takes another byte.
  [/("size":)80\b/g, '$179'],
]

/** Lines that say nothing about the broker: stack traces, and what the tools say of themselves. */
const NOISE = /^\tat |^\t\.\.\. \d+ more|^SLF4J|^Caused by: |^WARNING: |deprecated/

export function withoutWhatVaries(lines: readonly string[], files: readonly (readonly [string, string])[]): string[] {
  return lines
    .filter(line => !NOISE.test(line))
    .map(line => {
      let text = line
      for (const [name, path] of files) text = text.replaceAll(path, `{${name}}`)
      for (const [pattern, by] of REPLACEMENTS) text = text.replace(pattern, by)
      // Columns are as wide as the longest thing in them, which may be an id.
      return text.replace(/ {2,}/g, ' ').trimEnd()
    })
}
