import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { checkSheetRows } from '../../../src/runs/open-output.js'
import { createLayout } from '../../../src/runs/output/columns.js'
import { rowFormats } from '../../../src/runs/output/formats.js'
import { createWriter, fileSink, streamSink } from '../../../src/runs/output/writer.js'
import { perFile } from '../../support/each.js'
import { inWords } from '../../support/in-words.js'
import { newFolder } from '../../support/new-folder.js'
import { failingFiles, failure, outputRow } from '../fakes.js'

const folder = perFile(newFolder)

async function fresh(): Promise<string> {
  const path = folder.at('output')
  await rm(path, { recursive: true, force: true })
  await mkdir(path)
  return `${path}/out.csv`
}

describe('an output file', () => {
  test('gets its name only when it is complete, and is private from its creation', async () => {
    const path = await fresh()
    await writeFile(path, 'old')
    const sink = await fileSink(path)
    await sink.write('a,b\n')
    expect(await readFile(path, 'utf8')).toBe('old')
    expect((await stat(`${path}.partial`)).mode & 0o777).toBe(0o600)
    await sink.write('1,é\n')
    await sink.finish()
    expect(await readFile(path, 'utf8')).toBe('a,b\n1,é\n')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(folder.at('output'))).toEqual(['out.csv'])
  })

  test('keeps its partial name when it is abandoned', async () => {
    const path = await fresh()
    const sink = await fileSink(path)
    await sink.write('a\n')
    await sink.abandon()
    expect(await readdir(folder.at('output'))).toEqual(['out.csv.partial'])
  })

  test('is never written through a symbolic link at its partial name', async () => {
    const path = await fresh()
    const victim = folder.at('victim')
    await writeFile(victim, 'precious')
    await symlink(victim, `${path}.partial`)
    const sink = await fileSink(path)
    await sink.write('a\n')
    await sink.finish()
    expect(await readFile(victim, 'utf8')).toBe('precious')
  })

  test('is refused at once when it is a folder or its folder is missing', async () => {
    const refused = (path: string, why: RegExp, files?: Parameters<typeof fileSink>[1]) =>
      expect(inWords(() => fileSink(path, files))).rejects.toThrow(why)
    await refused(folder.at('.'), /is a folder/)
    await refused(folder.at('none/out.csv'), /no such file or folder \(ENOENT\)/)
    await refused(`${folder.file('')}/out.csv`, /out\.csv.*ENOTDIR/)
    await refused(await fresh(), /permission denied \(EACCES\)/, failingFiles('create', 'EACCES'))
  })

  test('is written directly when it is a device', async () => {
    const sink = await fileSink('/dev/null')
    await sink.write('a\n')
    await sink.finish()
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true)
  })
})

describe('a failing disk', () => {
  test.each(['ENOSPC', 'EIO', 'EDQUOT'])(
    'keeps whole rows under the partial name after %s in the middle',
    async (code) => {
      const path = await fresh()
      const sink = await fileSink(path, failingFiles('appendFile', code, 3))
      const writer = createWriter(sink, rowFormats.csv.create(createLayout(['a'], [])))
      const row = outputRow(['x'], undefined, { credits: 0 })
      await writer.write([row])
      await writer.write([row])
      const error = await writer.write([row]).catch((thrown: unknown) => thrown)
      await writer.abandon()
      expect(error).toMatchObject({
        code: 'output.failed',
        details: { path, cause: { code }, partial: `${path}.partial` },
      })
      expect(await readdir(folder.at('output'))).toEqual(['out.csv.partial'])
      expect(await readFile(`${path}.partial`, 'utf8')).toBe(
        'a,_status,_error,_credits,_source\nx,found,,0,lookup\nx,found,,0,lookup\n',
      )
    },
  )

  test.each(['sync', 'rename'] as const)(
    'leaves no file with the final name when it fails at the end (%s)',
    async (operation) => {
      const path = await fresh()
      const sink = await fileSink(path, failingFiles(operation, 'EIO'))
      await sink.write('a\n')
      await expect(inWords(() => sink.finish())).rejects.toThrow(/EIO/)
      expect(await readdir(folder.at('output'))).toEqual(['out.csv.partial'])
    },
  )

  test('is reported when it fails while the folder is synced', async () => {
    const sink = await fileSink(await fresh(), failingFiles('syncFolder', 'EIO'))
    await expect(sink.finish()).rejects.toMatchObject({ code: 'output.failed' })
  })
})

describe('a stream as the output', () => {
  test('is written with backpressure', async () => {
    let text = ''
    const slow = new Writable({
      highWaterMark: 1,
      write(chunk, _, done) {
        setImmediate(() => {
          text += chunk
          done()
        })
      },
    })
    const sink = streamSink(slow)
    await sink.write('a\n')
    expect(text).toBe('a\n')
    await sink.write('b\n')
    await sink.finish()
    expect(text).toBe('a\nb\n')
    expect(sink.partial).toBeUndefined()
  })

  test('is refused when its reader has gone', async () => {
    const closed = new Writable({ write: (_, __, done) => done(failure('EPIPE')) })
    const error = await streamSink(closed)
      .write('a\n')
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'output.closed' })
    await expect(streamSink(closed).write('b\n')).rejects.toMatchObject({ code: 'output.closed' })
  })
})

test('a workbook holds no more rows than a sheet does', () => {
  expect(() => inWords(() => checkSheetRows('out.xlsx', 1_048_576))).toThrow('a workbook holds 1,048,575')
  for (const [path, rows] of [
    ['out.xlsx', 1_048_575],
    ['out.csv', 2_000_000],
  ] as const)
    expect(() => checkSheetRows(path, rows)).not.toThrow()
})
