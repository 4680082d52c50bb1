/** Whether a file is the one that a session was begun with: by its name, its size, and what its first MiB hashes to. */

import type { Session } from './api'
import { bytes } from './format'

/** The part of `File` we need. */
export interface FileLike {
  readonly name: string
  readonly size: number
  readonly lastModified: number
  slice(start: number, end?: number): Blob
}

export const prefixBytes = 1 << 20

/** Other clients may have kept something else there. */
const scheme = 'sha-256:1MiB:'

/** As the server keeps it; null where the browser hashes nothing (a page that came neither by https nor from this machine). */
export async function fingerprint(
  file: Pick<FileLike, 'slice'>,
  subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle,
): Promise<string | null> {
  try {
    const prefix = await file.slice(0, prefixBytes).arrayBuffer()
    const digest = await subtle?.digest('SHA-256', prefix)
    return digest ? scheme + hex(digest) : null
  } catch {
    return null // who sends the file will hear that it can't be read
  }
}

const hex = (digest: ArrayBuffer) =>
  [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** A session into which the rest of a file may be sent. */
export const isOpen = ({ state }: Session) => state === 'interrupted' || state === 'waiting'

/** What tells a file from the one of a session, in words that follow on "it is not the same:"; empty where it may be the same. */
export function differences(
  session: Pick<Session, 'name' | 'size' | 'fingerprint'>,
  file: FileLike,
  print: string | null,
): string[] {
  const said: string[] = []
  if (file.name !== session.name) said.push(`its name is ${file.name}, not ${session.name}`)
  if (session.size !== null && file.size !== session.size)
    said.push(`it has ${sizes(file.size, session.size)}`)
  else if (print !== null && session.fingerprint?.startsWith(scheme) && print !== session.fingerprint)
    said.push('it begins with other bytes')
  return said
}

/** Two sizes that are written the same are told apart by their bytes. */
function sizes(has: number, had: number): string {
  if (bytes(has) !== bytes(had)) return `${bytes(has)}, not ${bytes(had)}`
  return `${has.toLocaleString('en-US')} bytes, not ${had.toLocaleString('en-US')}`
}

/** The session that a picked file goes on in: one that was cut off, of the same file. Newest first. */
export function resumable(
  file: FileLike,
  print: string | null,
  sessions: Session[],
  busy: (id: string) => boolean,
): Session | null {
  const same = (session: Session) =>
    isOpen(session) &&
    session.size !== null &&
    !busy(session.id) &&
    differences(session, file, print).length === 0
  return sessions.find(same) ?? null
}
