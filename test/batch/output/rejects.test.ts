import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openTable, type ReadOptions } from '../../../src/batch/input/table.js'
import { createRejects, fileSink } from '../../../src/batch/output/writer.js'
import { testFolder } from '../folder.js'

const folder = testFolder()

async function rowsOf(file: string, options: ReadOptions = {}): Promise<(readonly string[])[]> {
  const cells: (readonly string[])[] = []
  for await (const rows of (await openTable(file, options)).rows())
    cells.push(...rows.map((row) => row.cells))
  return cells
}

let number = 0

/** Puts every row of a file aside, and answers the file they are in. */
async function setAside(content: string | Uint8Array, options: ReadOptions = {}): Promise<string> {
  const file = await folder.file(content)
  const aside = folder.path(`rejects-${number++}.csv`)
  const rejects = createRejects(await fileSink(aside), await openTable(file, options), options.raw === true)
  await rejects.add((await rowsOf(file, options)).map((cells) => ({ cells, reason: 'why' })))
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
    const file = await folder.file(content)
    const aside = await setAside(content, options)
    const { header } = await openTable(file, options)
    expect((await openTable(aside, options)).header).toEqual(['_reason', ...header])
    const rows = await rowsOf(file, options)
    expect(await rowsOf(aside, options)).toEqual(rows.map((cells) => ['why', ...cells]))
  })

  test('are written in the encoding of their file', async () => {
    const content = Buffer.from('name;n\nZürich;\x80\n', 'latin1')
    const written = Buffer.from('_reason;name;n\nwhy;Zürich;\x80\n', 'latin1')
    expect(await readFile(await setAside(content, { encoding: 'windows-1252' }))).toEqual(written)
  })

  test('that are rejected again have their new reason in the same column', async () => {
    const aside = await setAside('a,_reason,b\n1,old,2\n3\n')
    expect(await readFile(aside, 'utf8')).toBe('a,_reason,b\n1,why,2\n3\n')
  })

  test('stay under the partial name when the run stops', async () => {
    const file = await folder.file('a\n1\n')
    const aside = folder.path('stopped.rejects.csv')
    const rejects = createRejects(await fileSink(aside), await openTable(file), false)
    await rejects.add([{ cells: ['1'], reason: 'why' }])
    await rejects.abandon()
    expect(rejects.file).toBeNull()
    expect(await readFile(`${aside}.partial`, 'utf8')).toBe('_reason,a\nwhy,1\n')
    await expect(stat(aside)).rejects.toThrow()
  })

  test.each(['finish', 'abandon'] as const)('leave no file behind when there are none: %s', async (end) => {
    const file = await folder.file('a\n1\n')
    const aside = folder.path(`${end}.rejects.csv`)
    if (end === 'finish') await writeFile(aside, 'of an earlier run')
    const rejects = createRejects(await fileSink(aside), await openTable(file), false)
    await rejects.add([])
    await rejects[end]()
    expect((await readdir(dirname(aside))).filter((name) => name.startsWith(basename(aside)))).toEqual([])
  })
})
