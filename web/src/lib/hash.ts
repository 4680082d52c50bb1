/** What the address bar holds: the session and the whole view of it, so that Back and a bookmark work. */

import { unarranged, type Arrangement } from './arrange'
import type { ValueBounds } from './box'
import { unique } from './filter'
import type { Span } from './histogram'
import { isPlace, marksMax } from './marked'
import { lensNamed, noLens, type Lens } from './lens'
import { metricsNamed, sortNamed } from './metrics'
import { roles, type Role } from './roles'
import type { Metric, RowOrder, SortMetric } from './viewapi'
import { wishes, type Wish } from './ways'

/** What is open between histogram and panels. */
export type Tool = 'explain' | 'compare' | 'rates' | 'metrics'

/** What is about the server and no log. */
export type Page = 'vitals' | 'connection'

export interface Limit {
  per: 'minute' | 'second'
  requests: number
}

/** The table of a field's values. */
export interface Metrics {
  /** Null: the first one that the page offers. */
  field: string | null
  sort: SortMetric
  /** Null: the usual ones. */
  show: Metric[] | null
  /** Numbers whose quantiles are shown; null: how long requests took. */
  measure: string | null
}

/** Two values of a field, side by side. */
export interface Pair {
  field: string
  a: string
  b: string
}

export interface Place {
  /** Instead of a session. */
  page: Page | null
  session: string | null
  span: Span | null
  /** Clauses of the filter, joined by `and`. */
  terms: string[]
  /** Field that the histogram is stacked by. */
  stack: string
  /** The metric that is drawn over the bars. */
  lens: Lens
  /** Bars are as high as the logarithm of what they count. */
  isLog: boolean
  /** Times by the log's own clock instead of UTC. */
  logZone: boolean
  tool: Tool | null
  /** The span that the tool sets against the view. */
  other: Span | null
  /** Numbers of the rows of that span that are meant, where it was chosen on a heatmap. */
  box: ValueBounds | null
  /** The values whose lines are compared, instead of spans. */
  pair: Pair | null
  rates: { by: 'client' | 'net'; limit: Limit | null }
  metrics: Metrics
  /** Columns of a table as the reader arranged them. */
  columns: Arrangement
  /** The order of the lines; null is that of the log. */
  order: RowOrder | null
  /** Lines that the reader marked. */
  marks: string[]
}

export const nowhere: Place = {
  page: null,
  session: null,
  span: null,
  terms: [],
  stack: 'class',
  lens: noLens,
  isLog: false,
  logZone: false,
  tool: null,
  other: null,
  box: null,
  pair: null,
  rates: { by: 'client', limit: null },
  metrics: { field: null, sort: 'hits', show: null, measure: null },
  columns: unarranged,
  order: null,
  marks: [],
}

const pages: Page[] = ['vitals', 'connection']
const tools: Tool[] = ['explain', 'compare', 'rates', 'metrics']
const limits: Limit['per'][] = ['minute', 'second']

/** A hash that someone else wrote must not be a burden: longer filters are none (the server reads 64 KiB). */
const termsMax = 200
const namesMax = 1000

export function readHash(hash: string): Place {
  const fields = new URLSearchParams(hash.replace(/^#/, ''))
  const page = pages.find((page) => fields.has(page))
  if (page) return { ...nowhere, page }
  const other = readSpan(fields.get('ofrom'), fields.get('oto'))
  return {
    page: null,
    session: fields.get('s') || null,
    span: readSpan(fields.get('from'), fields.get('to')),
    terms: unique(
      fields
        .getAll('f')
        .map((term) => term.trim())
        .filter((term) => term !== ''),
    ).slice(0, termsMax),
    stack: readName(fields.get('stack')) ?? nowhere.stack,
    lens: { metric: lensNamed(fields.get('lens')), measure: readName(fields.get('lensof')) },
    isLog: fields.get('scale') === 'log',
    logZone: fields.get('zone') === 'log',
    tool: tools.find((tool) => tool === fields.get('tool')) ?? null,
    other,
    box: other && readBounds(fields),
    pair: readPair(fields),
    rates: { by: fields.get('by') === 'net' ? 'net' : 'client', limit: readLimit(fields) },
    metrics: readMetrics(fields),
    columns: readColumns(fields),
    order: readOrder(fields.get('order')),
    marks: unique(fields.getAll('mark').filter(isPlace)).slice(0, marksMax),
  }
}

/** `-bytes` is the largest first, and `.bytes` the smallest. */
function readOrder(text: string | null): RowOrder | null {
  const field = readName(text?.slice(1) ?? null)
  const sign = text?.charAt(0) ?? ''
  return field === null || !['-', '.'].includes(sign) ? null : { field, descending: sign === '-' }
}

const readName = (text: string | null) => /^[^<>\p{Cc}]{1,200}$/u.exec(text ?? '')?.[0] ?? null

function readPair(fields: URLSearchParams): Pair | null {
  const [field, a, b] = [readName(fields.get('of')), fields.get('a'), fields.get('b')]
  return field === null || a === null || b === null ? null : { field, a, b }
}

function readBounds(fields: URLSearchParams): ValueBounds | null {
  const field = readName(fields.get('ofield'))
  const [from, to] = [readNumber(fields.get('omin')), readNumber(fields.get('omax'))]
  if (field === null || (from === null && to === null)) return null
  return from !== null && to !== null && from >= to ? null : { field, from, to }
}

function readNumber(text: string | null): number | null {
  const number = Number(text || Number.NaN)
  return Number.isFinite(number) ? number : null
}

function readMetrics(fields: URLSearchParams): Metrics {
  const shown = fields.getAll('show')
  return {
    field: readName(fields.get('field')),
    sort: sortNamed(fields.get('sort')),
    show: shown.length === 0 ? null : metricsNamed(shown),
    measure: readName(fields.get('measure')),
  }
}

function readColumns(fields: URLSearchParams): Arrangement {
  const names = (key: string) => unique(fields.getAll(key)).slice(0, namesMax)
  const given = names('role').flatMap((text): [string, Role][] => {
    const at = text.lastIndexOf(':')
    const role = roles.find((role) => role === text.slice(at + 1))
    return at > 0 && role ? [[text.slice(0, at), role]] : []
  })
  return {
    pinned: names('pin'),
    hidden: names('hide'),
    opened: names('open'),
    roles: Object.fromEntries(given),
  }
}

function readSpan(first: string | null, end: string | null): Span | null {
  const from = Number(first || Number.NaN)
  const to = Number(end || Number.NaN)
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? { from, to } : null
}

function readLimit(fields: URLSearchParams): Limit | null {
  const requests = Number(fields.get('limit') || Number.NaN)
  const per = limits.find((per) => per === fields.get('per'))
  return per && Number.isInteger(requests) && requests > 0 ? { per, requests } : null
}

/** A setting of the page that is given by its address: `#way=put`. */
export const readWay = (hash: string): Wish | null =>
  wishes.find((wish) => wish === new URLSearchParams(hash.replace(/^#/, '')).get('way')) ?? null

export function writeHash(place: Place): string {
  if (place.page !== null) return `#${place.page}`
  return place.session === null ? '#' : `#s=${encodeURIComponent(place.session)}${writeView(place, '&')}`
}

/** A view to be saved: without its session, the lines that are marked there, and its spans where these are left out. */
export function savedAddress(place: Place, withSpan: boolean): string {
  const { tool, pair } = place
  const spanless = {
    span: null,
    other: null,
    box: null,
    // Both set spans against each other, where they do not compare two values.
    tool: tool === 'explain' || (tool === 'compare' && pair === null) ? null : tool,
  }
  return writeView({ ...place, ...(withSpan ? {} : spanless), marks: [] })
}

/** The place that a saved view is in a session. */
export const savedPlace = (address: string, session: string | null): Place => ({
  ...readHash(address),
  page: null,
  session,
  marks: [],
})

/** All of a place but its session, after `lead` where there is any. */
function writeView(place: Place, lead = ''): string {
  const { span, other, box, pair, rates, metrics, columns, order } = place
  const named = (key: string, names: string[]) => names.map((name): [string, string] => [key, name])
  const pairs: [string, string | number | null][] = [
    ['from', span?.from ?? null],
    ['to', span?.to ?? null],
    ...place.terms.map((term): [string, string] => ['f', term]),
    ['stack', place.stack === nowhere.stack ? null : place.stack],
    ['lens', place.lens.metric],
    ['lensof', place.lens.measure],
    ['scale', place.isLog ? 'log' : null],
    ['zone', place.logZone ? 'log' : null],
    ['tool', place.tool],
    ['ofrom', other?.from ?? null],
    ['oto', other?.to ?? null],
    ['ofield', box?.field ?? null],
    ['omin', box?.from ?? null],
    ['omax', box?.to ?? null],
    ['of', pair?.field ?? null],
    ['a', pair?.a ?? null],
    ['b', pair?.b ?? null],
    ['by', rates.by === nowhere.rates.by ? null : rates.by],
    ['per', rates.limit?.per ?? null],
    ['limit', rates.limit?.requests ?? null],
    ['field', metrics.field],
    ['sort', metrics.sort === nowhere.metrics.sort ? null : metrics.sort],
    ...named('show', metrics.show ?? []),
    ['measure', metrics.measure],
    ...named('pin', columns.pinned),
    ...named('hide', columns.hidden),
    ...named('open', columns.opened),
    ...named(
      'role',
      Object.entries(columns.roles).map(([name, role]) => `${name}:${role}`),
    ),
    ['order', order && `${order.descending ? '-' : '.'}${order.field}`],
    ...named('mark', place.marks),
  ]
  const said = pairs.filter(([, value]) => value !== null)
  return (
    (said.length === 0 ? '' : lead) +
    said.map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`).join('&')
  )
}
