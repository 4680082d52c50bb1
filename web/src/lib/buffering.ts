/** Whether something between the page and the server keeps an upload back until it is whole. */

import type { SessionState } from './api'

/** Beyond what kernels on both sides and the browser hold of a connection that nobody reads. */
const heldMin = 16 << 20
/** The same of a connection that the server has begun to read, which may be slow. */
const heldMinReceiving = 64 << 20
/** The head of a request is there sooner. */
const patienceMs = 2000

export interface Sight {
  /** Bytes of this attempt that have left the browser. */
  sent: number
  /** Bytes of it that the server has. */
  taken: number
  /** Since the attempt began. */
  forMs: number
  state: SessionState
}

export function isHeldBack({ sent, taken, forMs, state }: Sight): boolean {
  if (taken > 0 || forMs < patienceMs) return false
  return sent >= (state === 'receiving' ? heldMinReceiving : heldMin)
}

/** What stands between is most often nginx, whose defaults these lines change. `docs/server.md` has the same. */
export const nginxAdvice = `# in http { }: map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
proxy_http_version 1.1;
proxy_set_header Host $http_host;
proxy_set_header Upgrade $http_upgrade;
proxy_set_header Connection $connection_upgrade;
proxy_request_buffering off;
proxy_buffering off;
client_max_body_size 0;
proxy_read_timeout 1h;
proxy_send_timeout 1h;`
