/** The tool that is open, and what the server answers it: asked anew with every change of the view. */

import { ApiError } from './api'
import { boundTerms } from './box'
import { only, whereOf } from './filter'
import { covers } from './histogram'
import { clock, Latest } from './latest'
import { store } from './state.svelte'
import {
  selectionOf,
  viewApi,
  type Comparison,
  type Explanation,
  type Findings,
  type Rates,
  type Selection,
} from './viewapi'
import { views } from './views.svelte'

const settleMs = 60
const againMs = 2000
/** Findings are of the whole log: each time all of it is looked at. */
const findingsAgainMs = 5000

/** Values of each column whose shares inside and outside are shown. */
const pairedRows = 5

/** Some rows against the others of a selection. */
type ExplainQuestion = Selection & { select: Selection }

/** One tool's answer: of the newest question, with a word on why there is none. */
export class Asked<Q, A> {
  answer = $state.raw<A | null>(null)
  trouble = $state<string | null>(null)
  asking = $state(false)

  private latest: Latest<Q, A>

  constructor(send: (question: Q, signal: AbortSignal) => Promise<A>, again = againMs) {
    this.latest = new Latest<Q, A>({
      send,
      take: (answer) => {
        this.answer = answer
        this.asking = false
        this.trouble = null
      },
      fail: (error) => {
        this.asking = false
        this.answer = null
        this.trouble = error instanceof ApiError ? error.body.message : String(error)
      },
      clock,
      settleMs,
      againMs: again,
    })
  }

  ask(question: Q | null): void {
    if (question === null) {
      this.latest.stop()
      this.answer = null
      this.asking = false
      return
    }
    if (this.latest.ask(question)) this.asking = true
  }

  again(): void {
    this.latest.again()
  }
}

const spanOf = ({ from, to }: Selection) => (from !== null && to !== null ? { from, to } : null)

const everything: Selection = { from: null, to: null, where: '' }

/**
 * What is explained: the span that was selected against the rest of the view; without one the view against the rest
 * of the log. Null where that is everything. A span that is not within the view is set against all times.
 */
export function explained(view: Selection, selected: Selection | null): ExplainQuestion | null {
  if (selected !== null) {
    const holds = covers(spanOf(view), spanOf(selected))
    return { ...(holds ? view : { ...everything, where: view.where }), select: selected }
  }
  const isAll = view.from === null && view.to === null && view.where === ''
  return isAll ? null : { ...everything, select: view }
}

class Tools {
  explain = new Asked<
    { session: string; question: ExplainQuestion & { except: string[]; limit: number } },
    Explanation
  >(({ session, question }, signal) => viewApi.explain(session, question, signal))
  /** The rows that are explained beside those that they are a part of. */
  paired = new Asked<{ session: string; inside: Selection; all: Selection }, Comparison>(
    ({ session, inside: a, all: b }, signal) =>
      viewApi.compare(session, { a, b, top: pairedRows, rest: true }, signal),
  )
  findings = new Asked<{ session: string }, Findings>(
    ({ session }, signal) => viewApi.findings(session, signal),
    findingsAgainMs,
  )
  compare = new Asked<{ session: string; a: Selection; b: Selection }, Comparison>(
    ({ session, a, b }, signal) => viewApi.compare(session, { a, b, top: 10 }, signal),
  )
  rates = new Asked<{ session: string; selection: Selection } & { rates: typeof store.place.rates }, Rates>(
    ({ session, selection, rates: { by, limit } }, signal) =>
      viewApi.rates(
        session,
        {
          ...selection,
          by,
          limit_per_minute: limit?.per === 'minute' ? limit.requests : null,
          limit_per_second: limit?.per === 'second' ? limit.requests : null,
          top: 20,
        },
        signal,
      ),
  )

  askExplain(): void {
    const { session, other, box, terms } = store.place
    const selected = other && selectionOf(other, box ? whereOf([...terms, ...boundTerms(box)]) : views.where)
    const question = explained(views.selection, selected)
    if (session === null || question === null) {
      this.explain.ask(null)
      this.paired.ask(null)
      return
    }
    // The numbers that a box was chosen by say nothing of it.
    const except = box ? [box.field] : []
    this.explain.ask({ session, question: { ...question, except, limit: 20 } })
    const { select: inside, ...all } = question
    this.paired.ask({ session, inside, all })
  }

  /** Of access logs that this server has. */
  hasFindings = $derived(!store.isFleet && store.table === null && (store.session?.columns ?? null) === null)

  /** Once there are lines. */
  askFindings(): void {
    const { session } = store.place
    const hasTimes = store.whole !== null
    this.findings.ask(session !== null && this.hasFindings && hasTimes ? { session } : null)
  }

  askCompare(): void {
    const { session, span, terms, other, pair } = store.place
    if (session !== null && pair) {
      const of = (value: string) => selectionOf(span, whereOf(only(terms, pair.field, value)))
      return this.compare.ask({ session, a: of(pair.a), b: of(pair.b) })
    }
    const b = other && selectionOf(other, views.where)
    this.compare.ask(session !== null && b ? { session, a: views.selection, b } : null)
  }

  askRates(): void {
    const { session, rates } = store.place
    this.rates.ask(session === null ? null : { session, selection: views.selection, rates })
  }
}

export const tools = new Tools()
