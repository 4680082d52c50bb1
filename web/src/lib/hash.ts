/** What the address bar holds: the session and the view of it, so that Back and a bookmark work. */

import type { Span } from './histogram'

export interface Place {
  session: string | null
  span: Span | null
}

export function readHash(hash: string): Place {
  const fields = new URLSearchParams(hash.replace(/^#/, ''))
  const from = Number(fields.get('from') ?? Number.NaN)
  const to = Number(fields.get('to') ?? Number.NaN)
  const span = Number.isFinite(from) && Number.isFinite(to) && from < to ? { from, to } : null
  return { session: fields.get('s') || null, span }
}

export function writeHash({ session, span }: Place): string {
  if (session === null) return '#'
  const view = span === null ? '' : `&from=${span.from}&to=${span.to}`
  return `#s=${encodeURIComponent(session)}${view}`
}
