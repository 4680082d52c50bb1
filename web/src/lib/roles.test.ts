import { describe, expect, it } from 'vitest'
import { gradeOf, guess } from './roles'

const text = (name: string) => ({ name, kind: 'text' as const, unit: null })
const number = (name: string, unit = 'integer') => ({ name, kind: 'number' as const, unit })

describe('roles', () => {
  it('are guessed by name, kind and values', () => {
    expect(guess(number('@timestamp', 'time'), [])).toBe('time')
    expect(guess(number('ts', 'time'), [])).toBe('time')
    expect(guess(number('ts', 'float'), [])).toBe('none')
    expect(guess(text('log.level'), ['info', 'WARN'])).toBe('severity')
    expect(guess(text('severity'), [])).toBe('severity')
    // A level of a building is none.
    expect(guess(text('level'), ['ground', 'first'])).toBe('none')
    expect(guess(text('kind'), ['error', 'info', ''])).toBe('severity')
    expect(guess(text('kind'), ['error'])).toBe('none')
    expect(guess(text('msg'), ['x'])).toBe('message')
    expect(guess(number('duration_ms', 'float'), [])).toBe('duration')
    expect(guess(number('took', 'float'), [])).toBe('duration')
    expect(guess(text('duration_ms'), [])).toBe('none')
    expect(guess(number('status'), [])).toBe('status')
    expect(guess(number('bytes'), [])).toBe('size')
    expect(guess(text('ip'), ['10.0.0.1', '2001:db8::1'])).toBe('client')
    expect(guess(text('host'), ['web-1'])).toBe('none')
    expect(guess(text('user_agent'), [])).toBe('agent')
    expect(guess(text('request-id'), [])).toBe('id')
    expect(guess(text('userId'), [])).toBe('id')
    expect(guess({ ...text('pattern'), content: 'pattern' }, [])).toBe('pattern')
    expect(guess(text('pattern'), [])).toBe('none')
    expect(guess(text('paid'), [])).toBe('none')
    expect(guess(number('time'), [])).toBe('none')
    expect(guess(text('name'), [])).toBe('none')
    expect(guess(text('-'), [])).toBe('none')
  })

  it('say how bad a severity is', () => {
    expect(['ERROR', 'warn', 'Info', 'debug', '?'].map(gradeOf)).toEqual([
      '5xx',
      '4xx',
      '2xx',
      '3xx',
      'other',
    ])
  })
})
