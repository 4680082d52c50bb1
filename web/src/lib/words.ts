/** What the page says about a session: exact, and with what to do next. */

import type { Report, Session, SessionState } from './api'
import { missingText } from './fleet'
import { bytes, count, percent, plural } from './format'
import { reconnectMs, type UploadState } from './upload'
import type { Marked, View } from './viewapi'

export type Action = 'resume' | 'now' | 'again' | 'pick' | 'format' | 'proxy'

export interface Notice {
  tone: 'note' | 'warn' | 'bad'
  text: string
  actions: Action[]
}

/** What the server says, and what only this page knows. */
export type ShownState = SessionState | 'paused'

const stateWords: Record<ShownState, string> = {
  waiting: 'Waiting for bytes',
  receiving: 'Arriving',
  following: 'Live',
  interrupted: 'Interrupted',
  paused: 'Paused',
  finished: 'Finished',
  cancelled: 'Cancelled',
  failed: 'Failed',
}

export const stateWord = (state: ShownState) => stateWords[state]

/** What the page shows as the state: our own upload knows of a lost connection before the server does. */
export function shownState(session: Session, upload: UploadState | null): ShownState {
  if (upload?.phase === 'paused' && !isEnded(session)) return 'paused'
  const here = upload !== null && ['waiting', 'interrupted', 'failed'].includes(upload.phase)
  return here && (session.state === 'receiving' || session.state === 'waiting')
    ? 'interrupted'
    : session.state
}

const isEnded = ({ state }: Session) => ['finished', 'cancelled', 'failed'].includes(state)

/** `so far, 43 %`: every partial total says that it is one. */
export function soFar(session: Session, view: Pick<View, 'complete'> | null = null): string | null {
  // The last lines came, and were not counted yet.
  if (session.state === 'finished') return view?.complete === false ? 'so far' : null
  if (session.state === 'following') return 'so far'
  const part = percent(session.offset, session.size)
  if (session.state === 'cancelled' || session.state === 'failed') {
    return part === null ? `of the first ${bytes(session.offset)}` : `of the first ${part}`
  }
  return part === null ? 'so far' : `so far, ${part}`
}

/** What stands beside counts that are not exact; null where they are, also where a hint says that they took longer. */
export function inexact(answer: Marked | null): string | null {
  if (answer?.exact !== false) return null
  const missing = answer.fleet && missingText(answer.fleet)
  if (missing) return `not exact: ${missing}`
  const moved = answer.fleet ? 'lines came while they were counted, or ' : ''
  return answer.hint || `not exact: ${moved}some texts were too long to be kept whole`
}

/** How far a log of several files has come: `file 2 of 5: access.log.1`. */
export function filesText(files: NonNullable<Session['files']>, isOver: boolean): string {
  const { count: all, read, failed, current } = files
  if (isOver || current === null)
    return `${count(all)} files${failed > 0 ? `, ${count(failed)} not read to the end` : ''}`
  return `file ${count(Math.min(read + 1, all))} of ${count(all)}: ${current}`
}

/** Guesses of formats that not all first lines fit, the worst first: of several files by name, so many of them. */
export function doubtText(
  sources: Pick<Report['sources'][number], 'name' | 'guess'>[],
  named: number,
): string | null {
  const doubtful = sources
    .flatMap(({ name, guess }) => (guess && guess.sound < guess.lines ? [{ name, ...guess }] : []))
    .sort((a, b) => a.sound / a.lines - b.sound / b.lines)
  if (doubtful.length === 0) return null
  const said = doubtful.slice(0, named).map(({ name, sound, lines }, index) => {
    const file = sources.length > 1 ? `${name} ` : ''
    return index === 0
      ? `${file}fits ${count(sound)} of the first ${count(lines)} lines`
      : `${file}${count(sound)} of ${count(lines)}`
  })
  const rest = doubtful.length - said.length
  return [...said, ...(rest > 0 ? [`${plural(rest, 'more file')} not all`] : [])].join(', ')
}

const times = (n: number) => (n === 1 ? 'once' : n === 2 ? 'twice' : `${count(n)} times`)

/** How much of a file the cache had; null where all of it was read. */
export function reopened({ reopened: known, offset }: Session): string | null {
  if (!known) return null
  const read = Math.max(0, offset - known.kept_bytes)
  const rest = read > 0 ? `, ${bytes(read)} were read` : ''
  return `Reopened: the rows of ${bytes(known.kept_bytes)} were kept${rest}.`
}

/** What became of a file that is followed; null where it only grew. */
export function followed({ follow }: Session): string | null {
  if (!follow) return null
  const { truncations, rotations, missing } = follow
  const said = [
    truncations > 0 &&
      `The file was cut ${times(truncations)} and read from its new start; what was counted before stays.`,
    rotations > 0 && `Another file took its name ${times(rotations)} and was read on.`,
    missing && 'No file has its name now; the one that was opened is still read.',
  ]
  return said.filter(Boolean).join(' ') || null
}

/** A session that was just made gets its bytes in a moment; saying that it has none would only flicker. */
const waitingMs = 2000

/** The one thing most worth saying, or null when all goes well. `nowMs` is the upload's clock. */
export function notice(
  session: Session,
  upload: UploadState | null,
  lost: boolean,
  nowMs: number,
): Notice | null {
  return (
    failure(session, upload) ?? interruption(session, upload, nowMs) ?? doubt(session, upload, lost, nowMs)
  )
}

function failure(session: Session, upload: UploadState | null): Notice | null {
  const error = upload?.phase === 'failed' ? upload.error : session.state === 'failed' ? session.error : null
  const kept = session.offset > 0 ? ` What was read up to ${bytes(session.offset)} stays below.` : ''
  if (error?.code === 'unknown_format' && error.message.includes(', and no access log. ')) {
    // An archive, a picture, another log: what it is, and the way on. No format would read it.
    return { tone: 'bad', text: error.message.split('\n', 1).join(''), actions: ['pick'] }
  }
  if (error?.code === 'unknown_format') {
    return {
      tone: 'bad',
      text: 'The format of this log was not recognised from its first lines.',
      actions: ['format'],
    }
  }
  if (error?.code === 'file_changed')
    return { tone: 'bad', text: `${error.message}.${kept}`, actions: ['pick'] }
  if (error?.code === 'no_session') {
    const text = 'The server no longer knows this session. Drop the file again to read it from the start.'
    return { tone: 'bad', text, actions: ['pick'] }
  }
  if (error?.code === 'bad_input' && (session.files?.failed ?? 0) > 0) {
    // The other files were read to their end.
    return { tone: 'bad', text: `${error.message.split('\n').join(' ')}.`, actions: [] }
  }
  if (error || session.state === 'failed') {
    return {
      tone: 'bad',
      text: `Reading stopped: ${error?.message ?? 'no reason given'}.${kept}`,
      actions: ['pick'],
    }
  }
  if (session.state === 'cancelled' || upload?.phase === 'cancelled') {
    const of = session.size === null ? '' : ` of ${bytes(session.size)}`
    const text = `Cancelled at ${bytes(session.offset)}${of}. What was read until then stays below.`
    return { tone: 'note', text, actions: [] }
  }
  return null
}

function interruption(session: Session, upload: UploadState | null, nowMs: number): Notice | null {
  const at = bytes(upload ? Math.max(upload.offset, session.offset) : session.offset)
  if (session.state === 'finished') return null
  if (upload?.phase === 'waiting') {
    const seconds = upload.retryAt === null ? 0 : Math.ceil((upload.retryAt - nowMs) / 1000)
    const when = seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again now.'
    const what =
      upload.error?.code === 'busy'
        ? `Another upload of this log is running, or its end was not noticed yet (at ${at}).`
        : `${pauseWords(upload)} at ${at}.`
    return { tone: 'warn', text: `${what} ${when}`, actions: ['now'] }
  }
  if (upload?.phase === 'paused') {
    const minutes = Math.ceil(session.expires_seconds / 60)
    const text = `Paused at ${at}. Resume goes on from there; the server keeps what it has for ${minutes} min.`
    return { tone: 'note', text, actions: ['resume'] }
  }
  if (upload?.phase === 'interrupted') {
    const what =
      upload.error?.code === 'busy'
        ? 'Another upload of this log is running'
        : `${pauseWords(upload)} at ${at}`
    return { tone: 'warn', text: `${what}. Resume goes on from there.`, actions: ['resume'] }
  }
  const mine = upload?.phase === 'sending'
  if (mine) return null
  if (session.state === 'interrupted') {
    const text = `Connection lost at ${at}. Drop the same file again to go on from there.`
    return { tone: 'warn', text, actions: ['again'] }
  }
  if (session.state === 'waiting' && performance.timeOrigin + nowMs > 1000 * session.created + waitingMs) {
    return { tone: 'note', text: `No bytes yet. Drop ${session.name} to send it.`, actions: ['again'] }
  }
  return null
}

const pauseWords = (upload: UploadState) =>
  upload.error?.code === 'interrupted' ? 'Nothing was sent for too long' : 'Connection lost'

function doubt(session: Session, upload: UploadState | null, lost: boolean, nowMs: number): Notice | null {
  if (upload?.quietSince != null) {
    const seconds = Math.floor((nowMs - upload.quietSince) / 1000)
    const text = `The server takes nothing since ${seconds} s, at ${bytes(session.offset)}. After ${reconnectMs / 1000} s a new connection goes on from there.`
    return { tone: 'warn', text, actions: ['now'] }
  }
  if (upload?.heldBack) {
    const text =
      session.state === 'finished'
        ? 'Something between this page and rorqual kept the log until it had all of it. Behind nginx, these lines let it through as it comes:'
        : `Something between this page and rorqual keeps the log until it has all of it: nothing has reached the server yet. Behind nginx, these lines let it through as it comes:`
    return { tone: 'warn', text, actions: ['proxy'] }
  }
  if (upload?.changed && session.state === 'finished') {
    const what = upload.error
      ? `${upload.error.message}: `
      : 'The file changed on disk while it was being sent: '
    const text = `${what}this report may mix its old and its new content.`
    return { tone: 'warn', text, actions: [] }
  }
  if (lost) {
    return {
      tone: 'warn',
      text: 'rorqual does not answer. The numbers below are the last it sent.',
      actions: [],
    }
  }
  return null
}

/** Problems that belong to no session. */
export function problemText(
  code: string,
  message: string,
  sessionsMax: number | null,
  file: string | null,
): string {
  const first = file === null ? '' : `${file} was not opened: `
  switch (code) {
    case 'sessions_full':
      return sentence(
        `${first}all ${sessionsMax === null ? '' : `${count(sessionsMax)} `}sessions are in use. Close one, then try again`,
      )
    case 'other_file':
      return sentence(message)
    case 'no_answer':
      return sentence(`${first}rorqual does not answer. Is it still running?`)
    case 'http_401':
    case 'no_token':
      return 'This page needs the whole link that rorqual printed, with its token.'
    case 'no_session':
    case 'http_404':
      return 'The server no longer knows that session. Drop the file again to read it anew.'
    default:
      return sentence(first + message)
  }
}

/** A name keeps its letters; a message of the server begins as a sentence does. */
function sentence(text: string): string {
  const begins = /^\S+\.\S/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)
  return /[.?]$/.test(begins) ? begins : `${begins}.`
}
