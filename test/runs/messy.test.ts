import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { Input } from '../../src/api/calls/caller.js'
import { ApiError } from '../../src/api/calls/errors.js'
import { hashOf } from '../../src/csv/identity-filter.js'
import { execute } from '../../src/runs/execute.js'
import type { ReadRow } from '../../src/runs/input/mapping.js'
import { checkTable, openTable } from '../../src/runs/input/table.js'
import { fileSink } from '../../src/runs/output/writer.js'
import { perFile } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { company, companyBatch, fakeCaller } from './fakes.js'

const folder = perFile(newFolder)

const messy = [
  '"Société";"Site web";"Pays";"Notes";_status',
  'Foo GmbH;https://www.Foo.example/about?x=1;DE;"two',
  'lines; and a ""quote""";old',
  '',
  'Bar;info@bar.example;FR;=SUM(A1);',
  ';;;;',
  'Foo;foo.example;DE;again;',
  'Baz;too;many;cells;;here',
  'Bar SA;bar.example;FR;+33612345678;old',
].join('\r\n')

const enriched = [
  'Société,Site web,Pays,Notes,_status,domain,industry,_error,_credits,_source',
  'Foo GmbH,https://www.Foo.example/about?x=1,DE,"two\r\nlines; and a ""quote""",found,foo.example,Industry of foo.example,,1,lookup',
  "Bar,info@bar.example,FR,'=SUM(A1),found,bar.example,Industry of bar.example,,1,lookup",
  ',,,,invalid,,,Missing required keys: domain,0,',
  'Foo,foo.example,DE,again,found,foo.example,Industry of foo.example,,0,duplicate',
  'Baz,too,many,cells,invalid,,,the row has 6 cells; the header has 5,0,',
  'Bar SA,bar.example,FR,+33612345678,found,bar.example,Industry of bar.example,,0,duplicate',
  '',
].join('\n')

/** The domain in a url or an email. */
const identity = ({ domain }: Input) =>
  /^(?:.*@|https?:\/\/(?:www\.)?)?([^/]+)/.exec(String(domain).toLowerCase())?.[1]

const validate = ({ input }: ReadRow) => {
  if (input.domain === undefined) throw new ApiError('missing_keys', { keys: 'domain' })
}

test.each([
  ['UTF-8', Buffer.from(messy)],
  ['UTF-8 with a mark', Buffer.from(`\ufeff${messy}`)],
  ['UTF-16', Buffer.from(`\ufeff${messy}`, 'utf16le')],
])('a messy file in %s is enriched completely, with each company paid once', async (_, content) => {
  const file = folder.file(content)
  expect(await checkTable(await openTable(file))).toMatchObject({ rows: 6, ragged: 1, firstRagged: 8 })

  const output = folder.at('messy.csv')
  const fake = fakeCaller((input) => company(identity(input)))
  const report = await execute(
    await companyBatch(file, fake.caller, await fileSink(output), { identity, validate }),
  )

  expect(fake.calls.map(({ input }) => input)).toEqual([
    { name: 'Foo GmbH', domain: 'https://www.Foo.example/about?x=1', country: 'DE' },
    { name: 'Bar', domain: 'info@bar.example', country: 'FR' },
  ])
  expect(report).toMatchObject({ rows: 6, found: 4, invalid: 2, duplicates: 2, credits: 2, output })
  expect(await readFile(output, 'utf8')).toBe(enriched)
})

test('an output can be enriched again: it keeps its cells and has its status columns overwritten', async () => {
  const file = folder.file(enriched)
  const output = folder.at('again.csv')
  const fake = fakeCaller((input) => company(identity(input)))
  await execute(await companyBatch(file, fake.caller, await fileSink(output), { identity, validate }))
  const table = await openTable(output)
  expect(table.header).toEqual([...(await openTable(file)).header, 'result.domain', 'result.industry'])
  for await (const rows of table.rows()) if (rows[1]) expect(rows[1].cells[3]).toBe('=SUM(A1)')
})

test('the check of a table finds the identities that occur twice', async () => {
  const table = await openTable(folder.file('domain\na\nb\na\n\nc,d\n'))
  const { repeats } = await checkTable(table, ([domain]) => domain)
  expect(['a', 'b', 'c', 'd'].map((name) => repeats?.has(hashOf(name)))).toEqual([true, false, false, false])
})
