/** The fields of a view: what they are called, what can be asked of them, and where they stand on the page. */

export type FieldKind = 'text' | 'number' | 'flag'

export interface Field {
  name: string
  title: string
  kind: FieldKind
  /** For the completion: what a value looks like. */
  hint: string
}

const field = (name: string, title: string, kind: FieldKind, hint: string): Field => ({
  name,
  title,
  kind,
  hint,
})

/** All that a filter may speak of in an access log. */
const logFields: Field[] = [
  field('status', 'Status', 'number', 'a status, 5xx, or 400..499'),
  field('class', 'Status class', 'number', '2xx, 3xx, 4xx, 5xx or other'),
  field('path', 'Path', 'text', 'without its query'),
  field('url', 'Path with query', 'text', 'as in the request'),
  field('query', 'Query', 'text', 'behind the ?'),
  field('client', 'Client', 'text', 'an address, or 10.0.0.0/8'),
  field('net', 'Network', 'text', '/24 of the client, /48 for IPv6'),
  field('country', 'Country', 'text', 'two letters, such as DE; with --geoip'),
  field('method', 'Method', 'text', 'GET, POST …'),
  field('bytes', 'Response size', 'number', '500, 64KiB, 1MiB..2MiB'),
  field('request_time', 'Request time', 'number', '0.25, 250ms, 0.1..0.5'),
  field('upstream_time', 'Upstream time', 'number', '0.25, 250ms, 0.1..0.5'),
  field('site', 'Referring site', 'text', 'host of the referrer'),
  field('referrer', 'Referrer', 'text', 'as in the request'),
  field('agent', 'Agent', 'text', 'the whole User-Agent'),
  field('browser', 'Browser', 'text', 'told from the agent'),
  field('os', 'Operating system', 'text', 'told from the agent'),
  field('bot', 'Bot', 'text', 'its name; alone: any bot'),
  field('kind', 'Content', 'text', 'page, image, script …'),
  field('host', 'Host', 'text', 'virtual host'),
  field('user', 'User', 'text', 'who was logged in'),
  field('source', 'Source', 'text', 'host, container or file before the line'),
  field('file', 'File', 'text', 'where the log is several'),
  field('protocol', 'Protocol', 'text', 'HTTP/1.1'),
  field('hour', 'Hour', 'number', "0 to 23 by the log's clock"),
  field('weekday', 'Weekday', 'number', 'mon..fri'),
  field('flaw', 'Flaw', 'text', 'why repaired or rejected'),
  field('rejected', 'Rejected', 'flag', 'lines that could not be read'),
  field('repaired', 'Repaired', 'flag', 'lines that were mended'),
]

/** A column of a table, as the server tells it (docs/api.md, "Columns"). */
export interface TableColumn {
  name: string
  kind: 'text' | 'number'
  /** Of numbers. */
  unit: string | null
  /** Of texts. */
  content?: 'text' | 'flag' | 'json' | 'pattern' | null
}

const hints: Record<string, string> = {
  integer: '7, or >= 7',
  float: '0.25, or < 0.25',
  time: '2026-01-27T14:10',
  bytes: '500, 64KiB, 1MiB..2MiB',
  seconds: '0.25, 250ms, 0.1..0.5',
}
const contentHints: Record<string, string> = {
  flag: 'true or false',
  json: 'has an element',
  pattern: 'messages of one kind',
}
const ofTables = ['flaw', 'hour', 'weekday', 'rejected']

let table: TableColumn[] | null = null
let own: TableColumn[] = []
let fields = logFields
let byName = new Map<string, Field>()

/** Columns of the table that is shown; null where a log is. */
export function setTable(columns: TableColumn[] | null): void {
  table = columns
  setOwn(columns ?? [])
}

/** Columns of a log's own, which come after its fields. */
export function setLogColumns(columns: TableColumn[]): void {
  table = null
  setOwn(columns)
}

function setOwn(columns: TableColumn[]): void {
  own = columns
  const named = columns.map(({ name, kind, unit, content }) =>
    field(
      name,
      name,
      kind,
      kind === 'text' ? (contentHints[content ?? 'text'] ?? 'a text') : (hints[unit ?? ''] ?? 'a number'),
    ),
  )
  const has = new Set(named.map(({ name }) => name))
  const rest = logFields.filter(({ name }) => table === null || (ofTables.includes(name) && !has.has(name)))
  fields = table === null ? [...rest, ...named] : [...named, ...rest]
  byName = new Map(fields.map((one) => [one.name, one]))
}
setTable(null)

/** The columns of the table that is shown. */
export const tableColumns = () => table
/** Those of the table that is shown, or of the log's own. */
export const ownColumns = () => own
/** What is counted, in words: a line of a log, a row of a table. */
export const recordWord = () => (table ? 'row' : 'line')
export const requestWord = () => (table ? 'row' : 'request')

/** All that a filter may speak of. */
export const allFields = () => fields

/** As it is written, or the only one that differs in the case of its letters. */
export function fieldOf(name: string): Field | null {
  const exact = byName.get(name)
  if (exact || (table === null && name === name.toLowerCase())) return exact ?? null
  const alike = fields.filter((field) => field.name.toLowerCase() === name.toLowerCase())
  return (alike.length === 1 ? alike[0] : null) ?? null
}
export const titleOf = (name: string) => byName.get(name)?.title ?? name
/** Fields have one name each, wherever they stand; of those that the page does not know, the server's. */
export const titleOfPanel = ({ field, title }: { field: string; title: string }) =>
  fieldOf(field)?.title ?? title
export const isNumeric = (name: string) => byName.get(name)?.kind === 'number'

/** What the histogram of a log can be stacked by: few values, or a meaning worth a look. */
const logStackable = [
  'class',
  'method',
  'kind',
  'bot',
  'browser',
  'os',
  'protocol',
  'host',
  'path',
  'client',
  'net',
  'country',
  'site',
  'source',
  'file',
]

/** What the histogram can be stacked by, of the fields that have panels. */
export function stackable(panels: string[]): string[] {
  if (table) return ['class', ...panels]
  const ofLog = [...logStackable, ...own.map(({ name }) => name)]
  return ofLog.filter((field) => field === 'class' || panels.includes(field))
}
export const titleOfStack = (name: string) =>
  table && name === 'class' && !byName.has(name) ? 'nothing' : titleOf(name).toLowerCase()

/** Panels as they stand on the page; one that the log does not have is left out. */
export const panelOrder = [
  'path',
  'client',
  'status',
  'url',
  'net',
  'country',
  'class',
  'method',
  'referrer',
  'site',
  'bot',
  'browser',
  'os',
  'kind',
  'protocol',
  'host',
  'user',
  'source',
  'file',
  'agent',
  'flaw',
]

/** A panel's place on the page; fields nobody has placed come last. */
export const placeOf = (name: string) => {
  const at = panelOrder.indexOf(name)
  return at < 0 ? panelOrder.length : at
}
