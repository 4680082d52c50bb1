import svelte from 'eslint-plugin-svelte'
import globals from 'globals'
import ts from 'typescript-eslint'
import svelteConfig from './svelte.config.js'

export default ts.config(
  { ignores: ['dist/', 'node_modules/'] },
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: {
      parserOptions: { extraFileExtensions: ['.svelte'], parser: ts.parser, svelteConfig },
    },
  },
  {
    rules: {
      'svelte/no-at-html-tags': 'error', // log text is only ever text
      'no-eval': 'error',
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'log text is only ever text' },
        { property: 'outerHTML', message: 'log text is only ever text' },
      ],
    },
  },
)
