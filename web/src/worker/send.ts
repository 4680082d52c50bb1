/** The worker of lib/socket.ts: what is read here holds up no frame of the page. */

import { Sender, sliced, streamed, type Reading, type Source } from '../lib/sender'
import type { Outcome } from '../lib/transport'

export interface Order {
  url: string
  file: Blob
  from: number
  to: number
  reading: Reading
}

export type Report = { sent: number; taken: number } | { outcome: Outcome }

const tell = (report: Report) => postMessage(report)

function sourceOf({ file, from, to, reading }: Order): Source {
  return reading === 'stream' ? streamed(file.slice(from, to)) : sliced(file, from, to)
}

let sender: Sender | null = null

addEventListener('message', ({ data }: MessageEvent<Order | 'stop'>) => {
  if (data === 'stop') return sender?.stop()
  const socket = new WebSocket(data.url)
  const listener = {
    progress: (sent: number, taken: number) => tell({ sent, taken }),
    ended: (outcome: Outcome) => tell({ outcome }),
  }
  const sleep = (ms: number) => new Promise<void>((go) => setTimeout(go, ms))
  sender = new Sender(socket, sourceOf(data), data.from, data.to, listener, sleep)
})
