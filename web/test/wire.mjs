// The wire between browser and server: a SOCKS5 proxy that can be slow (bytes per second, upwards) or cut.
// The browser's requests pass unchanged, Host and all, so any server can be at the other end.

import net from 'node:net'

export class Wire {
  rate = Infinity
  down = false
  sockets = new Set()

  static async start() {
    const wire = new Wire()
    wire.server = net.createServer((socket) => wire.greet(socket))
    await new Promise((go) => wire.server.listen(0, '127.0.0.1', go))
    wire.port = wire.server.address().port
    return wire
  }

  /** Every connection breaks, and none comes about until the wire is mended. */
  cut() {
    this.down = true
    for (const socket of this.sockets) socket.destroy()
  }

  mend() {
    this.down = false
    this.rate = Infinity
  }

  close() {
    this.cut()
    this.server.close()
  }

  greet(client) {
    client.on('error', () => client.destroy())
    if (this.down) return client.destroy()
    this.hold(client)
    client.once('data', () => {
      client.write(Buffer.from([5, 0])) // no authentication
      client.once('data', (request) => this.connect(client, request))
    })
  }

  /** IPv4 addresses and names only: loopback has no more. */
  connect(client, request) {
    const named = request[3] === 3
    const end = named ? 5 + request[4] : 8
    const host = named ? request.subarray(5, end).toString() : request.subarray(4, 8).join('.')
    const server = net.connect(request.readUInt16BE(end), host)
    this.hold(server)
    server.on('error', () => client.destroy())
    server.on('connect', () => {
      client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
      client.on('data', (chunk) => this.forward(client, server, chunk))
      server.on('data', (chunk) => client.write(chunk))
    })
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  }

  forward(client, server, chunk) {
    server.write(chunk)
    if (!Number.isFinite(this.rate)) return
    client.pause()
    setTimeout(() => client.resume(), (1000 * chunk.length) / this.rate)
  }

  hold(socket) {
    this.sockets.add(socket)
    socket.on('close', () => this.sockets.delete(socket))
  }
}
