import { describe, expect, test } from 'vitest'
import { detectEncoding } from '../../src/csv/detect-encoding.js'
import { decode } from '../../src/csv/encoding.js'
import { rowsOf } from '../support/fixtures.js'
import { inWords } from '../support/in-words.js'
import { encode, inPieces } from './encode.js'

/** Reads a whole file as `prospect` does. */
async function read(bytes: Buffer): Promise<string> {
  let text = ''
  for await (const piece of decode(inPieces(bytes), detectEncoding(bytes.subarray(0, 1_048_576))))
    text += piece
  return text
}

const wide = ['utf-8', 'utf-16le', 'utf-16be']

/** Short files as people have them, and the encodings that they have them in. */
const files = rowsOf('spellings/encodings.tsv').map(
  ([name = '', encodings = '', text = '']) =>
    [name, encodings.split(' '), text.replaceAll('\\n', '\n')] as const,
)

describe.each(files)('a short file of %s', (_, encodings, text) => {
  test.each([...encodings, ...wide])('is read right in %s', async (label) => {
    expect(await read(encode(text, label))).toBe(text)
  })
})

describe('an encoding that is not certain', () => {
  test('is refused with both readings, where the letters differ', () => {
    const bytes = Buffer.from([...Buffer.from('name\nPlat'), 0xec, 10])
    expect(() => inWords(() => detectEncoding(bytes))).toThrow(
      /^Line 2: the encoding is not certain: this is "Plat[ìě]" in windows-125\d, and "Plat[ìě]" in windows-125\d\. .*--encoding/,
    )
    expect(detectEncoding(bytes, 'windows-1252').label).toBe('windows-1252')
  })

  test('is no question where the letters are the same', () => {
    expect(detectEncoding(encode('name\nMüller\n', 'windows-1250')).label).toBe('windows-1252')
  })

  test.each<[string, number[]]>([
    [
      'UTF-8 with a broken character',
      [0x61, 0xc3, 0xa9, 0x62, 0xc3, 0xa9, 0x63, 0xc3, 0xa9, 0x61, 0xc3, 0x61],
    ],
    ['the encoding of DOS', [0x53, 0x6f, 0x63, 0x69, 0x82, 0x74, 0x82]],
    ['bytes that are no text', [0x61, 0xff, 0xfe, 0xfd, 0x62, 0xf7, 0xd7, 0x63]],
  ])('is that of no text: %s', (_, bytes) => {
    expect(detectEncoding(Buffer.from(bytes)).label).toBe('utf-8')
  })

  test('is shown with a cell that has other letters elsewhere', () => {
    const { label, sample } = detectEncoding(
      encode('name;city\nKožešník;Brno\nDvořák;Plzeň\n', 'windows-1250'),
    )
    expect([label, sample]).toEqual(['windows-1250', 'Dvořák'])
  })
})

describe('letters that first come late in a large file', () => {
  const many = (line: string) => line.repeat(Math.ceil(1_200_000 / line.length))

  test('are right when they are of the same encoding', async () => {
    const text = `name,city\n${many('Société Générale,Paris\n')}Compañía Núñez,A Coruña\n`
    expect(await read(encode(text, 'windows-1252'))).toBe(text)
  })

  test.each([
    ['plain ones', 'Acme,Paris\n', 'Dvořák,Plzeň\n', /not valid UTF-8.*--encoding \(windows-1250\)/],
    [
      'ones of both',
      'Société,Müller\n',
      'Dvořák,Plzeň\n',
      /"Dvořák" is windows-1250.*--encoding windows-1250/,
    ],
  ])('are refused with their line after %s', async (_, before, line, reason) => {
    const head = `name,city\n${many(before)}`
    const reading = inWords(() => read(encode(head + line, 'windows-1250')))
    await expect(reading).rejects.toThrow(reason)
    await expect(reading).rejects.toThrow(`Line ${head.split('\n').length}: `)
  })
})
