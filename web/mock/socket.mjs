// As much of a WebSocket's server as the mock needs: payloads as they come, texts, and an end. No extensions, no checks.

import { createHash } from 'node:crypto'

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Answers an upgrade. `heard(kind, payload)` is called for each frame, with kind 1 (text), 2 (binary) or 8 (close). */
export function accept(req, socket, heard) {
  const key = createHash('sha1')
    .update(req.headers['sec-websocket-key'] + guid)
    .digest('base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
  )
  let held = Buffer.alloc(0)
  let message = 0
  socket.on('data', (data) => {
    held = Buffer.concat([held, data])
    for (let frame = take(held); frame; frame = take(held)) {
      held = held.subarray(frame.bytes)
      if (frame.opcode > 0 && frame.opcode < 8) message = frame.opcode
      heard(frame.opcode || message, frame.payload)
    }
  })
  socket.on('error', () => socket.destroy())
  return {
    say: (object) => write(socket, 0x81, Buffer.from(JSON.stringify(object))),
    close(code) {
      const payload = Buffer.alloc(2)
      payload.writeUInt16BE(code)
      write(socket, 0x88, payload)
      socket.end()
    },
  }
}

/** The first frame, where all of it is there. */
function take(held) {
  if (held.length < 2) return null
  const short = held[1] & 0x7f
  const head = { 126: 4, 127: 10 }[short] ?? 2
  if (held.length < head + 4) return null
  const length =
    short === 126 ? held.readUInt16BE(2) : short === 127 ? Number(held.readBigUInt64BE(2)) : short
  if (held.length < head + 4 + length) return null
  const mask = held.subarray(head, head + 4)
  const payload = Buffer.from(held.subarray(head + 4, head + 4 + length))
  for (let at = 0; at < length; at++) payload[at] ^= mask[at % 4]
  return { opcode: held[0] & 0x0f, payload, bytes: head + 4 + length }
}

function write(socket, first, payload) {
  const head = Buffer.from(payload.length < 126 ? [first, payload.length] : [first, 126, 0, 0])
  if (payload.length >= 126) head.writeUInt16BE(payload.length, 2)
  socket.write(Buffer.concat([head, payload]))
}
