/** What is shown, as texts for elsewhere: a command, a request, a table for a ticket. */

import { boundTerms, type ValueBounds } from './box'
import { bytes, count, share } from './format'
import type { Limit, Metrics, Pair, Tool } from './hash'
import { moment, total, type Bins, type Span } from './histogram'
import type { LensValues } from './lens'
import { isSortable } from './metrics'
import type { Breakdown, Metric, Selection, View } from './viewapi'

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
  /** Names of the files that the log is. */
  files: string[]
  /** The format of the log, where it was given and not found out. */
  format: string | null
  /** The path to the rows in a JSON document. */
  rows: string | null
  selection: Selection
  tool: Tool | null
  /** The span that a tool sets against the view. */
  other: Span | null
  /** Bounds of a number that the span has, too: a terminal explains a span. */
  box: ValueBounds | null
  /** The values whose lines are compared, which a terminal has no command for. */
  pair: Pair | null
  metrics: Metrics
  rates: { by: string; limit: Limit | null }
}

/** A name that a command takes for a file: one that begins with a hyphen would be a flag. */
const fileName = (name: string) => quoted(name.startsWith('-') && name !== '-' ? `./${name}` : name)

interface Queried extends Pick<Shown, 'format' | 'rows'> {
  /** Some records of a table could not be read. */
  hasBad: boolean
}

/** The command of a query, with what the server was given or found out about the file. */
export function query(sql: string, { format, rows, hasBad }: Queried): string {
  const words = ['rorqual', 'query']
  if (format !== null) words.push('--format', quoted(format === 'custom' ? 'FORMAT' : format))
  if (rows !== null) words.push('--rows', quoted(rows))
  if (hasBad) words.push('--bad', 'skip')
  return [...words, quoted(sql)].join(' ')
}

/** The command that answers the same in a terminal; of a box that is explained, the report on its lines. */
export function command(shown: Shown): string {
  const { files, format, rows, selection, tool, other, box, pair, metrics, rates } = shown
  const { from, to, where } = selection
  const words = ['rorqual', 'logs']
  const add = (flag: string, value: string | null) =>
    value !== null && value !== '' && words.push(flag, quoted(value))
  const range = (one: Span) => quoted(`${instant(one.from)}..${instant(one.to)}`)
  const compared =
    tool === 'compare' && other && !pair && from !== null && to !== null ? [{ from, to }, other] : null
  // The spans that are compared are all that is read.
  const whole = { from: null, to: null }
  const span = compared ? whole : tool === 'explain' && other && box ? other : { from, to }
  // The text of a format of one's own is not told: it is to be filled in.
  add('--format', format === 'custom' ? 'FORMAT' : format)
  add('--rows', rows)
  add('--since', span.from === null ? null : instant(span.from))
  add('--until', span.to === null ? null : instant(span.to))
  const boxed = tool === 'explain' && other && box
  const bounds = boxed ? boundTerms(box) : []
  add(
    '--where',
    bounds.length > 0 && where !== ''
      ? [`(${where})`, ...bounds].join(' and ')
      : where || bounds.join(' and '),
  )
  if (tool === 'explain' && other && !box) words.push('--explain', range(other))
  if (compared) words.push('--compare', ...compared.map(range))
  if (tool === 'rates') words.push('--rates', '--by', rates.by)
  if (tool === 'rates' && rates.limit) add(`--limit-per-${rates.limit.per}`, String(rates.limit.requests))
  if (tool === 'metrics' && metrics.field !== null) {
    add('--by', metrics.field)
    add('--show', metrics.show?.join(',') ?? null)
    add('--sort', metrics.sort)
    add('--measure', metrics.measure)
  }
  return [...words, ...files.map(fileName)].join(' ')
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

type CsvCell = string | number | boolean | null

/**
 * A cell of CSV. A text that a spreadsheet would take for a formula is led by an apostrophe, as in the server's CSV;
 * digits with a sign are a number that no double is.
 */
function csvCell(value: CsvCell): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const isFormula = /^[=+\-@\t\r]/.test(value) && !/^-?(\d+|inf)$/.test(value)
  const text = isFormula ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const csv = (rows: CsvCell[][]) => rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')

/** The table of metrics: a row for each value, and how far its numbers can be believed. */
export function breakdownCsv(answer: Breakdown, shown: Metric[]): string {
  const metrics = shown.filter(isSortable)
  const { exact, measure, measure_error, clients_error } = answer
  const head = [answer.field, 'share', ...metrics, 'measure', 'measure_error', 'clients_error', 'exact']
  const rows = answer.values.map((row) => [
    row.value,
    row.share,
    ...metrics.map((name) => row[name]),
    measure?.field ?? null,
    measure_error,
    clients_error,
    exact !== false,
  ])
  return csv([head, ...rows])
}

/** The same as the server answered, with all that it says of its exactness. */
export const breakdownJson = (answer: Breakdown) => `${JSON.stringify(answer, null, 2)}\n`

/** The lens: a row for each bar, with what it counts. */
export function lensCsv(lens: LensValues, bins: Bins): string {
  const head = ['time', 'seconds', 'hits', lens.name, 'error', 'exact']
  const rows = bins.at.map((at, bin) => [
    instant(at),
    bins.seconds,
    total(bins, bin),
    lens.values[bin] ?? null,
    lens.error,
    lens.exact,
  ])
  return csv([head, ...rows])
}
