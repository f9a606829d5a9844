import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { strToU8, zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { perFile, perTest } from '../support/each.js'
import { known, machines } from './runs/paying.js'

const filled = perFile(() => machines(20, 200))
const here = perTest(() => filled.copy())

const zipOf = (files: Readonly<Record<string, string>>) =>
  zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])))
const put = (name: string, bytes: Uint8Array) => writeFileSync(here.path(name), bytes)
const runsIn = () => (existsSync(here.path('runs')) ? readdirSync(here.path('runs')) : [])
const csv = `Website,Note\n${known(1)},"one; two"\n${known(2)},\n`
const german = Buffer.from(`Website;Notiz\r\n${known(1)};Gr\xfc\xdfe\r\n`, 'latin1')

describe('a file that is packed', () => {
  it.each([
    ['list.csv.gz', gzipSync(csv)],
    ['list.csv.zst', zstdCompressSync(Buffer.from(csv))],
    [
      'list.zip',
      zipOf({ 'lists/': '', 'lists/in.csv': csv, '__MACOSX/._in.csv': '\0', 'README.md': 'About' }),
    ],
    ['parts.gz', Buffer.concat([gzipSync(csv.slice(0, 30)), gzipSync(csv.slice(30))])],
  ])('is looked up as what is in it: %s', async (name, bytes) => {
    put(name, bytes)
    const { code, stderr } = await here.run(`accounts enrich --csv ${name} -o out.csv`)
    expect([code, stderr]).toEqual([0, expect.any(String)])
    expect(here.rows('out.csv').map(({ Website, Note, _status }) => [Website, Note, _status])).toEqual([
      [known(1), 'one; two', 'found'],
      [known(2), '', 'found'],
    ])
    expect(runsIn()).toEqual([])
  })

  it('has its encoding and delimiter recognised, and is imported', async () => {
    put('export.gz', gzipSync(german))
    await here.run('accounts enrich --csv export.gz -o out.csv')
    expect(here.read('out.csv')).toContain('Grüße')
    put('more.zip', zipOf({ 'more.jsonl': `{"name":"Packed","domain":"packed.example"}\n` }))
    const { code, stdout } = await here.run('data import companies more.zip')
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { added: 1 }])
  })

  it.each([
    ['cut.csv.gz', gzipSync(csv).subarray(0, 30), 'cannot be unpacked: it is damaged'],
    ['bomb.gz', gzipSync(Buffer.alloc(70_000_000)), 'unpacks to more than 64 MiB'],
    ['two.zip', zipOf({ 'a.csv': csv, 'b.csv': csv }), 'has several files: "a.csv", "b.csv"'],
    ['none.zip', zipOf({ 'a.pdf': '%PDF-' }), 'has no CSV or JSON file, but "a.pdf"'],
    ['folder.zip', zipOf({ 'a/': '' }), 'has no file in it'],
  ])('is refused with what is wrong, and nothing is spent: %s', async (name, bytes, sentence) => {
    put(name, bytes)
    for (const command of [`accounts enrich --csv ${name} -o out.csv`, `data import companies ${name}`]) {
      const { code, stderr } = await here.run(command)
      expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)])
    }
    expect([existsSync(here.path('out.csv')), runsIn(), await here.charges()]).toEqual([false, [], []])
  })

  it('has no sheets', async () => {
    put('list.gz', gzipSync(csv))
    for (const command of ['accounts enrich --csv list.gz', 'data import companies list.gz']) {
      const { code, stderr } = await here.run(`${command} --sheet One`)
      expect([code, stderr]).toEqual([2, expect.stringMatching(/--sheet/)])
    }
  })
})
