/**
 * The one store. What it holds, a sentence each:
 *
 * - `server`    limits and memory, from the newest answer that had them
 * - `sessions`  all sessions of the server, as of the last look
 * - `place`     which session and which view of it is shown; mirrors the address bar
 * - `timeline`  which steps back and forward there are within the session
 * - `live`      the newest session and report of the place, a few times a second
 * - `table`     the columns of the table that is shown, once they came
 * - `lost`      the live events broke off and have not come back
 * - `uploads`   what this page itself sends, by session
 * - `queue`     files picked that wait for the one being sent
 * - `picked`    several files of which it is asked whether they are one log
 * - `problem`   what could not be done, in words, until the next attempt
 *
 * What the view counts is asked for in `views.svelte.ts`.
 */

import { SvelteMap } from 'svelte/reactivity'
import type { Arrangement } from './arrange'
import { boundTerms, type ValueBounds } from './box'
import { api, ApiError, follow, type Live, type Report, type Server, type Session } from './api'
import { isNumeric, setLogColumns, setTable, type TableColumn } from './fields'
import * as filter from './filter'
import { nowhere, readHash, readWay, writeHash, type Page, type Pair, type Place, type Tool } from './hash'
import { around, snap, wholeSpan, type Span } from './histogram'
import { begin, canRedo, canUndo, pushed, replaced, went, type Mark, type Timeline } from './timeline'
import { prefs } from './prefs.svelte'
import { differences, fingerprint, isOpen, resumable } from './recognise'
import { entries, env } from './sending.svelte'
import { partsOf, together, type Named } from './together'
import { Upload, type UploadState } from './upload'
import type { RowOrder } from './viewapi'

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

const sessionsEveryMs = 3000
const createAgainMs = 500
const liveEveryMs = 300

class Store {
  server = $state.raw<Server | null>(null)
  sessions = $state.raw<Session[]>([])
  place = $state.raw<Place>(nowhere)
  timeline = $state.raw<Timeline>(begin)
  live = $state.raw<Live | null>(null)
  table = $state.raw<TableColumn[] | null>(null)
  /** Columns of a log's own. */
  own = $state.raw<TableColumn[]>([])
  lost = $state(false)
  uploads = new SvelteMap<string, OwnUpload>()
  queue = $state.raw<File[]>([])
  picked = $state.raw<Named[]>([])
  /** The session that the file being chosen is to go on in. */
  wanted: string | null = null
  problem = $state.raw<Problem | null>(null)
  ready = $state(false)

  session = $derived(
    this.live?.session ?? this.sessions.find((session) => session.id === this.place.session) ?? null,
  )
  report = $derived(this.live?.report ?? null)
  upload = $derived(this.place.session === null ? null : (this.uploads.get(this.place.session) ?? null))
  arriving = $derived(this.session !== null && !ended(this.session))
  /** The rows are those of other servers. */
  isFleet = $derived(this.session?.fleet !== undefined)
  /** Lines come for as long as somebody writes them: there is no end to wait for. */
  following = $derived(this.session?.state === 'following')
  /** It has a format, and may be read as another one. */
  canReadAs = $derived(
    !this.isFleet && !this.following && (this.report?.sources ?? []).some(({ format }) => format !== null),
  )
  /** The time the log covers so far; zooming stays inside it. */
  whole = $derived(this.report && spanOf(this.report))
  /** The columns are known: those of a table come apart. */
  isKnown = $derived((this.session?.columns ?? null) === null || this.table !== null)
  /** Seconds east of UTC: that of the log, and that which times are shown in. */
  logZone = $derived(this.report?.time?.zone_seconds ?? 0)
  zone = $derived(this.place.logZone ? this.logZone : 0)
  /** There is a page before this one, and it is ours. */
  canGoBack = $derived(this.timeline.depth > 0)
  canUndo = $derived(canUndo(this.timeline))
  canRedo = $derived(canRedo(this.timeline))

  private unfollow: (() => void) | null = null
  /** The newest live event as it came: most are replaced before anybody could see them, and need no reading. */
  private newest: string | null = null
  private taking: ReturnType<typeof setTimeout> | null = null
  private tookAt = -Infinity
  private starting = false
  /** The number of columns that were asked for. */
  private asked: number | null = null
  /** The first of the files picked shows itself; those after it wait in the list. */
  private showNext = false

  // ---- where we are ----

  async start(): Promise<void> {
    addEventListener('hashchange', () => (this.takeWay(), this.arrive(readHash(location.hash))))
    this.takeWay()
    this.timeline = went(begin, markOf(history.state) ?? { depth: 0, base: 0 })
    await this.look()
    const place = readHash(location.hash)
    const newest = this.sessions[0]
    // A session given on the command line shows by itself.
    if (place.session === null && place.page === null && newest && location.hash === '') {
      this.show({ ...nowhere, session: newest.id }, 'replace')
    } else this.goTo(place)
    this.ready = true
    setInterval(() => void this.lookAgain(), sessionsEveryMs)
  }

  /** A way in the address is a setting, and no place. */
  private takeWay(): void {
    const way = readWay(location.hash)
    if (way === null) return
    prefs.setWay(way)
    const rest = location.hash.replace(/([#&])way=[^&]*&?/, '$1').replace(/[#&]$/, '')
    history.replaceState(history.state, '', rest || location.pathname)
  }

  show(place: Place, how: 'push' | 'replace' = 'push'): void {
    const hash = writeHash(place)
    const other = place.session !== this.place.session
    if (hash !== location.hash && how === 'push') {
      this.timeline = pushed(this.timeline, other)
      history.pushState(this.mark(), '', hash)
    } else if (hash !== location.hash) {
      this.timeline = replaced(this.timeline, other)
      history.replaceState(this.mark(), '', hash)
    }
    this.goTo(place)
  }

  /** The browser went there: Back, Forward, or an address typed. */
  private arrive(place: Place): void {
    const mark = markOf(history.state)
    this.timeline = went(this.timeline, mark)
    if (mark === null) history.replaceState(this.mark(), '')
    // Marks are no step: they stay on the lines while others come and go.
    const kept =
      mark !== null && place.session === this.place.session ? { ...place, marks: this.place.marks } : place
    if (kept !== place) history.replaceState(history.state, '', writeHash(kept))
    this.goTo(kept)
  }

  private mark(): Mark {
    return { depth: this.timeline.depth, base: this.timeline.base }
  }

  /** The view before, but never out of the page. */
  back(): void {
    if (this.timeline.depth > 0) history.back()
  }

  undo(): void {
    if (this.canUndo) history.back()
  }

  redo(): void {
    if (this.canRedo) history.forward()
  }

  open(id: string): void {
    this.show({ ...nowhere, session: id })
  }

  /** What is about the server; Back leads to the log again. */
  visit(page: Page): void {
    this.show({ ...nowhere, page })
  }

  home(): void {
    this.problem = null
    this.show(nowhere)
  }

  // ---- the view ----

  private change(part: Partial<Place>, how: 'push' | 'replace' = 'push'): void {
    this.show({ ...this.place, ...part }, how)
  }

  zoom(span: Span | null): void {
    this.change({ span })
  }

  setTerms(terms: string[], how: 'push' | 'replace' = 'push'): void {
    this.change({ terms: filter.unique(terms) }, how)
  }

  /** A click on a value: only lines with it, or only lines without it. */
  choose(field: string, value: string, negated: boolean): void {
    this.setTerms(filter.toggle(this.place.terms, field, value, negated))
  }

  /** A press in the panel of a field: chooses a value beside the others; what is chosen or excluded no longer is. */
  turn(field: string, value: string): void {
    const isOut = filter.chosen(this.place.terms, field, value) === 'out'
    this.choose(field, value, isOut)
  }

  /** Only lines with this value, whatever of the field was chosen before. */
  only(field: string, value: string): void {
    this.setTerms(filter.only(this.place.terms, field, value))
  }

  /** A click on what is no single value: a clause comes or goes. */
  chooseText(text: string): void {
    this.setTerms(filter.toggleText(this.place.terms, text))
  }

  addTerms(terms: string[]): void {
    this.setTerms(filter.added(this.place.terms, terms))
  }

  /** Everything again. */
  clear(): void {
    this.change({ span: null, terms: [] })
  }

  /** Into a span and a filter at once. */
  narrow(span: Span, terms: string[]): void {
    this.change({ span, terms })
  }

  stackBy(stack: string): void {
    this.change({ stack })
  }

  setLens(lens: Partial<Place['lens']>): void {
    this.change({ lens: { ...this.place.lens, ...lens } }, 'replace')
  }

  turnLog(): void {
    this.change({ isLog: !this.place.isLog }, 'replace')
  }

  turnZone(): void {
    this.change({ logZone: !this.place.logZone }, 'replace')
  }

  /** Opens a tool, on a span where one is given; the one that is open closes. */
  use(tool: Tool | null, other: Span | null = null): void {
    this.change({ tool, other, box: null, pair: null })
  }

  /** Explains a box of a heatmap. */
  explainBox(span: Span, box: ValueBounds): void {
    this.change({ tool: 'explain', other: span, box, pair: null })
  }

  /** Into the box that is explained, and nothing else. */
  filterToBox(): void {
    const { other, box, terms } = this.place
    if (other === null || box === null) return
    this.change({
      span: other,
      terms: filter.added(terms, boundTerms(box)),
      tool: null,
      other: null,
      box: null,
    })
  }

  /** A value of a comparison; one of a column of numbers is how many rows have at least so much. */
  chooseCompared(field: string, value: string, negated: boolean): void {
    if (!value.startsWith('>= ') || !isNumeric(field)) return this.choose(field, value, negated)
    const text = `${filter.writtenField(field)} ${value}`
    this.chooseText(negated ? filter.negate(text) : text)
  }

  /** Zooms to a span and what is beside it, and explains the span. */
  explain(span: Span): void {
    this.zoom(around(span, this.whole))
    this.use('explain', span)
  }

  /** Opens the comparison of the lines with one value of a field and those with another. */
  comparePair(pair: Pair): void {
    this.change({ tool: 'compare', other: null, box: null, pair })
  }

  /** The view and what it is compared with change places. */
  swap(span: Span, other: Span): void {
    this.change({ span, other, box: null })
  }

  /** Columns pinned, hidden, opened, or of another role. */
  arrange(columns: Arrangement): void {
    this.change({ columns })
  }

  /** The order of the lines. */
  sortBy(order: RowOrder | null): void {
    this.change({ order })
  }

  setMarks(marks: string[]): void {
    this.change({ marks }, 'replace')
  }

  /** All lines of a span, or those that meet the terms, in the order of the log. */
  showAround(span: Span, terms: string[]): void {
    this.change({ span, terms, order: null })
  }

  setRates(rates: Place['rates']): void {
    this.change({ rates }, 'replace')
  }

  /** Opens the table of a field's values. */
  showMetrics(field: string): void {
    this.change({ tool: 'metrics', pair: null, metrics: { ...this.place.metrics, field } })
  }

  setMetrics(metrics: Partial<Place['metrics']>): void {
    this.change({ metrics: { ...this.place.metrics, ...metrics } }, 'replace')
  }

  private goTo(place: Place): void {
    const before = this.place
    this.place = place
    if (place.session !== before.session) this.attach(place.session)
  }

  // ---- what the server tells ----

  private attach(id: string | null): void {
    this.unfollow?.()
    this.unfollow = null
    this.live = this.newest = null
    this.tookAt = -Infinity
    if (this.taking !== null) clearTimeout(this.taking)
    this.taking = null
    this.lost = false
    this.takeTable(null)
    if (id === null) return void this.look()
    this.unfollow = follow(id, {
      live: (live) => this.receive(live),
      end: () => {
        this.takeNewest()
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
        this.show(nowhere, 'replace')
      }
    }
  }

  /** Keeps the newest only, and takes it over as often as an eye can read numbers. */
  private receive(live: string): void {
    this.newest = live
    if (this.taking !== null) return
    const pauseMs = this.tookAt + liveEveryMs - performance.now()
    if (pauseMs <= 0) this.takeNewest()
    else this.taking = setTimeout(() => this.takeNewest(), pauseMs)
  }

  private takeNewest(): void {
    if (this.taking !== null) clearTimeout(this.taking)
    this.taking = null
    if (this.newest === null) return
    const live = JSON.parse(this.newest) as Live
    this.newest = null
    this.tookAt = performance.now()
    if (live.session.id === this.place.session) this.take(live)
  }

  private take(live: Live): void {
    this.live = live
    this.server = live.server
    this.lost = false
    this.uploads.get(live.session.id)?.upload.serverSays(live.session)
    const { id, columns, own_columns } = live.session
    const count = columns ?? own_columns
    if ((columns !== null || count > 0) && count !== this.asked)
      void this.askColumns(id, count, columns === null)
  }

  private takeTable(table: TableColumn[] | null): void {
    setTable(table)
    this.table = table
    this.own = []
    if (table === null) this.asked = prefs.tableColumns = null
  }

  private takeOwn(columns: TableColumn[]): void {
    setLogColumns(columns)
    this.own = columns
  }

  private async askColumns(id: string, count: number, isLog: boolean): Promise<void> {
    this.asked = count
    try {
      const columns = await api.columns(id)
      if (this.place.session !== id || this.asked !== count) return
      if (isLog) this.takeOwn(columns)
      else this.takeTable(columns)
    } catch (error) {
      if (this.place.session !== id) return
      // The next live event asks again.
      this.asked = null
      this.complain(error, null)
    }
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

  // ---- what the reader does ----

  /**
   * A file that was cut off goes on in the session it had; of several it is asked whether they are one log. Where one was asked
   * for to go on with, only that one will do.
   */
  pick(files: File[]): void {
    this.pickNamed(files.map((file) => ({ file, name: file.webkitRelativePath || file.name })))
  }

  /** As pick, of files in folders, whose names have the way to them. */
  pickNamed(named: Named[]): void {
    this.problem = null
    const wanted = this.wanted
    this.wanted = null
    const files = named.map(({ file }) => file)
    const asked = this.sessions.find(({ id }) => id === wanted) ?? this.ifOpen(named)
    if (asked) return void this.goOn(asked, asked.files ? [together(named)] : files)
    if (files.length > 1) this.picked = named
    else this.enqueue(files)
  }

  /** The files that were picked, as one log. */
  sendTogether(): void {
    const files = this.picked
    this.picked = []
    if (files.length > 0) this.enqueue([together(files)])
  }

  /** The files that were picked one after another, each its own session. */
  sendSeparately(): void {
    const files = this.picked
    this.picked = []
    this.enqueue(files.map(({ file }) => file))
  }

  leavePicked(): void {
    this.picked = []
  }

  private enqueue(files: File[]): void {
    this.queue = [...this.queue, ...files]
    this.showNext = true
    void this.next()
  }

  /** As pick, of files that were dropped, with their entries where the browser has such. */
  dropped(files: File[], handles: Promise<FileSystemHandle | null>[]): void {
    for (const [at, file] of files.entries()) {
      const handle = handles[at]
      if (handle) {
        entries.set(file, async () => {
          const entry = await handle
          return entry instanceof FileSystemFileHandle ? entry.getFile() : file
        })
      }
    }
    this.pick(files)
  }

  /** The session on the page, where it waits for a file that is called as the one that was picked. */
  private ifOpen(named: Named[]): Session | null {
    const { session } = this
    const free = session && isOpen(session) && !isActive(this.uploads.get(session.id)?.state)
    if (!free) return null
    if (session.files)
      return session.files.count === named.length && together(named).name === session.name ? session : null
    return named.length === 1 && named[0]?.file.name === session.name ? session : null
  }

  /** Sends the rest of a log, if one of the files is that log; else says what is different. */
  private async goOn(session: Session, files: File[]): Promise<void> {
    let said: string[] = []
    for (const file of files) {
      said = differences(session, file, await fingerprint(file))
      if (said.length > 0) continue
      this.showNext = true
      return this.send(file, await this.asOfNow(session))
    }
    const message = `this is not the file that ${session.name} was begun with: ${said.join(', and ')}`
    this.problem = { code: 'other_file', message, file: files[0] ?? null }
  }

  /** Its offset may have moved since it was looked at. */
  private async asOfNow(session: Session): Promise<Session> {
    return (await api.session(session.id).catch(() => null))?.session ?? session
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
    const busy = [...this.uploads.values()].some(({ state }) => isBusy(state))
    if (!file || busy) return
    this.queue = rest
    await this.sendWhereItBelongs(file)
  }

  private async sendWhereItBelongs(file: File): Promise<void> {
    await this.look()
    const print = await fingerprint(file)
    const cutOff = resumable(file, print, this.sessions, (id) => isActive(this.uploads.get(id)?.state))
    if (cutOff) this.send(file, cutOff)
    else await this.sendNew(file, print, null)
  }

  /** Asked for by the reader: it shows itself. */
  async sendAgain(file: File, format: string | null): Promise<void> {
    this.problem = null
    this.showNext = true
    await this.sendNew(file, await fingerprint(file), format)
  }

  private async sendNew(file: File, print: string | null, format: string | null): Promise<void> {
    try {
      this.send(file, await this.create(file, print, format))
    } catch (error) {
      this.complain(error, file)
    }
  }

  /** Once more if no answer came: a browser does not repeat a POST on a connection that was closed while idle. */
  private async create(file: File, print: string | null, format: string | null): Promise<Session> {
    try {
      return await api.create(file.name, file.size, print, format, partsOf(file))
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 0) throw error
      await new Promise((go) => setTimeout(go, createAgainMs))
      return api.create(file.name, file.size, print, format, partsOf(file))
    }
  }

  private send(file: File, session: Session): void {
    const { id } = session
    this.uploads.get(id)?.upload.drop()
    const upload = new Upload(file, id, env, (state) => {
      const own = this.uploads.get(id)
      if (own?.upload === upload) this.uploads.set(id, { ...own, state })
      if (!isBusy(state)) void this.next()
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
    else if (this.showNext || (this.place.session === null && this.place.page === null)) this.open(session.id)
    this.showNext = false
  }

  pause(): void {
    this.upload?.upload.pause()
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
    if (this.place.session === id) this.show({ ...nowhere, session: newest?.id ?? null }, 'replace')
  }

  private complain(error: unknown, file: File | null): void {
    const body = error instanceof ApiError ? error.body : { code: 'internal', message: String(error) }
    this.problem = { code: body.code, message: body.message, file }
  }
}

export const ended = (session: Session) => ['finished', 'cancelled', 'failed'].includes(session.state)

/** The files behind it wait. */
const isBusy = ({ phase }: UploadState) => ['sending', 'waiting', 'paused'].includes(phase)

const isActive = (state: UploadState | undefined) =>
  state !== undefined && ['sending', 'waiting', 'paused', 'interrupted'].includes(state.phase)

/** Whole buckets where the report has them, else whole minutes. */
function spanOf({ histogram, time }: Report): Span | null {
  if (histogram) return wholeSpan(histogram)
  return time && snap({ from: time.first, to: time.last + 1 }, 60)
}

/** What we put into an entry of the history; entries that others made have none. */
function markOf(state: unknown): Mark | null {
  const mark = state as Partial<Mark> | null
  return typeof mark?.depth === 'number' && typeof mark.base === 'number'
    ? { depth: mark.depth, base: mark.base }
    : null
}

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
