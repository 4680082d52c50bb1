/** Whether a file on disk is still the one that was picked. A browser may say nothing at all when it is cut under an upload (Firefox). */

import { bytes } from './format'
import type { FileLike } from './recognise'

export interface Picked {
  readonly size: number
  readonly lastModified: number
}

/** What the file is now, as far as the browser lets us know; no size where it can't be read. */
export interface Change {
  size: number | null
  lastModified: number | null
}

/** Null while nothing is different. `again` reads its entry in the folder anew, where the browser has a way to. */
export async function changeOf(
  file: FileLike,
  picked: Picked,
  again: (() => Promise<FileLike>) | null,
): Promise<Change | null> {
  const now = again ? await again().catch(() => null) : file
  if (now === null) return { size: null, lastModified: null }
  const { size, lastModified } = now
  if (size !== picked.size || lastModified !== picked.lastModified) return { size, lastModified }
  if (size === 0 || (await isReadable(file, size - 1))) return null
  return { size: await lengthOf(file, size), lastModified: null }
}

async function isReadable(file: Pick<FileLike, 'slice'>, at: number): Promise<boolean> {
  try {
    return (await file.slice(at, at + 1).arrayBuffer()).byteLength === 1
  } catch {
    return false
  }
}

/** Where a file ends that was longer: by halves, a byte each. Null where it has no byte that can be read. */
export async function lengthOf(file: Pick<FileLike, 'slice'>, was: number): Promise<number | null> {
  let [there, gone] = [-1, was - 1]
  while (gone - there > 1) {
    const middle = Math.floor((there + gone) / 2)
    if (await isReadable(file, middle)) there = middle
    else gone = middle
  }
  return there < 0 ? null : there + 1
}

/** `was 1.50 GiB of 2026-11-22 09:12:03, is 1.20 GiB` */
export function changeWords(picked: Picked, change: Change): string {
  const was = `was ${sizeWords(picked.size, change.size)} of ${stamp(picked.lastModified)}`
  if (change.size === null) return `${was}, and can no longer be read: it was changed, moved or removed`
  const of = change.lastModified === null ? '' : ` of ${stamp(change.lastModified)}`
  const grows =
    change.size > picked.size
      ? '; a log that is still written is followed on its own machine, or copied first'
      : ''
  return `${was}, is ${sizeWords(change.size, picked.size)}${of}${grows}`
}

/** Exact where the other would be written the same. */
const sizeWords = (size: number, other: number | null) =>
  other !== null && other !== size && bytes(size) === bytes(other)
    ? `${size.toLocaleString('en-US')} bytes`
    : bytes(size)

/** By the reader's clock, as folders show it. */
const stamp = (ms: number) => new Date(ms).toLocaleString('sv-SE')
