/** A format that is being typed, tried on the first lines. */

import { ApiError } from './api'
import { clock, Latest } from './latest'
import { store } from './state.svelte'
import { viewApi, type Trial } from './viewapi'

interface Question {
  session: string
  format: string
  lines: string[]
}

export class FormatTrial {
  answer = $state.raw<Trial | null>(null)
  trouble = $state<string | null>(null)

  private latest = new Latest<Question, Trial>({
    send: ({ session, ...question }, signal) => viewApi.tryFormat(session, question, signal),
    take: (answer) => {
      this.answer = answer
      this.trouble = null
    },
    fail: (error) => {
      this.answer = null
      this.trouble = error instanceof ApiError ? error.body.message : String(error)
    },
    clock,
    settleMs: 200,
    againMs: 1000,
  })

  ask(format: string, lines: string[]): void {
    const { session } = store.place
    if (session !== null && format !== '' && lines.length > 0) {
      this.latest.ask({ session, format, lines })
      return
    }
    this.latest.stop()
    this.answer = null
    this.trouble = null
  }
}
