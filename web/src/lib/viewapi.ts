/** What the server answers about a view of a session (docs/api.md, "Views"), in types, and the calls. */

import { call, session, type Panel, type Row as PanelRow, type Percentiles } from './api'
import type { Fleet } from './fleet'
import type { Span } from './histogram'

/** Which rows are meant: half open in time, and a filter; null and '' mean all. */
export interface Selection {
  from: number | null
  to: number | null
  where: string
}

/** What an answer says of its own exactness; left out, it is exact. */
export interface Marked {
  exact?: boolean
  /** A few words: why not, or what made it slow, and what would help. */
  hint?: string | null
  /** Of a session that shows logs of other servers. */
  fleet?: Fleet
}

/** Rows of a panel that come with the view: what is shown at first, and one "more". */
export const topRows = 20

export interface ViewQuestion extends Selection {
  stack: string
  buckets: number
  top: number
  facets: boolean
}

/** A series per value of the field stacked by; null: all values that have none of their own. */
export interface Series {
  value: string | null
  hits: number[]
}

export interface Histogram {
  bucket_seconds: number
  /** The finest width held in memory: zooming further shows nothing more. */
  finest_seconds: number
  /** Starts of the buckets that have lines; the others are zero. */
  at: number[]
  stack: string
  series: Series[]
}

/** A panel opened: `distinct` is of the view, `found` of what the search leaves of it. */
export type PanelPage = Omit<Panel, 'title'> & { found: number }

/** A panel of a field whose values the filter chooses, counted under its other conditions. */
export interface Facet extends Panel {
  /** Those of the values named that have rows there. */
  chosen: PanelRow[]
  excluded: PanelRow[]
}

export interface Total {
  hits: number
  bytes: number
}

export interface Latency {
  at: number[]
  /** Starts of the steps, in seconds; the last one is open. */
  edges: number[]
  /** Of each bucket, the hits of each step. */
  hits: number[][]
}

export interface View extends Marked {
  complete: boolean
  kept: { rows: number; dropped?: number; all: boolean; reason: string | null }
  lines: { total: number; matching: number; parsed: number; repaired: number; rejected: number }
  /** The server's work. */
  seconds: number
  bytes_sent: number
  time: { first: number; last: number; zone_seconds: number } | null
  histogram: Histogram | null
  panels: Panel[]
  facets?: Facet[]
  humans: Total | null
  bots: Total | null
  /** Of agents that could not be told: together with both, all that is parsed. */
  unknown: Total | null
  /** Hits by weekday (Monday first) and hour of the log's own clock. */
  week: { hits: number[][] } | null
  /** Numbers of the columns of a table. */
  numbers?: NumberSummary[]
  /** Those with conditions of their own, under the others. */
  number_facets?: NumberSummary[]
  percentiles: Record<'bytes' | 'request_time' | 'upstream_time', Percentiles | null>
  latency: Latency | null
}

/** Numbers of a column: seconds of times, which have no quantiles. */
export interface NumberSummary {
  field: string
  unit: string
  hits: number
  /** Texts where a double would be another number, and of infinities. */
  min: number | string | null
  max: number | string | null
  quantiles: Record<'p50' | 'p90' | 'p95' | 'p99', number | string> | null
  quantile_error: number | string
  /** The distribution; left out of times, and where all are the same. */
  buckets?: NumberBuckets | null
}

/** Bars of numbers: each has those from its edge on and below the next; the last edge is above all. */
export interface NumberBuckets {
  scale: 'linear' | 'log'
  edges: number[]
  hits: number[]
}

/** A row's columns, of a table. */
export type TableValues = Record<string, string | number | null>

export type Row = {
  row: number
  time: number | null
  flaw: string | null
  line: string
  /** Its name in any view. */
  place: string
} & Record<string, string | number | boolean | null>

/** An order of rows by a column; those that are the same are in the order of the log. */
export interface RowOrder {
  field: string
  descending: boolean
}

/** Rows of such an order: there are no more. */
export const sortedRowsMax = 10_000

export interface Rows {
  matching: number
  offset: number
  /** The format that lines are rebuilt in, and its variables that are `-` in each; no format of a table. */
  lines: { format: string | null; unkept: string[] }
  /** `exact` is false where others may come before. */
  sort: (RowOrder & { exact: boolean; rows_max: number }) | null
  rows: Row[]
  /** Of a session that shows logs of other servers. */
  fleet?: Fleet
}

/** How the rows of a selection lie. */
export interface Ordered {
  from_end: boolean
  sort: RowOrder | null
}

export interface Part {
  hits: number
  bytes: number
  share: number
}

export interface Comparison extends Marked {
  a: Total
  b: Total
  panels: {
    field: string
    title: string
    /** The most significant difference first, by G. */
    rows: { value: string; a: Part; b: Part; g: number }[]
  }[]
}

export interface Finding {
  terms: { field: string; value: string }[]
  where: string
  inside: number
  outside: number
  share_inside: number
  share_outside: number
  /** Null where there are none outside. */
  ratio: number | null
  g: number
  q: number
  /** Clauses that most of its lines meet too. */
  companions: string[]
}

export interface Explanation extends Marked {
  inside: number
  outside: number
  statistic: string
  /** How many values and pairs were compared. */
  tried: number
  seconds: number
  /** What a finding has at least, in words. */
  least?: string
  /** Lines whose value of a field is not listed one by one: it was not tried. */
  unknown?: { field: string; inside: number; outside: number }[]
  rows: Finding[]
}

/** A span of time in which something is unusual. */
export interface UnusualSpan {
  from: number
  to: number
  kind: 'errors' | 'refused' | 'slower' | 'larger' | 'more' | 'fewer'
  /** What happened, without its time. */
  text: string
  filter: string
}

export interface Findings extends Marked {
  findings: UnusualSpan[]
  /** Lines that there was no room for. */
  dropped: number
  complete: boolean
}

export interface RateRow {
  value: string
  hits: number
  peak_second: number
  peak_second_at: number
  peak_minute: number
  peak_minute_at: number
}

export interface Rates extends Marked {
  seconds: number
  /** Lines of clients that are not listed one by one: they are in no other number. */
  unknown?: number
  rows: RateRow[]
  blocked: { requests: number; values: number } | null
}

/** What the rows of a value are measured by. */
export type Metric =
  | 'hits'
  | 'errors'
  | 'error_rate'
  | 'refused'
  | 'p50'
  | 'p95'
  | 'p99'
  | 'max'
  | 'total'
  | 'bytes'
  | 'clients'
  | 'first'
  | 'last'
  | 'trend'
export type SortMetric = Exclude<Metric, 'trend'>

/** A value with its metrics; null are those that were not asked for, and those that none of its rows has. */
export type BreakdownValue = {
  value: string
  filter: string
  hits: number
  share: number
  /** Rows by bucket of time. */
  trend: number[] | null
} & Record<Exclude<SortMetric, 'hits'>, number | string | null>

export interface Breakdown extends Marked {
  seconds: number
  field: string
  sort: SortMetric
  /** Of the view. */
  rows: number
  distinct: number
  /** A part of it by which it may be wrong; 0 where it is exact. */
  distinct_error: number
  /** Only so many values were sorted, those with most rows; null: all. */
  ranked: number | null
  measure: { field: string; unit: string } | null
  /** A part of a quantile; a text where it is no finite number. */
  measure_error: number | string
  /** A part of a number of clients, two standard deviations; 0 where all are exact. */
  clients_error: number
  has_status: boolean
  has_bytes: boolean
  has_clients: boolean
  /** Axis of the trends; null where no row has a time. */
  from: number | null
  bucket_seconds: number | null
  values: BreakdownValue[]
  /** Rows with none of the values that are listed. */
  others: number
}

export interface BreakdownQuestion extends Selection {
  field: string
  sort: SortMetric
  show: Metric[]
  measure: string | null
  limit: number
}

/** Metrics of buckets of time; a list has a number for each, null where it has none. */
export interface TimeSeries extends Marked {
  seconds: number
  /** Of the view. */
  rows: number
  measure: { field: string; unit: string } | null
  /** A part of a quantile; a text where it is no finite number. */
  measure_error: number | string
  /** A part of a number of clients, two standard deviations; 0 where all are exact. */
  clients_error: number
  /** Start of the first bucket; null where no row has a time. */
  from: number | null
  bucket_seconds: number | null
  buckets: number
  metrics: Partial<Record<SortMetric, (number | string | null)[]>>
}

export interface TimeSeriesQuestion extends Selection {
  show: SortMetric[]
  measure: string | null
  bucket_seconds: number
}

/** A filter or a span of time that a typed text may mean, with its rows. */
export interface Suggestion {
  label: string
  where: string
  from: number | null
  to: number | null
  hits: number
  exact: boolean
  /** The column that was taken for one with a similar name. */
  meant: string | null
  /** The text is this filter. */
  typed: boolean
}

export interface Suggestions {
  fleet?: Fleet
  rows: Suggestion[]
  complete: boolean
  /** Why the text is no filter, where it looks like one; the column counts characters from 0. */
  error: { column: number; message: string } | null
}

export interface Trial {
  format: string
  rows: { fields: Record<string, string> | null; flaw: string | null }[]
}

/** Which page asks: a newer question of the same page makes the server drop the older one. */
const page = pageId()
/** Requests may overtake each other on their way: the server goes by this number. */
let turn = 0

/** `randomUUID` is there only where the page is trusted: on this machine or by TLS. */
function pageId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('')
}

const ask = <T>(id: string, verb: string, body: object, signal: AbortSignal) =>
  call<T>('POST', `${session(id)}/${verb}`, body, signal)

export const viewApi = {
  view: (id: string, question: ViewQuestion, signal: AbortSignal) =>
    ask<View>(id, 'view', { ...question, page, turn: ++turn }, signal),
  panel: (
    id: string,
    question: Selection & { field: string; search: string; offset: number; limit: number; facets: boolean },
    signal: AbortSignal,
  ) => ask<PanelPage>(id, 'panel', question, signal),
  rows: (
    id: string,
    question: Selection & Ordered & { offset: number; limit: number },
    signal: AbortSignal,
  ) => ask<Rows>(id, 'rows', question, signal),
  find: (
    id: string,
    question: Selection &
      Ordered & { match: string | null; places: string[]; after: number | null; backwards: boolean },
    signal: AbortSignal,
  ) => ask<{ row: number | null }>(id, 'find', question, signal),
  /** With `rest`, all of `a` is within `b`, and the order is that of a comparison with the rest of `b`. */
  compare: (
    id: string,
    question: { a: Selection; b: Selection; top: number; rest?: boolean },
    signal: AbortSignal,
  ) => ask<Comparison>(id, 'compare', question, signal),
  explain: (
    id: string,
    question: Selection & { select: Selection; except: string[]; limit: number },
    signal: AbortSignal,
  ) => ask<Explanation>(id, 'explain', question, signal),
  findings: (id: string, signal: AbortSignal) => ask<Findings>(id, 'findings', {}, signal),
  rates: (
    id: string,
    question: Selection & {
      by: string
      limit_per_minute: number | null
      limit_per_second: number | null
      top: number
    },
    signal: AbortSignal,
  ) => ask<Rates>(id, 'rates', question, signal),
  breakdown: (id: string, question: BreakdownQuestion, signal: AbortSignal) =>
    ask<Breakdown>(id, 'breakdown', question, signal),
  timeseries: (id: string, question: TimeSeriesQuestion, signal: AbortSignal) =>
    ask<TimeSeries>(id, 'timeseries', question, signal),
  /** As another page, so that views and suggestions end only their own kind. */
  suggest: (id: string, question: Selection & { text: string; zone_seconds: number }, signal: AbortSignal) =>
    ask<Suggestions>(id, 'suggest', { ...question, page: `${page}-suggest`, turn: ++turn }, signal),
  sql: async (id: string, selection: Selection) =>
    (await call<{ sql: string }>('GET', links.sql(id, selection))).sql,
  tryFormat: (id: string, question: { format: string; lines: string[] }, signal: AbortSignal) =>
    ask<Trial>(id, 'format/try', question, signal),
}

/** A view as the query of an address: what a link downloads. */
export function query(selection: Selection, more: Record<string, string> = {}): string {
  const pairs: [string, string][] = []
  if (selection.from !== null) pairs.push(['from', String(selection.from)])
  if (selection.to !== null) pairs.push(['to', String(selection.to)])
  if (selection.where !== '') pairs.push(['where', selection.where])
  return new URLSearchParams([...pairs, ...Object.entries(more)]).toString()
}

export type RowFormat = 'csv' | 'ndjson' | 'parquet' | 'lines'

export const links = {
  panel: (id: string, selection: Selection, field: string, isFacet: boolean) =>
    `${session(id)}/panel.csv?${query(selection, { field, ...(isFacet ? { facets: 'true' } : {}) })}`,
  rows: (id: string, selection: Selection, format: RowFormat) =>
    `${session(id)}/export?${query(selection, { format })}`,
  report: (id: string, selection: Selection) => `${session(id)}/report.html?${query(selection)}`,
  sql: (id: string, selection: Selection) => `${session(id)}/sql?${query(selection)}`,
}

export const selectionOf = (span: Span | null, where: string): Selection => ({
  from: span?.from ?? null,
  to: span?.to ?? null,
  where,
})
