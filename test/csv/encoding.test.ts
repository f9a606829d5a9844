import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { detectEncoding } from '../../src/csv/detect-encoding.js'
import { decode } from '../../src/csv/encoding.js'
import { detectFormat } from '../../src/csv/table-format.js'
import { encoderFor } from '../../src/runs/output/writer.js'
import { casesOf } from '../support/fixtures.js'
import { inWords } from '../support/in-words.js'
import { inPieces } from './encode.js'

async function readBack(bytes: Buffer, asked: string): Promise<string> {
  const texts = await Array.fromAsync(decode(inPieces(bytes), detectEncoding(bytes, asked)))
  return texts.join('')
}

const written = (label: string, hadMark: boolean, text: string): Buffer => {
  const { mark, encode } = encoderFor(label, hadMark)
  return Buffer.concat([mark, encode(text)])
}

test('a NUL is refused with its line where a piece of the file begins with it', async () => {
  const pieces = Readable.from([Buffer.from('a,b\n1,'), Buffer.from('\0\n')])
  const reading = Array.fromAsync(decode(pieces, { label: 'utf-8', mark: 0 }))
  await expect(reading).rejects.toMatchObject({ code: 'csv.nul', details: { line: 2 } })
})

describe('text in the encoding of a file', () => {
  test.each(casesOf<[string, string]>('csv/encoding/is-read-back-with'))(
    'is read back with the same --encoding %s',
    async (label, text) => {
      expect(await readBack(written(label, false, text), label)).toBe(text)
    },
  )

  test('writes a byte order mark when the file had one', () => {
    expect(written('utf-8', true, 'a')).toEqual(Buffer.from('\ufeffa'))
    expect(written('utf-8', false, 'a')).toEqual(Buffer.from('a'))
  })

  test('becomes UTF-8 with a mark where the encoding is not Unicode, so that few rows can be read again', () => {
    expect(written('windows-1250', false, 'Dvořák')).toEqual(Buffer.from('\ufeffDvořák'))
  })
})

test('a byte order mark takes precedence over --encoding', () => {
  expect(detectEncoding(Buffer.from('\ufeffa'), 'windows-1252')).toEqual({ label: 'utf-8', mark: 3 })
  expect(() => inWords(() => detectEncoding(Buffer.from('\ufeffa'), 'utf-9'))).toThrow(
    /"utf-9".*windows-1252/,
  )
})

describe('lines above the header', () => {
  const linkedIn = 'Notes:\n"Some, of the\nmail"\n\nFirst Name,Last Name,URL\nAda,L,x\nB,C,y\n'

  test('are its preamble', () => {
    const { delimiter, preamble } = detectFormat(linkedIn)
    expect([delimiter, preamble]).toEqual([',', 'Notes:\n"Some, of the\nmail"\n\n'])
  })

  test.each(['domain\na,b\nc,d\n', 'name\nSmith, John\nDoe, Jane\n', 'x,y\n1,2\n', 'Name;City\nA;B\n', ''])(
    'are not found in %j',
    (text) => {
      expect(detectFormat(text).preamble).toBe('')
    },
  )

  test('are no more than the file has', () => {
    expect(() => inWords(() => detectFormat('one\ntwo', 2))).toThrow('--skip-lines 2 leaves no header')
  })

  test('are as many as is said', () => {
    expect(detectFormat('one\r\ntwo;x\r\na;b\r\n1;2\r\n', 2)).toEqual({
      delimiter: ';',
      preamble: 'one\r\ntwo;x\r\n',
    })
  })
})
