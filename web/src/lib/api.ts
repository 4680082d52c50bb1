/** The server's contract (docs/api.md) in types, and the few calls the page makes. */

import type { TableColumn } from './fields'
import type { Fleet } from './fleet'
import type { Part } from './together'
import type { Way } from './transport'

export type SessionState =
  'waiting' | 'receiving' | 'following' | 'interrupted' | 'finished' | 'cancelled' | 'failed'

export interface ServerError {
  code: string
  message: string
  offset?: number
  /** Of a filter that is none: where, in characters from 0. */
  column?: number
  lines?: string[]
}

export interface Session {
  id: string
  name: string
  size: number | null
  state: SessionState
  /** Bytes the parser has taken; where an interrupted upload goes on. */
  offset: number
  rate: number
  eta_seconds: number | null
  error: ServerError | null
  /** What became of a file that is followed; null of other sessions. */
  follow: { truncations: number; rotations: number; missing: boolean } | null
  /** By what its sender knows the file again (recognise.ts). */
  fingerprint: string | null
  created: number
  expires_seconds: number
  /** The files that a log is, where these are several. */
  files: { count: number; read: number; failed: number; current: string | null } | null
  /** A file of the server whose first bytes were not read, as the cache had their rows. */
  reopened: { kept_bytes: number } | null
  /** How many columns a table has; others come where it changes. Null of a log. */
  columns: number | null
  /** How many columns a log has of its own, such as variables of its format; more may turn up. */
  own_columns: number
  /** Of a session that shows logs of other servers. */
  fleet?: Fleet
}

export interface Server {
  version: string
  memory_max_bytes: number
  resident_bytes: number
  peak_bytes: number
  sessions_max: number
  threads: number
}

interface Places {
  taken: number
  places: number
}

/** How the server is. What the system does not tell is null. */
export interface Vitals {
  version: string
  uptime_seconds: number
  memory_max_bytes: number
  resident_bytes: number | null
  peak_bytes: number | null
  open_files: number | null
  threads: number | null
  sessions: Record<SessionState, number>
  sessions_max: number
  sessions_made: number
  received_bytes: number
  bytes_per_second: number
  lines_parsed: number
  lines_repaired: number
  lines_rejected: number
  spilled_bytes: number
  pool_bytes: number
  pool_lent_bytes: number
  connections: { known: number; known_max: number; strangers: number }
  exports: Places
  renders: Places
}

export type StatusClass = '2xx' | '3xx' | '4xx' | '5xx' | 'other'

/** The report's histogram; that of a view (viewapi.ts) is stacked by any field. */
export interface ClassHistogram {
  bucket_seconds: number
  finest_seconds: number
  at: number[]
  series: { class: StatusClass; hits: number[] }[]
}

export interface Row {
  value: string
  hits: number
  bytes: number
  /** Absent where the count is exact by construction (status). */
  hits_max?: number
  hits_min?: number
}

export interface Distinct {
  count: number
  exact: boolean
  error: number
}

export interface Panel {
  field: string
  title: string
  distinct: Distinct
  hits: number
  exact: boolean
  error_max: number
  /** Of values that are not listed one by one; absent where all are. */
  others?: { hits: number; bytes: number }
  rows: Row[]
}

export interface Percentiles {
  count: number
  mean: number
  p50: number
  p90: number
  p95: number
  p99: number
  max: number
}

export interface Sample {
  source: string
  line: number
  offset: number
  reason: string
  text: string
}

export interface Report {
  schema: string
  complete: boolean
  /** Of a session that shows logs of other servers. */
  fleet?: Fleet
  sources: {
    name: string
    format: string
    /** How many of the first lines the format fits; null where it was given. */
    guess?: { lines: number; sound: number; unread: string | null } | null
    bytes: number
    lines: number
    error: string | null
  }[]
  lines: { total: number; parsed: number; repaired: number; rejected: number; outside: number; blank: number }
  bytes_sent: number
  time: { first: number; last: number; zone_seconds: number } | null
  histogram: ClassHistogram | null
  status: Row[]
  clients: Distinct
  panels: Panel[]
  percentiles: {
    bytes: Percentiles | null
    request_time: Percentiles | null
    upstream_time: Percentiles | null
  }
  rejects: { count: number; samples: Sample[] }
  repairs: { count: number; samples: Sample[] }
  stats: {
    seconds: number
    bytes: number
    bytes_per_second: number
    threads: number
    memory_max_bytes: number
    peak_bytes: number
  }
}

export interface Live {
  session: Session
  report: Report | null
  server: Server
}

/** The server's refusal (`status` > 0), or no answer at all (`status` 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: ServerError,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(body.message)
  }
}

export async function call<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const init: RequestInit = signal ? { method, signal } : { method }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { 'Content-Type': 'application/json' }
  }
  let response: Response
  try {
    response = await fetch(path, init)
  } catch {
    throw new ApiError(0, { code: 'no_answer', message: 'rorqual does not answer' })
  }
  const text = await response.text()
  if (!response.ok) {
    const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN)
    throw new ApiError(
      response.status,
      readError(text, response.status),
      Number.isFinite(retryAfter) ? retryAfter : null,
    )
  }
  return (text === '' ? undefined : JSON.parse(text)) as T
}

/** The error in a body, or one made from the status when the body is not ours. */
export function readError(text: string, status: number): ServerError {
  try {
    const error = (JSON.parse(text) as { error?: ServerError }).error
    if (error && typeof error.code === 'string') return error
  } catch {
    // Not JSON: something between us and the server answered.
  }
  return { code: `http_${status}`, message: `the server answered ${status}` }
}

export const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`

export const dataUrl = (id: string, offset: number) => `${session(id)}/data?offset=${offset}`

export const socketUrl = (id: string, offset: number) => `${session(id)}/socket?offset=${offset}`

/** A file that is sent there is counted, and nothing else. */
export const discardUrl: Record<Way, string> = { put: '/api/discard', socket: '/api/discard/socket' }

/** A view with a name; its address is that of the page after `#`, without the session. */
export interface SavedView {
  name: string
  address: string
  saved: number
}

const savedView = (name: string) => `/api/views/${encodeURIComponent(name)}`

export const api = {
  savedViews: () => call<{ kept: boolean; views: SavedView[] }>('GET', '/api/views'),
  saveView: (name: string, address: string) => call<unknown>('PUT', savedView(name), { address }),
  removeView: (name: string) => call<unknown>('DELETE', savedView(name)),
  vitals: () => call<Vitals>('GET', '/api/vitals'),
  server: () => call<Server>('GET', '/api/server'),
  sessions: async () => (await call<{ sessions: Session[] }>('GET', '/api/sessions')).sessions,
  session: (id: string) => call<Live>('GET', session(id)),
  columns: async (id: string) =>
    (await call<{ columns: TableColumn[] }>('GET', `${session(id)}/columns`)).columns,
  create: (
    name: string,
    size: number,
    fingerprint: string | null,
    format: string | null,
    files: Part[] | null,
  ) => call<Session>('POST', '/api/sessions', { name, size, fingerprint, format, ...(files && { files }) }),
  sample: () => call<Session>('POST', '/api/sessions', { sample: true }),
  cancel: (id: string) => call<Session>('POST', `${session(id)}/cancel`),
  remove: (id: string) => call<unknown>('DELETE', session(id)),
}

export interface LiveEvents {
  /** A `Live`, as JSON. */
  live(live: string): void
  end(): void
  /** The stream broke; the browser or we try again. */
  lost(): void
}

const reopenMs = 2000

/**
 * Follows a session. The browser reconnects a broken stream by itself, except after an error status
 * (a restarted server, say): then we open a new one. Returns what stops it.
 */
export function follow(id: string, on: LiveEvents): () => void {
  let source: EventSource
  let timer: ReturnType<typeof setTimeout> | undefined
  const open = () => {
    source = new EventSource(`${session(id)}/live`)
    source.addEventListener('live', (event) => {
      on.live((event as MessageEvent<string>).data)
    })
    source.addEventListener('end', () => {
      source.close()
      on.end()
    })
    source.addEventListener('error', () => {
      on.lost()
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, reopenMs)
    })
  }
  open()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}
