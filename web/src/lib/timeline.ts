/**
 * Undo and redo are the browser's own Back and Forward within a session: one timeline, not two that disagree. Each
 * entry of the history knows how deep it is; this says which steps there are without leaving the session.
 */

export interface Timeline {
  /** Where we are. */
  depth: number
  /** The entry at which this session was opened: undo ends there. */
  base: number
  /** The last entry that was ever made behind this one. */
  furthest: number
}

/** What an entry of the history carries. */
export interface Mark {
  depth: number
  base: number
}

export const begin: Timeline = { depth: 0, base: 0, furthest: 0 }

/** A step that makes an entry, and drops those that were undone. */
export function pushed(timeline: Timeline, otherSession: boolean): Timeline {
  const depth = timeline.depth + 1
  return { depth, base: otherSession ? depth : timeline.base, furthest: depth }
}

/** The browser went to an entry; one without a mark was typed into the address bar. */
export function went(timeline: Timeline, mark: Mark | null): Timeline {
  if (mark === null) return pushed(timeline, true)
  return { ...mark, furthest: Math.max(timeline.furthest, mark.depth) }
}

/** An entry put in place of the one we are at. */
export const replaced = (timeline: Timeline, otherSession: boolean): Timeline =>
  otherSession ? { ...timeline, base: timeline.depth } : timeline

export const canUndo = ({ depth, base }: Timeline) => depth > base
export const canRedo = ({ depth, furthest }: Timeline) => depth < furthest
