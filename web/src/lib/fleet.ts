/** The peers of a session that shows logs of other servers. Pure: knows no DOM. */

import type { Distinct } from './api'
import { percent, relative } from './format'

export interface Peer {
  name: string
  /** When last known. */
  rows: number | null
  /** Of the rows of all peers when last known. */
  share: number | null
  /** Why not all of its rows are in the numbers; null where they are. */
  error: string | null
  /** Null where it is not missing: it may still have a part of its log only. */
  missing_seconds: number | null
}

export interface Fleet {
  /** All rows of all peers are in the numbers. */
  complete: boolean
  rows_missing: number
  peers: Peer[]
}

/** Why a button does nothing here: these questions need the rows, and servers have only their own. */
export const fleetCannot = 'Not for logs of several servers yet: ask a peer itself'

/** `4 peers`, or `3 of 4 peers`. */
export function peersText({ peers }: Fleet): string {
  const live = peers.filter(({ error }) => error === null).length
  const all = peers.length === 1 ? '1 peer' : `${peers.length} peers`
  return live === peers.length ? all : `${live} of ${all}`
}

const troubled = ({ peers }: Fleet) => peers.filter(({ error }) => error !== null)

/** The peers whose rows are not all in the numbers, with their share and why; null where all are. */
export function missingText(fleet: Fleet): string | null {
  const told = troubled(fleet).map(({ name, share, error, missing_seconds }) => {
    if (missing_seconds === null) return `${name} ${error}`
    const part = share === null ? 'its share is unknown' : `it had ${percent(share, 1)} of all rows`
    return `${name} is missing (${part}): ${error}`
  })
  return told.length === 0 ? null : told.join('; ')
}

/** The same without what changes while they are: it is said aloud once for each set of peers. */
export function missingNames(fleet: Fleet): string | null {
  const names = troubled(fleet).map(({ name }) => name)
  if (names.length === 0) return null
  return `Not all rows are in the numbers: those of ${names.join(', ')} are missing, or a part of them`
}

/** The peers whose rows are in the numbers: while these are the same, rows keep their order. */
export const liveKey = (fleet: Fleet | undefined) =>
  fleet === undefined
    ? ''
    : JSON.stringify(fleet.peers.filter((peer) => peer.missing_seconds === null).map(({ name }) => name))

/** Why a number of distinct values is not exact, in words; null where it is. */
export function distinctDoubt({ exact, error }: Distinct, fleet: Fleet | undefined): string | null {
  if (exact) return null
  const said = [
    error > 0 && `${relative(error)}, two standard deviations`,
    fleet?.complete === false && 'peers that are missing may have more values',
  ].filter(Boolean)
  return said.join('; ') || 'there may be more values'
}

/** Stands before it: an estimate may be too high, while what is missing only adds to it. */
export const distinctSign = ({ exact, error }: Distinct) => (exact ? '' : error > 0 ? '≈ ' : '≥ ')
