/** The histogram as a file: what is on the screen, as pixels or as shapes. The drawing says how to make it. */

import { store } from './state.svelte'

export interface Picture {
  canvas(): HTMLCanvasElement
  svg(): string
}

class Pictures {
  source: Picture | null = null

  png(): void {
    this.source?.canvas().toBlob((blob) => blob && save(blob, 'png'), 'image/png')
  }

  svg(): void {
    if (this.source) save(new Blob([this.source.svg()], { type: 'image/svg+xml' }), 'svg')
  }
}

/** A file of the browser, named after the log. */
export function save(blob: Blob, extension: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = `${store.session?.name ?? 'rorqual'}.${extension}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

export const pictures = new Pictures()
