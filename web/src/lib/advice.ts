/** What to do with a log that has nothing to explore: no line, a single one, or none that could be read. */

import type { Report, Session } from './api'
import { plural } from './format'
import { quoted } from './takeaway'

export interface Advice {
  kind: 'empty' | 'one' | 'rejected'
  title: string
  text: string
  /** What to type in a shell, on the machine that has the file. */
  command: string | null
  /** What the page has a button for: giving the format, or choosing another file. */
  action: 'format' | 'pick' | null
}

/** Null where there is enough to look at, or lines may come. */
export function adviceOf(session: Session | null, report: Report | null, isTable: boolean): Advice | null {
  if (session?.state !== 'finished' || session.fleet) return null
  const { parsed, rejected, outside } = report?.lines ?? { parsed: 0, rejected: 0, outside: 0 }
  if (parsed + rejected + outside === 0) return emptyAdvice(session, isTable)
  if (parsed === 0 && rejected > 0) return rejectedAdvice(session, report, isTable)
  return parsed === 1 && rejected + outside === 0 ? oneAdvice(session, isTable) : null
}

/** A name that begins with a hyphen would be a flag. */
const files = ({ name, files }: Session) =>
  files ? 'FILE…' : quoted(name.startsWith('-') ? `./${name}` : name)
/** Tables are not followed. */
const follow = (session: Session, isTable: boolean) =>
  isTable ? null : `rorqual serve --follow ${files(session)}`

function emptyAdvice(session: Session, isTable: boolean): Advice {
  const has = isTable ? 'no row' : session.offset === 0 ? 'no lines' : 'only blank lines'
  return {
    kind: 'empty',
    title: `${session.name} is empty.`,
    text: isTable
      ? `It has ${has}.`
      : `It has ${has} so far. If it is still being written, open it so that new lines are shown as they come:`,
    command: follow(session, isTable),
    action: 'pick',
  }
}

function oneAdvice(session: Session, isTable: boolean): Advice {
  const record = isTable ? 'row' : 'line'
  return {
    kind: 'one',
    title: `${session.name} has one ${record}.`,
    text: isTable
      ? 'It is in the table at the bottom.'
      : 'It is in the table at the bottom. If the file is still being written, open it so that new lines are shown as they come:',
    command: follow(session, isTable),
    action: null,
  }
}

function rejectedAdvice(session: Session, report: Report | null, isTable: boolean): Advice {
  const rejects = report?.rejects.samples ?? []
  const formats = [...new Set((report?.sources ?? []).map(({ format }) => format).filter(Boolean))]
  const as = formats.length > 0 ? ` as ${formats.join(', ')}` : ''
  const all = plural(report?.lines.rejected ?? 0, isTable ? 'row' : 'line')
  const first = rejects[0]
  const reason = first ? `Line ${first.line}: ${first.reason}. ` : ''
  return {
    kind: 'rejected',
    title: `Nothing in ${session.name} could be read${as}: ${all} rejected.`,
    text: isTable
      ? reason.trim()
      : `${reason}If it has another format, give its name, or the LogFormat or log_format of the server that wrote it. In a shell:`,
    command: isTable ? null : `rorqual serve --format FORMAT ${files(session)}`,
    action: isTable ? 'pick' : 'format',
  }
}
