/** A test of the connection: the same bytes by each way, through all that an upload passes, and dropped by the server. */

import { discardUrl } from './api'
import { transport } from './sending.svelte'
import type { Job, Outcome, Sliceable, Way } from './transport'

export const tested: Way[] = ['put', 'socket']

/** What is sent where no file is chosen; one buffer of randomness over and over, which no proxy makes smaller. */
export const generatedBytes = 256 << 20
const randomBytes = 4 << 20
/** What one call gives. */
const randomAtOnce = 1 << 16

export interface Result {
  bytes: number
  seconds: number
  /** Why there is no figure. */
  trouble: string | null
}

function generated(): Blob {
  const random = new Uint8Array(randomBytes)
  for (let at = 0; at < randomBytes; at += randomAtOnce)
    crypto.getRandomValues(random.subarray(at, at + randomAtOnce))
  return new Blob(Array<Uint8Array<ArrayBuffer>>(generatedBytes / randomBytes).fill(random))
}

const troubles: Record<Exclude<Outcome['kind'], 'done' | 'refused'>, string> = {
  lost: 'nothing came through',
  unreadable: 'the file can no longer be read',
}

class Connection {
  file = $state.raw<File | null>(null)
  running = $state<Way | null>(null)
  /** Of the way that is running, as the browser counts. */
  sent = $state(0)
  size = $state(0)
  results = $state.raw<Partial<Record<Way, Result>>>({})

  private stopSending: (() => void) | null = null

  async start(): Promise<void> {
    this.results = {}
    const source: Sliceable = this.file ?? generated()
    this.size = source.size
    for (const way of tested) {
      this.running = way
      this.sent = 0
      const result = await this.measure(way, source)
      if (this.running === null) return
      this.results = { ...this.results, [way]: result }
    }
    this.running = null
  }

  stop(): void {
    this.stopSending?.()
    this.running = null
  }

  private measure(way: Way, file: Sliceable): Promise<Result> {
    const job: Job = { file, from: 0, to: file.size, url: discardUrl }
    return new Promise((go) => {
      const begun = performance.now()
      const ended = (outcome: Outcome) => {
        const seconds = (performance.now() - begun) / 1000
        const trouble =
          outcome.kind === 'done'
            ? null
            : outcome.kind === 'refused'
              ? outcome.error.message
              : troubles[outcome.kind]
        go({ bytes: trouble === null ? file.size : 0, seconds, trouble })
      }
      this.stopSending = transport[way](job, {
        sent: (bytes) => (this.sent = bytes),
        taken: () => undefined,
        ended,
      })
    })
  }
}

export const connection = new Connection()
