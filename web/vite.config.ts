import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// `RORQUAL=ADDRESS npm run dev` has the API from a running server; ADDRESS is the one that it prints, with its token.
const { origin, searchParams } = new URL(process.env['RORQUAL'] ?? 'http://127.0.0.1:8631')
// The server takes requests for its own name, of its own page.
const headers = { origin, authorization: `Bearer ${searchParams.get('token') ?? ''}` }

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // light-dark() stays as written
    assetsInlineLimit: 0, // everything is a file of the same origin: the policy allows no inline code
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': { target: origin, changeOrigin: true, ws: true, headers } } },
  test: { include: ['src/**/*.test.ts'] },
})
