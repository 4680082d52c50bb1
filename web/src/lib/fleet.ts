/** The peers of a session that shows logs of other servers. Pure: knows no DOM. */

import { percent } from './format'

export interface Peer {
  name: string
  /** When last known. */
  rows: number | null
  /** Of the rows of all peers when last known. */
  share: number | null
  /** Why it is not in the numbers; null where it is. */
  error: string | null
  missing_seconds: number | null
}

export interface Fleet {
  /** All peers are in the numbers. */
  complete: boolean
  rows_missing: number
  peers: Peer[]
}

/** `4 peers`, or `3 of 4 peers`. */
export function peersText({ peers }: Fleet): string {
  const live = peers.filter(({ error }) => error === null).length
  const all = peers.length === 1 ? '1 peer' : `${peers.length} peers`
  return live === peers.length ? all : `${live} of ${all}`
}

/** The peers that are in no number, with their share and why; null where all are. */
export function missingText({ peers }: Fleet): string | null {
  const missing = peers.filter(({ error }) => error !== null)
  if (missing.length === 0) return null
  const told = missing.map(({ name, share, error }) => {
    const part = share === null ? 'unknown share' : `${percent(share, 1)} of all rows`
    return `${name} (${part}): ${error}`
  })
  return `The numbers are without ${told.join('; ')}`
}
