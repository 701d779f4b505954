/**
 * Reads Java properties files, as Kafka's `server.properties` is one: comments, `=`, `:` or blanks between key and value,
 * lines continued with a backslash, the escapes of `java.util.Properties`. Unlike Java it reads UTF-8.
 */

/** The settings of a file in their order; a later value for the same key stands over an earlier one. */
export function parseProperties(text: string): Record<string, string> {
  const settings: Record<string, string> = {}
  for (const line of logicalLines(text)) {
    // A key ends at the first separator that is not escaped; blanks around the separator belong to neither side.
    const match = /^((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)$/s.exec(line)
    if (match !== null) settings[unescapeText(match[1])] = unescapeText(match[2])
  }
  return settings
}

/** Lines without comments and blank ones, with continuations joined. */
function logicalLines(text: string): string[] {
  const lines: string[] = []
  let open = false
  for (const natural of text.split(/\r\n|\r|\n/)) {
    const line = natural.trimStart()
    if (!open && (line === '' || line.startsWith('#') || line.startsWith('!'))) continue
    const continues = /(^|[^\\])(\\\\)*\\$/.test(line)
    const content = continues ? line.slice(0, -1) : line
    if (open) lines[lines.length - 1] += content
    else lines.push(content)
    open = continues
  }
  return lines
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', f: '\f' }

function unescapeText(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, unit: string | undefined, character: string) =>
    unit === undefined ? (ESCAPES[character] ?? character) : String.fromCharCode(Number.parseInt(unit, 16)),
  )
}
