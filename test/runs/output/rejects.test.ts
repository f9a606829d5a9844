import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openTable, type ReadOptions } from '../../../src/runs/input/table.js'
import { createRejects, csvRejects, fileSink, jsonRejects } from '../../../src/runs/output/writer.js'
import { perFile } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'

const folder = perFile(newFolder)

async function rowsOf(file: string, options: ReadOptions = {}): Promise<(readonly string[])[]> {
  const cells: (readonly string[])[] = []
  for await (const rows of (await openTable(file, options)).rows())
    cells.push(...rows.map((row) => row.cells))
  return cells
}

let number = 0

async function rejectsOf(aside: string, file: string, options: ReadOptions = {}) {
  const table = await openTable(file, options)
  return createRejects(await fileSink(aside), () => csvRejects(table, options.raw === true))
}

/** Puts every row of a file aside, and answers the file they are in. */
async function setAside(content: string | Uint8Array, options: ReadOptions = {}): Promise<string> {
  const file = folder.file(content)
  const aside = folder.at(`rejects-${number++}.csv`)
  const rejects = await rejectsOf(aside, file, options)
  const rows = await rowsOf(file, options)
  await rejects.add(rows.map((cells, at) => ({ line: at + 2, cells, reason: 'why' })))
  await rejects.finish()
  expect([rejects.file, (await stat(aside)).mode & 0o777]).toEqual([aside, 0o600])
  return aside
}

const text = 'Société;Site web;n\n"a;b";"x\r\n""y""";=1+1\n;;\nshort\n1;2;3;4\n'

describe('rejected rows', () => {
  test.each<[string, Uint8Array, ReadOptions]>([
    ['UTF-8', Buffer.from(text), {}],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${text}`), {}],
    ['UTF-16', Buffer.from(`\ufeff${text}`, 'utf16le'), {}],
    ['UTF-16, the other way', Buffer.from(`\ufeff${text}`, 'utf16le').swap16(), {}],
    ['a named encoding', Buffer.from(text, 'latin1'), { encoding: 'windows-1252' }],
    ['a sep= line', Buffer.from('sep=^\r\na^b\r\n1,2^3\r\n'), {}],
    ['one column, empty', Buffer.from('domain\n""\nx\n'), {}],
    ['cells left alone', Buffer.from("a,b\n'=1,=2\n"), { raw: true }],
    ['a given delimiter', Buffer.from('a,b:c\n1,2:3\n'), { delimiter: ':' }],
  ])('are read back like the file they come from: %s', async (_, content, options) => {
    const file = folder.file(content)
    const aside = await setAside(content, options)
    const { header } = await openTable(file, options)
    expect((await openTable(aside, options)).header).toEqual(['_line', '_reason', ...header])
    const rows = await rowsOf(file, options)
    expect(await rowsOf(aside, options)).toEqual(rows.map((cells, at) => [`${at + 2}`, 'why', ...cells]))
  })

  test('are UTF-8 with a mark where their file is not Unicode', async () => {
    const content = Buffer.from('name;n\nZürich;\x80\n', 'latin1')
    const written = Buffer.from('\ufeff_line;_reason;name;n\n2;why;Zürich;€\n')
    expect(await readFile(await setAside(content, { encoding: 'windows-1252' }))).toEqual(written)
  })

  test('that are rejected again have their new reason in the same column', async () => {
    const aside = await setAside('a,_reason,b\n1,old,2\n3,old,4,5\n')
    expect(await readFile(aside, 'utf8')).toBe('_line,a,_reason,b\n2,1,why,2\n3,3,why,4,5\n')
    expect(await readFile(await setAside(await readFile(aside)), 'utf8')).toBe(
      '_line,a,_reason,b\n2,1,why,2\n3,3,why,4,5\n',
    )
  })

  test('of a JSON file are objects with their line and reason in front, also those that are no objects', async () => {
    const aside = folder.at('json.rejects')
    const rejects = createRejects(await fileSink(aside), () => jsonRejects)
    const texts = ['{"id": 12345678901234567890, "_reason": "old"}', '{"a":\n1}', 'nonsense']
    await rejects.add(texts.map((text, at) => ({ line: at + 1, cells: [text], reason: 'why' })))
    await rejects.finish()
    expect((await readFile(aside, 'utf8')).split('\n')).toEqual([
      '{"_line":1,"_reason":"why","id":12345678901234567890}',
      '{"_line":2,"_reason":"why","a":1}',
      '{"_line":3,"_reason":"why","_record":"nonsense"}',
      '',
    ])
  })

  test('stay under the partial name when the run stops', async () => {
    const file = folder.file('a\n1\n')
    const aside = folder.at('stopped.rejects.csv')
    const rejects = await rejectsOf(aside, file)
    await rejects.add([{ line: 2, cells: ['1'], reason: 'why' }])
    await rejects.abandon()
    expect(rejects.file).toBeNull()
    expect(await readFile(`${aside}.partial`, 'utf8')).toBe('_line,_reason,a\n2,why,1\n')
    await expect(stat(aside)).rejects.toThrow()
  })

  test.each(['finish', 'abandon'] as const)('leave no file behind when there are none: %s', async (end) => {
    const file = folder.file('a\n1\n')
    const aside = folder.at(`${end}.rejects.csv`)
    if (end === 'finish') await writeFile(aside, 'of an earlier run')
    const rejects = await rejectsOf(aside, file)
    await rejects.add([])
    await rejects[end]()
    expect((await readdir(dirname(aside))).filter((name) => name.startsWith(basename(aside)))).toEqual([])
  })
})
