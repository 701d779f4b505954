/** Figures: percentiles, and tables of them. */

export function percentile(values, fraction) {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))]
}

export function median(values) {
  return percentile(values, 0.5)
}

/** Prints rows of equal keys as a Markdown table. */
export function printTable(rows) {
  const names = Object.keys(rows[0])
  const cells = [names, ...rows.map(row => names.map(name => format(row[name])))]
  const widths = names.map((_, column) => Math.max(...cells.map(row => row[column].length)))
  const line = row => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`
  console.log([line(cells[0]), `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`].join('\n'))
  console.log(`${cells.slice(1).map(line).join('\n')}\n`)
}

function format(value) {
  if (typeof value !== 'number') return String(value ?? '')
  if (Number.isNaN(value)) return '-'
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en')
  return value.toFixed(value >= 10 ? 1 : 2)
}
