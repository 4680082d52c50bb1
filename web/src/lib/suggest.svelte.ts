/** What a typed text may mean, as the server reads and counts it; the newest text wins (latest.ts). */

import { ApiError } from './api'
import { clock, Latest } from './latest'
import { store } from './state.svelte'
import { viewApi, type Selection, type Suggestion, type Suggestions } from './viewapi'

interface Question extends Selection {
  session: string
  text: string
  zone_seconds: number
}

const settleMs = 40

export class Suggester {
  answer = $state.raw<{ text: string; suggestions: Suggestions } | null>(null)
  /** Why there is no answer, in words. */
  trouble = $state<string | null>(null)
  private asked = ''

  private latest = new Latest<Question, Suggestions>({
    send: ({ session, ...question }, signal) => viewApi.suggest(session, question, signal),
    take: (suggestions, { text }) => {
      this.answer = { text, suggestions }
      this.trouble = null
    },
    fail: (error) => {
      const body = error instanceof ApiError ? error.body : { code: 'internal', message: String(error) }
      // An older question overtook this one on its way to the server.
      if (body.code === 'superseded') this.latest.again()
      else this.trouble = body.message
    },
    clock,
    settleMs,
    againMs: 500,
  })

  /** Asks for a text within a view; a blank one is no question. */
  ask(text: string, selection: Selection): void {
    const { session } = store.place
    if (session === null || text.trim() === '') return this.stop()
    // What went wrong with another text says nothing of this one.
    if (text !== this.asked) this.trouble = null
    this.asked = text
    this.latest.ask({ session, ...selection, text, zone_seconds: store.zone })
  }

  stop(): void {
    this.latest.stop()
    this.answer = null
    this.trouble = null
  }
}

export type Verdict =
  /** This suggestion is taken. */
  | { take: Suggestion }
  /** The text is taken for a filter; the server says where it is wrong. */
  | { filter: string }
  /** Nothing is: no row has it. */
  | null

/** What Enter means where no suggestion was chosen. */
export function verdict(text: string, { rows, error }: Suggestions): Verdict {
  const best = rows.find(({ typed, hits }) => typed || hits > 0)
  // One that goes wrong in its middle was meant as a filter, whatever its words may be by themselves.
  if (error !== null && best?.meant == null && (error.column > 0 || !best)) return { filter: text }
  return best ? { take: best } : null
}
