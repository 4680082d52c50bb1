/** Columns of the table of lines: what they show, how wide they are, and what a press on a cell means. */

import { isNumeric, ownColumns, tableColumns } from './fields'
import { clause, writtenField } from './filter'
import { bytes, latency, pathEnd, visible } from './format'
import { moment, type Span } from './histogram'
import type { Row, RowOrder, TableValues } from './viewapi'

const numbers = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 })
const wholes = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
/** A number as a filter has it: times in UTC; a large whole number comes as its digits. */
export const filterNumber = (value: number | string, unit: string | null) =>
  typeof value === 'number' && unit === 'time'
    ? new Date(value * 1000).toISOString().replace(/\.000Z$/, 'Z')
    : String(value)

/** A value of a table's column, or a text, as people read it. */
export function numberText(value: string | number | null, unit: string | null, zone: number): string {
  if (value === null || value === '') return '–'
  if (typeof value === 'string') return visible(value)
  if (unit === 'time') return moment(value, zone, 1)
  if (unit === 'bytes') return bytes(value)
  if (unit === 'seconds') return latency(value)
  return (Number.isInteger(value) ? wholes : numbers).format(value)
}

export interface Column {
  field: string
  title: string
  /** As a track of the grid. */
  width: string
  right: boolean
}

const column = (field: string, title: string, width: string, right = false): Column => ({
  field,
  title,
  width,
  right,
})

const logColumns: Column[] = [
  column('time', 'time', '168px'),
  column('client', 'client', '136px'),
  column('method', 'method', '60px'),
  column('url', 'path', 'minmax(200px, 3fr)'),
  column('status', 'status', '52px', true),
  column('bytes', 'bytes', '80px', true),
  column('request_time', 'took', '76px', true),
  column('upstream_time', 'upstream', '76px', true),
  column('agent', 'agent', 'minmax(160px, 2fr)'),
  column('browser', 'browser', '96px'),
  column('os', 'system', '96px'),
  column('bot', 'bot', '112px'),
  column('referrer', 'referrer', 'minmax(140px, 1fr)'),
  column('host', 'host', '140px'),
  column('user', 'user', '96px'),
  column('source', 'source', '140px'),
  column('file', 'file', '160px'),
  column('protocol', 'protocol', '76px'),
  column('flaw', 'flaw', 'minmax(160px, 1fr)'),
]

/** All there are: those of logs, or the time of a row and the columns of its table. */
export function allColumns(): Column[] {
  const own = ownColumns().map(({ name, kind }) =>
    kind === 'number' ? column(name, name, '120px', true) : column(name, name, 'minmax(140px, 1fr)'),
  )
  if (tableColumns() === null) return [...logColumns, ...own]
  const has = new Set(ownColumns().map(({ name }) => name))
  return [...own, ...logColumns.filter(({ field }) => field === 'flaw' && !has.has(field))]
}

/** Columns of a table that are shown at first. */
const firstShown = 8
export const firstColumns = () =>
  allColumns()
    .slice(0, firstShown)
    .map(({ field }) => field)

/** On a narrow screen these come before the others: a line is told by what was asked for and how it ended. */
const narrowFirst = ['time', 'status', 'url']

/** The columns of these fields, in the order of the table. */
export function columnsOf(fields: string[], narrow = false): Column[] {
  const columns = allColumns().filter(({ field }) => fields.includes(field))
  if (!narrow || tableColumns() !== null) return columns
  const rank = ({ field }: Column) => (narrowFirst.indexOf(field) + 1 || columns.length) - 1
  return columns.toSorted((a, b) => rank(a) - rank(b))
}

const ownOf = (field: string) => ownColumns().find(({ name }) => name === field)

/** The value of a column of a table, or of a log's own, in a row. */
export const valueOf = (row: Row, field: string) =>
  (row['columns'] as unknown as TableValues | undefined)?.[field] ?? null

export function cellText(row: Row, field: string, zone: number): string {
  const own = ownOf(field)
  if (own) return numberText(valueOf(row, field), own.unit, zone)
  const value = row[field]
  if (field === 'time') return row.time === null ? '–' : moment(row.time, zone, 1)
  if (value === null || value === undefined || value === '') return '–'
  if (field === 'bytes') return bytes(Number(value))
  if (field === 'request_time' || field === 'upstream_time') return latency(Number(value))
  const text = visible(String(value))
  return field === 'file' ? pathEnd(text) : text
}

const notInFile = ['row', 'place', 'line', 'rejected', 'zone_seconds', 'columns', 'flaw', 'time']

/** A line as an object of what it has: of a table its columns. */
export function jsonOf(row: Row): string {
  if (tableColumns() !== null && row['rejected'] !== true) return row.line
  const has = (value: unknown) => value !== null && value !== undefined && value !== ''
  const own = Object.entries((row['columns'] as unknown as TableValues | undefined) ?? {})
  const fields = Object.entries(row).filter(([name]) => !notInFile.includes(name))
  const time = row.time === null ? [] : [['time', filterNumber(row.time, 'time')] as const]
  const rest = [...fields, ...own, ['flaw', row.flaw] as const, ['line', row.line] as const]
  return JSON.stringify(Object.fromEntries([...time, ...rest].filter(([, value]) => has(value))))
}

/** The span around a line. */
export const aroundSeconds = 30
export const spanAround = (time: number): Span => ({
  from: Math.floor(time) - aroundSeconds,
  to: Math.floor(time) + aroundSeconds + 1,
})

/** What the server has no order by: it follows from other columns. */
const unsorted = ['class', 'hour', 'weekday']
export const isSortable = (field: string) => !unsorted.includes(field) || ownOf(field) !== undefined

/** The order after a press on the head of a column: the largest first, the smallest first, that of the log. */
export function nextOrder(order: RowOrder | null, field: string): RowOrder | null {
  if (order?.field !== field) return { field, descending: true }
  return order.descending ? { field, descending: false } : null
}

/** An order in words. */
export function orderText({ field, descending }: RowOrder): string {
  const own = ownOf(field)
  const title = allColumns().find((one) => one.field === field)?.title ?? field
  const words = (most: string, least: string) => `by ${title}, ${descending ? most : least}`
  if (own?.unit === 'time' || field === 'time') return words('latest first', 'earliest first')
  const isNumber = own ? own.kind === 'number' : isNumeric(field)
  return isNumber ? words('largest first', 'smallest first') : words('Z to A', 'A to Z')
}

export type Press = { term: { field: string; value: string } } | { text: string } | { span: Span } | null

/** What a press on a cell filters by: a value, at least a number as large, or the minute of a time. */
export function press(row: Row, field: string): Press {
  const own = ownOf(field)
  if (own) {
    const value = valueOf(row, field)
    if (own.kind === 'number' && value !== null) {
      return {
        text: `${writtenField(field)} >= ${filterNumber(value, own.unit)}`,
      }
    }
    return { term: { field, value: value === null ? '' : String(value) } }
  }
  const value = row[field]
  if (field === 'time') {
    if (row.time === null) return null
    const from = Math.floor(row.time / 60) * 60
    return { span: { from, to: from + 60 } }
  }
  if (value === undefined) return null
  if (field === 'bytes' || field === 'request_time' || field === 'upstream_time') {
    return value === null ? { text: `${field} = -` } : { text: `${field} >= ${String(value)}` }
  }
  return { term: { field, value: value === null ? '' : String(value) } }
}

/** What a press means, said before it is done. */
export function pressTitle(row: Row, field: string): string {
  const does = press(row, field)
  if (does === null) return ''
  if ('span' in does) return 'Enter: only this minute'
  const text = 'text' in does ? does.text : clause(does.term.field, does.term.value, false)
  return `Enter: only ${text}. Alt or −: all but that`
}
