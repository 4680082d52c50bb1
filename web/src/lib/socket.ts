/** A file through a WebSocket, by a worker (worker/send.ts, which has lib/sender.ts do the work). */

import script from '../worker/send?worker&url'
import type { Order, Report } from '../worker/send'
import type { Reading } from './sender'
import type { Transport } from './transport'

/** The part of `Worker` we need. */
export interface WorkerLike {
  postMessage(message: Order | 'stop'): void
  terminate(): void
  onmessage: ((event: MessageEvent<Report>) => void) | null
  onerror: ((event: ErrorEvent) => void) | null
}

/** A socket that is to be closed says so to the server, and may have to send what it holds first. */
const closeMs = 2000

export const socket =
  (make: () => WorkerLike, origin: string, reading: Reading): Transport =>
  ({ file, from, to, url }, listener) => {
    let worker: WorkerLike
    try {
      worker = make()
    } catch {
      // A policy or a setting of the browser: there is another way.
      queueMicrotask(() => listener.ended({ kind: 'lost' }))
      return () => undefined
    }
    const release = () => {
      worker.onmessage = worker.onerror = null
    }
    worker.onmessage = ({ data }) => {
      if ('outcome' in data) {
        release()
        worker.terminate()
        return listener.ended(data.outcome)
      }
      listener.sent(data.sent)
      listener.taken(data.taken)
    }
    worker.onerror = () => {
      release()
      worker.terminate()
      listener.ended({ kind: 'lost' })
    }
    const address = new URL(url.socket, origin).href.replace(/^http/, 'ws')
    worker.postMessage({ url: address, file: file as Blob, from, to, reading })
    return () => {
      release()
      worker.postMessage('stop')
      setTimeout(() => worker.terminate(), closeMs)
    }
  }

interface Policies {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string }
}

/** The one policy for addresses of scripts that the server's CSP allows; it knows one address. */
let policy: { createScriptURL(url: string): string } | null = null

/** Where there are Trusted Types, a worker takes no other address. */
export function startWorker(): WorkerLike {
  const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes
  policy ??= policies?.createPolicy('rorqual-worker', { createScriptURL: only }) ?? { createScriptURL: only }
  return new Worker(policy.createScriptURL(script), { type: 'module' })
}

function only(url: string): string {
  if (url !== script) throw new TypeError('the page has one worker')
  return url
}
