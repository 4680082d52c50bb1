/** What is shown, as texts for elsewhere: a command, a request, a table for a ticket. */

import { bytes, count, share } from './format'
import type { Metrics, Tool } from './hash'
import { moment, type Span } from './histogram'
import type { Selection, View } from './viewapi'

/** A word of a shell, whatever is in it. */
export const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** Seconds as `--since` reads them, in UTC. */
const instant = (seconds: number) =>
  new Date(seconds * 1000)
    .toISOString()
    .replace(/(\.\d*?)0*Z$/, '$1Z')
    .replace('.Z', 'Z')

interface Shown {
  file: string
  selection: Selection
  tool: Tool | null
  /** The span that a tool sets against the view. */
  other: Span | null
  metrics: Metrics
  rates: { by: string }
}

/** The command that answers the same in a terminal. */
export function command({ file, selection, tool, other, metrics, rates }: Shown): string {
  const { from, to, where } = selection
  const words = ['rorqual', 'logs']
  const add = (flag: string, value: string | null) =>
    value !== null && value !== '' && words.push(flag, quoted(value))
  add('--since', from === null ? null : instant(from))
  add('--until', to === null ? null : instant(to))
  add('--where', where)
  if (tool === 'explain' && other) add('--explain', `${instant(other.from)}..${instant(other.to)}`)
  if (tool === 'rates') words.push('--rates', '--by', rates.by)
  if (tool === 'metrics' && metrics.field !== null) {
    add('--by', metrics.field)
    add('--sort', metrics.sort)
    add('--measure', metrics.measure)
  }
  // A name that begins with a hyphen would be a flag.
  words.push(quoted(file.startsWith('-') ? `./${file}` : file))
  return words.join(' ')
}

/** The request that gives the rows; the token is not in it. */
export const request = (address: string) =>
  `curl -H "Authorization: Bearer $RORQUAL_TOKEN" ${quoted(address)}`

/** Text of a cell of a Markdown table, which log text may not leave. */
const cell = (text: string) =>
  text
    .replace(/[\\`*_[\]<>|]/g, '\\$&')
    .replace(/\p{Cc}+/gu, ' ')
    .trim()

const rowsOfPanel = 5

/** A summary for a ticket: the span, the filter, and the most frequent values. */
export function markdown(
  view: View,
  file: string,
  selection: Selection,
  zone: number,
  address: string,
): string {
  const lines = [`**${cell(file)}**: ${count(view.lines.matching)} of ${count(view.lines.total)}`]
  const clock = zone === 0 ? ' UTC' : ''
  if (view.time)
    lines.push(`${moment(view.time.first, zone, 1)} to ${moment(view.time.last, zone, 1)}${clock}`)
  if (selection.where !== '') lines.push(`\`${selection.where.replaceAll('`', "'")}\``)
  const tables = view.panels
    .filter(({ rows }) => rows.length > 0)
    .slice(0, 3)
    .map(({ title, rows }) => [
      `| ${cell(title)} | hits | share | bytes |`,
      '|---|--:|--:|--:|',
      ...rows
        .slice(0, rowsOfPanel)
        .map(
          (row) =>
            `| ${cell(row.value)} | ${count(row.hits)} | ${share(row.hits, view.lines.matching)} | ${bytes(row.bytes)} |`,
        ),
    ])
  return [...lines.map((line) => [line]), ...tables, [address]].map((part) => part.join('\n')).join('\n\n')
}
