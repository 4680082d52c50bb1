import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// `RORQUAL=http://127.0.0.1:PORT npm run dev` proxies the API to a running server.
const api = process.env['RORQUAL'] ?? 'http://127.0.0.1:4455'

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // light-dark() stays as written
    assetsInlineLimit: 0, // everything is a file of the same origin: the policy allows no inline code
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': api } },
  test: { include: ['src/**/*.test.ts'] },
})
