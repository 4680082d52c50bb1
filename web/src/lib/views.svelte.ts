/**
 * The view of the session as the server counts it. Asked anew whenever the place changes, and at most twice a second
 * while lines arrive; the newest question wins (latest.ts). Until the first answer, the report stands in for it.
 *
 * - `answer`   the newest answer, and the question it answers
 * - `bad`      the filter that the server could not read, and where
 * - `trouble`  another reason why there is no answer, in words
 * - `asking`   the numbers on the page are not those of the place yet
 */

import { ApiError } from './api'
import { locate, whereOf } from './filter'
import { sameSpan, type Span } from './histogram'
import { clock, Latest } from './latest'
import { reported } from './reported'
import { store } from './state.svelte'
import { selectionOf, topRows, viewApi, type View, type ViewQuestion } from './viewapi'

interface Question extends ViewQuestion {
  session: string
  terms: string[]
}

export interface BadFilter {
  terms: string[]
  term: number
  column: number
  message: string
}

const settleMs = 15
const forgotten = 'The server no longer knows this session. Drop the file again, or start rorqual with it'
const againMs = 500

class Views {
  answer = $state.raw<{ question: Question; view: View } | null>(null)
  bad = $state.raw<BadFilter | null>(null)
  trouble = $state<string | null>(null)
  asking = $state(false)
  /** Of the newest answer: from the question to the answer, in milliseconds. */
  tookMs = $state(0)

  where = $derived(whereOf(store.place.terms))
  selection = $derived(selectionOf(store.place.span, this.where))
  /** What is shown: the answer, or else what the report says of all lines. */
  view = $derived.by<View | null>(() => {
    if (this.answer !== null && this.answer.question.session === store.place.session) return this.answer.view
    return store.report && reported(store.report, store.session?.fleet)
  })
  /** The span and the terms that `view` is of. */
  shown = $derived.by<{ span: Span | null; terms: string[] }>(() => {
    const question = this.answer?.question
    if (question?.session !== store.place.session || question === undefined) return { span: null, terms: [] }
    const { from, to } = question
    return { span: from !== null && to !== null ? { from, to } : null, terms: question.terms }
  })
  /** Whether the numbers are those of the place, or will be soon. */
  isCurrentView = $derived.by(() => {
    const { span, terms } = this.shown
    return this.trouble === null || (sameSpan(span, store.place.span) && sameTerms(terms, store.place.terms))
  })
  isSpanApplied = $derived(this.isCurrentView || sameSpan(this.shown.span, store.place.span))
  private buckets = $state(400)
  /** Changes with every line that came, and with the last. */
  private arrived = $derived(store.report && `${store.report.lines.total} ${store.report.complete}`)
  private begun = $derived((store.report?.lines.total ?? 0) > 0)
  private askedAt = 0
  private latest = new Latest<Question, View>({
    send: ({ session, from, to, where, stack, buckets, top, facets }, signal) =>
      viewApi.view(session, { from, to, where, stack, buckets, top, facets }, signal),
    take: (view, question) => this.take(view, question),
    fail: (error, question) => this.fail(error, question),
    clock,
    settleMs,
    againMs,
  })

  start(): void {
    $effect.root(() => {
      $effect(() => this.ask(this.question()))
      $effect(() => {
        if (this.arrived) this.latest.again()
      })
    })
  }

  setBuckets(buckets: number): void {
    this.buckets = buckets
  }

  private question(): Question | null {
    const { session, terms, stack } = store.place
    if (session === null || !this.begun) return null
    return {
      session,
      terms,
      ...this.selection,
      stack,
      buckets: this.buckets,
      top: topRows,
      facets: true,
    }
  }

  private ask(question: Question | null): void {
    if (question === null) {
      this.latest.stop()
      this.bad = this.trouble = null
      this.asking = false
      if (store.place.session === null) this.answer = null
      return
    }
    if (!this.latest.ask(question)) return
    this.bad = this.trouble = null
    this.asking = true
    this.askedAt = performance.now()
  }

  private take(view: View, question: Question): void {
    if (question.session !== store.place.session) return
    if (this.asking) this.tookMs = performance.now() - this.askedAt
    this.answer = { question, view }
    this.asking = false
    this.bad = null
    this.trouble = null
  }

  private fail(error: unknown, { terms }: Question): void {
    const body = error instanceof ApiError ? error.body : { code: 'internal', message: String(error) }
    // An older question overtook this one on its way to the server.
    if (body.code === 'superseded') return this.latest.again()
    this.asking = false
    if (body.code !== 'bad_filter') {
      this.trouble = body.code === 'no_session' ? forgotten : body.message
      return
    }
    const place = locate(terms, body.column ?? 0)
    this.bad = { terms, term: place?.term ?? 0, column: place?.column ?? 0, message: body.message }
  }

  /** Whether the numbers are of lines that meet a clause of the place, or will be soon. */
  isApplied(term: string): boolean {
    return this.isCurrentView || this.shown.terms.includes(term)
  }

  /** Whether the histogram shown is of the span that is asked for. */
  isCurrent(span: Span | null): boolean {
    return sameSpan(this.shown.span, span)
  }
}

const sameTerms = (a: string[], b: string[]) => JSON.stringify(a) === JSON.stringify(b)

export const views = new Views()
