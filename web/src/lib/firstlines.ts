/** The first lines of a file that this page has, to try formats on. */

const headBytes = 64 << 10
const linesMax = 10

interface Head {
  bytes: Uint8Array
  /** They are all of the file. */
  isWhole: boolean
}

/** Whole lines from the start of a file, a gzip file's too; none of a file that is not text, or can't be read. */
export async function firstLines(file: Pick<Blob, 'slice'>): Promise<string[]> {
  try {
    const head = new Uint8Array(await file.slice(0, headBytes).arrayBuffer())
    const isGzip = head[0] === 0x1f && head[1] === 0x8b
    return linesOf(isGzip ? await unpacked(head) : { bytes: head, isWhole: head.length < headBytes })
  } catch {
    return []
  }
}

/** A line without its end is one where the file ends there. */
function linesOf({ bytes, isWhole }: Head): string[] {
  if (bytes.includes(0)) return []
  const lines = new TextDecoder().decode(bytes).split('\n')
  if (!isWhole || lines.at(-1) === '') lines.pop()
  return lines.slice(0, linesMax).map((line) => line.replace(/\r$/, ''))
}

/** The text in the start of a gzip file; the end of that may be missing, which is no error here. */
async function unpacked(head: Uint8Array<ArrayBuffer>): Promise<Head> {
  const reader = new Blob([head]).stream().pipeThrough(new DecompressionStream('gzip')).getReader()
  const pieces: Uint8Array[] = []
  let length = 0
  let isWhole = false
  try {
    while (length < headBytes && !isWhole) {
      const { done, value } = await reader.read()
      isWhole = done
      if (value) {
        pieces.push(value)
        length += value.length
      }
    }
    await reader.cancel()
  } catch {
    // Cut off: what came before is enough.
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return { bytes, isWhole }
}
