/** One request whose body is the rest of the file. TCP holds it back where the server is slow. */

import { readError } from './api'
import type { Outcome, Transport } from './transport'

/** The part of `XMLHttpRequest` we need; fetch tells no progress. */
export interface XhrLike {
  open(method: string, url: string): void
  send(body: Blob): void
  abort(): void
  getResponseHeader(name: string): string | null
  readonly status: number
  readonly responseText: string
  readonly upload: { onprogress: ((event: ProgressEvent) => void) | null }
  onload: ((event: ProgressEvent) => void) | null
  onerror: ((event: ProgressEvent) => void) | null
}

/** What is no JSON is not our server's: something in between answers for it. */
function doneOf(text: string): Outcome {
  try {
    return { kind: 'done', answer: JSON.parse(text) }
  } catch {
    return { kind: 'lost' }
  }
}

export const put =
  (make: () => XhrLike): Transport =>
  ({ file, from, to, url }, listener) => {
    const xhr = make()
    xhr.open('PUT', url.put)
    xhr.upload.onprogress = ({ loaded }) => listener.sent(loaded)
    xhr.onload = () => {
      const { status, responseText } = xhr
      if (status === 200) return listener.ended(doneOf(responseText))
      // A date is none of ours.
      const retryAfterMs = 1000 * (Number(xhr.getResponseHeader('Retry-After')) || 0)
      listener.ended({ kind: 'refused', status, error: readError(responseText, status), retryAfterMs })
    }
    xhr.onerror = () => listener.ended({ kind: 'lost' })
    // A slice, never the bare File: Chromium sends it twice as fast.
    xhr.send(file.slice(from, to))
    return () => {
      xhr.onload = xhr.onerror = xhr.upload.onprogress = null
      xhr.abort()
    }
  }
