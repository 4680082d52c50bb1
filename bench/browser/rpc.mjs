// Questions and answers by JSON over a WebSocket, as CDP and WebDriver BiDi both have them.
import WebSocket from 'ws';

const MESSAGE_BYTES_MAX = 64 << 20;

// Returns the function that asks. `who` closed the connection, when it does.
export async function connect(url, who) {
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: MESSAGE_BYTES_MAX });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const waiting = new Map();
  socket.on('message', (data) => {
    const { id, error, message, result } = JSON.parse(data);
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error) reject?.(new Error(error.message ?? message));
    else resolve?.(result);
  });
  // A browser that dies must not leave the benchmark waiting.
  socket.on('close', () => waiting.forEach(({ reject }) => reject(new Error(`${who} closed the connection`))));
  let last = 0;
  return (method, params = {}) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });
}
