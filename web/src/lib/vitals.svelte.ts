/** How the server is, asked once a second while somebody looks. */

import { api, ApiError, type Vitals } from './api'
import { withPoint, type Point } from './history'

const everyMs = 1000

const series = {
  resident: (vitals: Vitals) => vitals.resident_bytes,
  rate: (vitals: Vitals) => vitals.bytes_per_second,
  pool: (vitals: Vitals) => vitals.pool_lent_bytes,
  connections: (vitals: Vitals) => vitals.connections.known,
}
export type Series = keyof typeof series

class Pulse {
  vitals = $state.raw<Vitals | null>(null)
  history = $state.raw<Record<Series, Point[]>>({ resident: [], rate: [], pool: [], connections: [] })
  trouble = $state<string | null>(null)

  /** Returns what ends it. */
  watch(): () => void {
    void this.look()
    const timer = setInterval(() => {
      if (!document.hidden) void this.look()
    }, everyMs)
    return () => clearInterval(timer)
  }

  private async look(): Promise<void> {
    try {
      this.take(await api.vitals())
      this.trouble = null
    } catch (error) {
      this.trouble = error instanceof ApiError ? error.message : String(error)
    }
  }

  private take(vitals: Vitals): void {
    this.vitals = vitals
    const at = performance.now() / 1000
    const grown = Object.entries(series).map(([name, value]) => {
      const now = value(vitals)
      const before = this.history[name as Series]
      return [name, now === null ? before : withPoint(before, { at, value: now })]
    })
    this.history = Object.fromEntries(grown) as Record<Series, Point[]>
  }
}

export const pulse = new Pulse()
