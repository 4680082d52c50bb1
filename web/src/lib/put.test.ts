import { expect, test } from 'vitest'
import { put, type XhrLike } from './put'
import type { Outcome } from './transport'

class FakeXhr implements XhrLike {
  status = 0
  responseText = ''
  said: string[] = []
  aborted = false
  headers: Record<string, string> = {}
  upload: XhrLike['upload'] = { onprogress: null }
  onload: XhrLike['onload'] = null
  onerror: XhrLike['onerror'] = null
  open(method: string, url: string) {
    this.said.push(`${method} ${url}`)
  }
  send(body: Blob) {
    this.said.push(String(body))
  }
  abort() {
    this.aborted = true
  }
  getResponseHeader(name: string) {
    return this.headers[name] ?? null
  }
}

function begin() {
  const xhr = new FakeXhr()
  const outcomes: Outcome[] = []
  const sent: number[] = []
  const file = { size: 10, slice: (from: number, to: number) => `${from}-${to}` as unknown as Blob }
  const stop = put(() => xhr)(
    { file, from: 4, to: 10, url: { put: '/there', socket: '/elsewhere' } },
    { sent: (bytes) => sent.push(bytes), taken: () => undefined, ended: (outcome) => outcomes.push(outcome) },
  )
  return { xhr, outcomes, sent, stop }
}

test('the rest of the file is the body, as a slice', () => {
  const { xhr, sent, outcomes } = begin()
  expect(xhr.said).toEqual(['PUT /there', '4-10'])
  xhr.upload.onprogress?.({ loaded: 3 } as ProgressEvent)
  expect(sent).toEqual([3])
  Object.assign(xhr, { status: 200, responseText: '{"state":"finished"}' })
  xhr.onload?.({} as ProgressEvent)
  expect(outcomes).toEqual([{ kind: 'done', answer: { state: 'finished' } }])
})

test('a refusal keeps its status, its error and when to come back', () => {
  const { xhr, outcomes } = begin()
  xhr.headers['Retry-After'] = '3'
  Object.assign(xhr, { status: 503, responseText: '<html>no</html>' })
  xhr.onload?.({} as ProgressEvent)
  const error = { code: 'http_503', message: 'the server answered 503' }
  expect(outcomes).toEqual([{ kind: 'refused', status: 503, error, retryAfterMs: 3000 }])
})

test('a connection that breaks is lost; one that is stopped says nothing', () => {
  const { xhr, outcomes } = begin()
  xhr.onerror?.({} as ProgressEvent)
  expect(outcomes).toEqual([{ kind: 'lost' }])
  const stopped = begin()
  stopped.stop()
  expect([stopped.xhr.aborted, stopped.xhr.onerror, stopped.xhr.onload]).toEqual([true, null, null])
})
