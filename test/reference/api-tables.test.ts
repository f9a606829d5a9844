import { describe, expect, it } from 'vitest'
import { eventBodyFiles, refresh, render, renderable } from '../../scripts/docs/api-tables.js'
import { errors } from '../../src/api/calls/errors.js'
import { operations } from '../../src/api/operations/table.js'
import { eventNames } from '../../src/api/webhooks/events.js'

const rowsOf = (table: string) => table.split('\n').filter((line) => line.startsWith('| `'))

describe('rendering a reference document', () => {
  it('prints every operation with its price and counters', () => {
    const rows = rowsOf(render('operations'))
    expect(rows).toHaveLength(operations().length)
    expect(rows.find((row) => row.includes('/accounts/company_hiring'))).toBe(
      '| `POST /accounts/company_hiring` | `accounts hiring` | Open job postings of a company | 1 credit per job |  | 5 per second |',
    )
    expect(rows.find((row) => row.includes('`POST /leads`'))).toContain(
      '| profiles per day | 1 per second and plan |',
    )
  })

  it('prints every price and no free operation', () => {
    const prices = render('prices')
    expect(rowsOf(prices)).toHaveLength(13)
    expect(prices).toContain('3 credits per email, 3 credits per personal email, 30 credits per phone')
    expect(prices).not.toContain('free')
  })

  it('prints plans with the same limits in one row', () => {
    const limits = render('limits')
    expect(limits).toContain('| Free | 1 | 50 | 50 | 200 | 50 |')
    expect(limits).toContain(
      '| Advanced, Professional, Growth, Boost | 100 | 2,500 | 2,500 | 25,000 | 5,000 |',
    )
    expect(limits).toContain(
      '| Scale, Enterprise, Agency, Team | 1,000 | 10,000 | 10,000 | 100,000 | 20,000 |',
    )
  })

  it('prints limits of endpoints, and both when live: false changes them', () => {
    const limits = render('limits')
    expect(limits).toContain('| `POST /accounts/` | 20 per minute and plan |')
    expect(limits).toContain('| `POST /leads/search` | none; with live: false: plan |')
    expect(limits).not.toContain('`GET /lists`')
  })

  it('prints every error', () => {
    const table = render('errors')
    for (const [name, row] of Object.entries(errors)) {
      expect(table).toContain(`| ${row.status} | \`${name}\` |`)
      expect(table).toContain(row.text)
    }
  })

  it('writes a file with the body of every event', () => {
    const bodies = eventBodyFiles().map(({ text }) => JSON.parse(text) as { event: string })
    expect(bodies.map(({ event }) => event)).toEqual(eventNames())
  })

  it('prints every event with its fields and sources', () => {
    const events = render('events')
    for (const name of eventNames()) expect(events).toContain(`| \`${name}\` |`)
    expect(events).toContain(
      '| `stack_import.record` | A record was found; only with streaming: true | `ordinal`, `account`, `technologies_found` |',
    )
    expect(events).toContain('| `contact_enrichment.completed` | The work is done | the contact |')
    expect(events).toContain('| `list_import.*` | `POST /lists` |')
    for (const { method, path, starts } of operations())
      expect(events.includes(`\`${method} ${path}\``)).toBe(starts !== undefined)
  })

  it('prints every field of the bodies once, with its type', () => {
    const fields = render('event-fields')
    expect(fields).toContain('| the body | `id` | uuid |')
    expect(fields).toContain('| `lead`, in `leads` | `phones` | array |')
    expect(fields).toContain('| the body | `company` | object or null |')
    expect(fields).toContain('| the contact | `status` | `pending`, `finished` |')
    expect(fields).not.toContain('undefined')
    const rows = fields.split('\n').map((row) => row.split(' | ').slice(0, 2).join())
    expect(new Set(rows).size).toBe(rows.length)
  })

  it('prints tables whose rows all have the same number of cells', () => {
    for (const name of renderable)
      for (const table of render(name).split('\n\n'))
        expect(new Set(table.split('\n').map((row) => row.split(/(?<!\\)\|/).length)).size).toBe(1)
  })

  it('names the known parts when asked for an unknown one', () => {
    expect(() => render('toString')).toThrow(
      'operations, prices, limits, exit-codes, errors, events, event-fields',
    )
  })
})

describe('refreshing a document', () => {
  const stale = 'Before\n\n<!-- generated:a -->\nold\n<!-- /generated -->\n\nAfter\n'
  const fresh = 'Before\n\n<!-- generated:a -->\n\nnew $1\n\n<!-- /generated -->\n\nAfter\n'

  it('replaces only what is between the markers', () => {
    expect(refresh(stale, { a: 'new $1' })).toBe(fresh)
  })

  it('leaves a current document as it is', () => {
    expect(refresh(fresh, { a: 'new $1' })).toBe(fresh)
  })

  it('replaces several parts, also of the same name', () => {
    const document = `${stale}${stale.replace(':a', ':b')}${stale}`
    expect(refresh(document, { a: '1', b: '2' }).match(/^\d$/gm)).toEqual(['1', '2', '1'])
  })

  it('leaves a document without markers as it is', () => {
    expect(refresh('# Title\n', {})).toBe('# Title\n')
  })

  it('refuses a marker that is never closed, before anything is lost', () => {
    expect(() => refresh('<!-- generated:a -->\nrest\n', { a: 'x' })).toThrow('has no <!-- /generated -->')
    expect(() => refresh(`<!-- generated:a -->\n${stale}`, { a: 'x' })).toThrow('has no <!-- /generated -->')
  })

  it('refuses a name without generated text', () => {
    expect(() => refresh(stale, {})).toThrow('<!-- generated:a -->')
  })
})
