import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type LocalCode, Refusal } from '../../src/api/calls/errors.js'
import { reportOf } from '../../src/cli/messages.js'

/** Codes that never leave the folder they are thrown in. */
const inner = [
  'dashboard.refused',
  'database.copy_differs',
  'engine.not_sent',
  'field.broken_query',
  'record.invalid',
]

it('every refusal has a sentence and an exit code for people', () => {
  const src = join(import.meta.dirname, '../../src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  const texts = files.map((name) => readFileSync(join(src, name), 'utf8'))
  const thrown = texts.flatMap((text) =>
    [...text.matchAll(/new Refusal\(\s*'([a-z]+\.[a-z0-9_]+)'/g)].map(([, code]) => code),
  )
  expect(thrown.length).toBeGreaterThan(80)
  const details = {
    header: [],
    known: [],
    meant: [],
    names: [],
    near: [],
    parts: [],
    some: [],
    readings: [],
    scopes: [],
    cause: new Error('x'),
  }
  const shown = thrown.filter((code) => !inner.includes(code ?? ''))
  expect(shown.filter((code) => !reportOf(new Refusal(code as LocalCode, details)))).toEqual([])
})
