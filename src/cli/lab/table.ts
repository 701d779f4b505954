/**
 * Text in columns, for a terminal or a file: plain padding, no frames, no colours. It is not for wide characters, whose width
 * only the terminal knows.
 */

/** Rows with their cells padded to the widest of each column, two blanks between; no blanks at the end of a line. */
export function renderTable(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length)
  }
  return rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  )
}

/** Breaks a paragraph into lines of at most `width` characters, unless a single word is longer. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Ascending numbers, three or more in a row as `3-7`; `-` if there are none. */
export function formatNumbers(numbers: readonly number[]): string {
  const parts: string[] = []
  for (let from = 0; from < numbers.length; ) {
    let to = from
    while (numbers[to + 1] === numbers[to] + 1) to++
    if (to - from < 2) to = from
    parts.push(to === from ? `${numbers[from]}` : `${numbers[from]}-${numbers[to]}`)
    from = to + 1
  }
  return parts.join(' ') || '-'
}
