/**
 * The one store. What it holds, a sentence each:
 *
 * - `server`    limits and memory, from the newest answer that had them
 * - `sessions`  all sessions of the server, as of the last look
 * - `place`     which session and which span of time is shown; mirrors the address bar
 * - `live`      the newest session and report of the place, at most one change per painted frame
 * - `lost`      the live events broke off and have not come back
 * - `zoomed`    the histogram of the place's span, when it is zoomed
 * - `uploads`   what this page itself sends, by session
 * - `queue`     files picked that wait for the one being sent
 * - `problem`   what could not be done, in words, until the next attempt
 */

import { SvelteMap } from 'svelte/reactivity'
import { api, ApiError, follow, type Histogram, type Live, type Server, type Session } from './api'
import { readHash, writeHash, type Place } from './hash'
import { wholeSpan, type Span } from './histogram'
import { resumable, Upload, type Env, type UploadState } from './upload'

export interface Problem {
  code: string
  message: string
  /** The file that could not be started, to try again with. */
  file: File | null
}

interface OwnUpload {
  upload: Upload
  state: UploadState
  /** The file was modified between the part sent before a reload and now. */
  modifiedSince: boolean
}

const zoomEveryMs = 500
const sessionsEveryMs = 3000
const createAgainMs = 500

const env: Env = {
  xhr: () => new XMLHttpRequest(),
  session: async (id) => (await api.session(id)).session,
  cancel: (id) => api.cancel(id),
  readable: async (file, offset) => {
    try {
      return (await file.slice(offset, offset + 1).arrayBuffer()).byteLength === 1
    } catch {
      return false
    }
  },
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

class Store {
  server = $state.raw<Server | null>(null)
  sessions = $state.raw<Session[]>([])
  place = $state.raw<Place>({ session: null, span: null })
  live = $state.raw<Live | null>(null)
  lost = $state(false)
  zoomed = $state.raw<{ span: Span; histogram: Histogram } | null>(null)
  uploads = new SvelteMap<string, OwnUpload>()
  queue = $state.raw<File[]>([])
  problem = $state.raw<Problem | null>(null)
  ready = $state(false)

  session = $derived(
    this.live?.session ?? this.sessions.find((session) => session.id === this.place.session) ?? null,
  )
  report = $derived(this.live?.report ?? null)
  upload = $derived(this.place.session === null ? null : (this.uploads.get(this.place.session) ?? null))
  arriving = $derived(this.session !== null && !ended(this.session))
  /** The time the log covers so far; zooming stays inside it. */
  whole = $derived(this.report?.histogram ? wholeSpan(this.report.histogram) : null)

  /** How many buckets the histogram has room for; the drawing says. */
  private buckets = 400
  private unfollow: (() => void) | null = null
  private newest: Live | null = null
  private painting = false
  private zoomTimer: ReturnType<typeof setTimeout> | null = null
  private zoomBusy = false
  private starting = false
  /** The first of the files picked shows itself; those after it wait in the list. */
  private showNext = false

  // ---- where we are ----

  async start(): Promise<void> {
    addEventListener('hashchange', () => this.goTo(readHash(location.hash)))
    await this.look()
    const place = readHash(location.hash)
    const newest = this.sessions[0]
    // A session given on the command line shows by itself.
    if (place.session === null && newest && location.hash === '') {
      this.show({ session: newest.id, span: null }, 'replace')
    } else this.goTo(place)
    this.ready = true
    setInterval(() => void this.lookAgain(), sessionsEveryMs)
  }

  show(place: Place, how: 'push' | 'replace' = 'push'): void {
    const hash = writeHash(place)
    const depth = this.depth()
    if (hash !== location.hash && how === 'push') history.pushState({ depth: depth + 1 }, '', hash)
    else if (hash !== location.hash) history.replaceState({ depth }, '', hash)
    this.goTo(place)
  }

  /** The view before, but never out of the page. */
  back(): void {
    if (this.depth() > 0) history.back()
  }

  private depth(): number {
    return (history.state as { depth?: number } | null)?.depth ?? 0
  }

  open(id: string): void {
    this.show({ session: id, span: null })
  }

  home(): void {
    this.problem = null
    this.show({ session: null, span: null })
  }

  zoom(span: Span | null): void {
    this.show({ session: this.place.session, span })
  }

  private goTo(place: Place): void {
    const before = this.place
    this.place = place
    if (place.session !== before.session) this.attach(place.session)
    if (place.span === null) this.zoomed = null
    else this.fetchZoom()
  }

  // ---- what the server tells ----

  private attach(id: string | null): void {
    this.unfollow?.()
    this.unfollow = null
    this.live = this.newest = this.zoomed = null
    this.lost = false
    if (id === null) return void this.look()
    this.unfollow = follow(id, {
      live: (live) => this.receive(live),
      end: () => {
        this.lost = false
        void this.look()
      },
      lost: () => {
        this.lost = true
        void this.checkKnown(id)
      },
    })
  }

  /** A session that was forgotten never comes back: say so instead of trying for ever. */
  private async checkKnown(id: string): Promise<void> {
    try {
      await api.session(id)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 0 || this.place.session !== id) return
      this.unfollow?.()
      this.unfollow = null
      this.lost = false
      this.complain(error, null)
      if (error.status === 404 && this.live === null) {
        this.show({ session: null, span: null }, 'replace')
      }
    }
  }

  /** Keeps the newest only, and takes it over once per painted frame. */
  private receive(live: Live): void {
    this.newest = live
    if (this.painting) return
    this.painting = true
    const take = () => {
      this.painting = false
      if (this.newest?.session.id === this.place.session) this.take(this.newest)
    }
    // A hidden page paints no frames, but its uploads still need to know.
    if (document.hidden) setTimeout(take, 250)
    else requestAnimationFrame(take)
  }

  private take(live: Live): void {
    this.live = live
    this.server = live.server
    this.lost = false
    this.uploads.get(live.session.id)?.upload.serverSays(live.session)
    if (this.place.span !== null) this.fetchZoom()
  }

  private async look(): Promise<void> {
    try {
      const [server, sessions] = await Promise.all([api.server(), api.sessions()])
      this.server = server
      this.sessions = sessions
      for (const session of sessions) this.uploads.get(session.id)?.upload.serverSays(session)
      if (this.problem?.code === 'no_answer' && this.problem.file === null) this.problem = null
    } catch (error) {
      this.complain(error, null)
    }
  }

  /** Other sessions move too while they are being sent; when nothing is, there is nothing to ask. */
  private async lookAgain(): Promise<void> {
    const moving = this.sessions.some((session) => !ended(session)) || this.problem?.code === 'no_answer'
    if (moving && !document.hidden) await this.look()
  }

  // ---- zoom ----

  setBuckets(buckets: number): void {
    if (buckets === this.buckets) return
    this.buckets = buckets
    if (this.place.span !== null) this.fetchZoom(true)
  }

  /** The first at once, then at most one every half second, never two on their way. */
  private fetchZoom(fresh = !sameSpan(this.zoomed?.span ?? null, this.place.span)): void {
    if (this.zoomBusy || (this.zoomTimer !== null && !fresh)) return
    if (this.zoomTimer !== null) clearTimeout(this.zoomTimer)
    this.zoomTimer = setTimeout(() => void this.fetchZoomNow(), fresh ? 0 : zoomEveryMs)
  }

  private async fetchZoomNow(): Promise<void> {
    this.zoomTimer = null
    const { session, span } = this.place
    if (session === null || span === null) return
    this.zoomBusy = true
    try {
      const histogram = await api.histogram(session, span.from, span.to, this.buckets)
      if (session === this.place.session && sameSpan(span, this.place.span)) this.zoomed = { span, histogram }
    } catch (error) {
      if (error instanceof ApiError && error.status > 0) this.complain(error, null)
    }
    this.zoomBusy = false
    if (!sameSpan(span, this.place.span) && this.place.span !== null) this.fetchZoom()
  }

  // ---- what the reader does ----

  /** Files one after another, each its own session; a file that was cut off goes on in the one it had. */
  pick(files: Iterable<File>): void {
    this.problem = null
    this.queue = [...this.queue, ...files]
    this.showNext = true
    void this.next()
  }

  async sample(): Promise<void> {
    this.problem = null
    this.showNext = true
    try {
      this.opened(await api.sample())
    } catch (error) {
      this.complain(error, null)
    }
  }

  private async next(): Promise<void> {
    if (this.starting) return
    this.starting = true
    try {
      await this.startNext()
    } finally {
      this.starting = false
    }
  }

  private async startNext(): Promise<void> {
    const [file, ...rest] = this.queue
    const busy = [...this.uploads.values()].some(
      ({ state }) => state.phase === 'sending' || state.phase === 'waiting',
    )
    if (!file || busy) return
    this.queue = rest
    await this.sendWhereItBelongs(file)
  }

  private async sendWhereItBelongs(file: File): Promise<void> {
    await this.look()
    const cutOff = resumable(file, this.sessions, (id) => isActive(this.uploads.get(id)?.state))
    if (cutOff) this.send(file, cutOff)
    else await this.sendNew(file, null)
  }

  /** Asked for by the reader: it shows itself. */
  sendAgain(file: File, format: string | null): Promise<void> {
    this.problem = null
    this.showNext = true
    return this.sendNew(file, format)
  }

  private async sendNew(file: File, format: string | null): Promise<void> {
    try {
      this.send(file, await this.create(file, format))
    } catch (error) {
      this.complain(error, file)
    }
  }

  /** Once more if no answer came: a browser does not repeat a POST on a connection that was closed while idle. */
  private async create(file: File, format: string | null): Promise<Session> {
    try {
      return await api.create(file.name, file.size, format)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 0) throw error
      await new Promise((go) => setTimeout(go, createAgainMs))
      return api.create(file.name, file.size, format)
    }
  }

  private send(file: File, session: Session): void {
    const { id } = session
    this.uploads.get(id)?.upload.drop()
    const upload = new Upload(file, id, env, (state) => {
      const own = this.uploads.get(id)
      if (own?.upload === upload) this.uploads.set(id, { ...own, state })
      if (state.phase !== 'sending' && state.phase !== 'waiting') void this.next()
    })
    const modifiedSince = session.offset > 0 && modified(id, file)
    this.uploads.set(id, { upload, state: upload.state, modifiedSince })
    remember(id, file)
    upload.start(session.offset)
    this.opened(session)
  }

  private opened(session: Session): void {
    this.sessions = [session, ...this.sessions.filter(({ id }) => id !== session.id)]
    if (this.place.session === session.id) this.attach(session.id)
    else if (this.showNext || this.place.session === null) this.open(session.id)
    this.showNext = false
  }

  resume(): void {
    if (this.upload) void this.upload.upload.retry()
  }

  async cancel(): Promise<void> {
    const { session } = this
    if (!session) return
    try {
      if (this.upload && isActive(this.upload.state)) await this.upload.upload.cancel()
      else await api.cancel(session.id)
    } catch (error) {
      this.complain(error, null)
    }
  }

  /** The same file in a new session, read as the reader says. */
  async retryAs(format: string): Promise<void> {
    const file = this.upload?.upload.file
    const { session } = this
    if (!(file instanceof File)) return
    await this.sendAgain(file, format)
    if (session && this.place.session !== session.id) await this.remove(session.id)
  }

  async remove(id: string): Promise<void> {
    this.uploads.get(id)?.upload.drop()
    this.uploads.delete(id)
    try {
      await api.remove(id)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) this.complain(error, null)
    }
    this.sessions = this.sessions.filter((session) => session.id !== id)
    const newest = this.sessions[0]
    if (this.place.session === id) this.show({ session: newest?.id ?? null, span: null }, 'replace')
  }

  private complain(error: unknown, file: File | null): void {
    const body = error instanceof ApiError ? error.body : { code: 'internal', message: String(error) }
    this.problem = { code: body.code, message: body.message, file }
  }
}

export const ended = (session: Session) => ['finished', 'cancelled', 'failed'].includes(session.state)

const isActive = (state: UploadState | undefined) =>
  state !== undefined && ['sending', 'waiting', 'interrupted'].includes(state.phase)

const sameSpan = (a: Span | null, b: Span | null) => a?.from === b?.from && a?.to === b?.to

// The server knows name and size of a file; that it was modified between two parts only we can see.
const key = (id: string) => `rorqual.modified.${id}`

function remember(id: string, file: File): void {
  try {
    sessionStorage.setItem(key(id), String(file.lastModified))
  } catch {
    // No storage: then this one check is missing.
  }
}

function modified(id: string, file: File): boolean {
  try {
    const before = sessionStorage.getItem(key(id))
    return before !== null && before !== String(file.lastModified)
  } catch {
    return false
  }
}

export const store = new Store()
