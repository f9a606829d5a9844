import { describe, expect, it } from 'vitest'
import { eventBodyFiles, refresh, render, renderable } from '../../scripts/docs/api-tables.js'
import { operations } from '../../src/api/operations/table.js'
import { eventNames } from '../../src/api/webhooks/events.js'

// What the tables say is in the documents: a check compares them with what is generated.
describe('rendering a reference document', () => {
  it('prints tables whose rows all have the same number of cells', () => {
    for (const name of renderable)
      for (const table of render(name).split('\n\n'))
        expect(new Set(table.split('\n').map((row) => row.split(/(?<!\\)\|/).length)).size).toBe(1)
  })

  it('prints every field of the bodies once, with its type', () => {
    const fields = render('event-fields')
    expect(fields).not.toContain('undefined')
    const rows = fields.split('\n').map((row) => row.split(' | ').slice(0, 2).join())
    expect(new Set(rows).size).toBe(rows.length)
  })

  it('prints every event, and every operation that starts one', () => {
    const events = render('events')
    for (const name of eventNames()) expect(events).toContain(`| \`${name}\` |`)
    for (const { method, path, starts } of operations())
      expect(events.includes(`\`${method} ${path}\``)).toBe(starts !== undefined)
  })

  it('writes a file with the body of every event', () => {
    const bodies = eventBodyFiles().map(({ text }) => JSON.parse(text) as { event: string })
    expect(bodies.map(({ event }) => event)).toEqual(eventNames())
  })
})

describe('refreshing a document', () => {
  const stale = 'Before\n\n<!-- generated:a -->\nold\n<!-- /generated -->\n\nAfter\n'
  const fresh = 'Before\n\n<!-- generated:a -->\n\nnew $1\n\n<!-- /generated -->\n\nAfter\n'

  it('replaces only what is between the markers, of each part', () => {
    expect(refresh(stale, { a: 'new $1' })).toBe(fresh)
    expect(refresh(fresh, { a: 'new $1' })).toBe(fresh)
    const document = `${stale}${stale.replace(':a', ':b')}${stale}`
    expect(refresh(document, { a: '1', b: '2' }).match(/^\d$/gm)).toEqual(['1', '2', '1'])
  })

  it('refuses a marker that is never closed, before anything is lost', () => {
    expect(() => refresh('<!-- generated:a -->\nrest\n', { a: 'x' })).toThrow('has no <!-- /generated -->')
    expect(() => refresh(`<!-- generated:a -->\n${stale}`, { a: 'x' })).toThrow('has no <!-- /generated -->')
  })

  it('refuses a name without generated text', () => {
    expect(() => refresh(stale, {})).toThrow('<!-- generated:a -->')
    expect(() => render('toString')).toThrow(renderable.join(', '))
  })
})
