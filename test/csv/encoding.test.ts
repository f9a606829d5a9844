import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, detectDelimiter, detectEncoding, encoderFor } from '../../src/csv/encoding.js'
import { tries } from '../support/effort.js'

async function readBack(bytes: Buffer, asked: string): Promise<string> {
  const chunks = (async function* () {
    yield bytes
  })()
  let text = ''
  for await (const piece of decode(chunks, detectEncoding(bytes, asked))) text += piece.toString()
  return text
}

const written = (label: string, hadMark: boolean, text: string): Buffer => {
  const { mark, encode } = encoderFor(label, hadMark)
  return Buffer.concat([mark, encode(text)])
}

describe('text in the encoding of a file', () => {
  test.each([
    ['windows-1252', 'Zürich € “AG” ™'],
    ['windows-1250', 'Żółć'],
    ['windows-1251', 'Привет'],
    ['iso-8859-15', 'naïve €'],
    ['koi8-r', 'Привет'],
    ['shift_jis', '日本'],
    ['gb18030', '漢字𝒜'],
    ['iso-2022-jp', '日本'],
    ['utf-16le', '日本𝒜'],
    ['utf-16be', '日本𝒜'],
  ])('is read back with the same --encoding %s', async (label, text) => {
    expect(await readBack(written(label, false, text), label)).toBe(text)
  })

  test('encodes each character of a single-byte encoding as one byte', () => {
    expect(written('windows-1252', false, 'é€')).toEqual(Buffer.from([0xe9, 0x80]))
  })

  test('writes a byte order mark when the file had one', () => {
    expect(written('utf-8', true, 'a')).toEqual(Buffer.from('\ufeffa'))
    expect(written('utf-8', false, 'a')).toEqual(Buffer.from('a'))
  })

  test('rewrites every byte of a single-byte file unchanged', async () => {
    const { encode } = encoderFor('windows-1252', false)
    const bytes = fc.uint8Array({ min: 1, minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(bytes, async (all) => {
        const file = Buffer.concat([Buffer.from('x'), all])
        expect(encode(await readBack(file, 'windows-1252'))).toEqual(file)
      }),
      { numRuns: tries(125, 500) },
    )
  })
})

test('a byte order mark takes precedence over --encoding', () => {
  expect(detectEncoding(Buffer.from('\ufeffa'), 'windows-1252')).toEqual({ label: 'utf-8', mark: 3 })
  expect(() => detectEncoding(Buffer.from('\ufeffa'), 'utf-9')).toThrow(/"utf-9"/)
})

describe('windows-1252 is detected only where it is certain', () => {
  const latin = (text: string) => detectEncoding(Buffer.from(text, 'latin1')).label

  test.each([
    'name\nGenève Montréal\n',
    'Straße;Müller\n',
    'name\nSeñor Gómez\n',
    'a\nSociété Générale\n',
    'Acme\x99 and\xa0caf\xe9',
    'name\nAcme \x96 Paris\n',
  ])('%j is', (text) => {
    expect(latin(text)).toBe('windows-1252')
  })

  test.each<[string, number[]]>([
    ['Cyrillic of windows-1251', [0xcc, 0xee, 0xf1, 0xea, 0xe2, 0xe0]],
    ['Czech of windows-1250', [0x44, 0x76, 0x6f, 0xf8, 0xe1, 0x6b]],
    ['Polish of windows-1250', [0x41, 0xb3, 0x61]],
    ['UTF-8 with a broken character', [0x61, 0xc3, 0xa9, 0x61, 0xc3, 0x61]],
    ['Mac Roman', [0x63, 0x61, 0x66, 0x8e]],
    ['Shift_JIS', [0x93, 0xfa, 0x96, 0x7b]],
  ])('%s is not', (_, bytes) => {
    expect(detectEncoding(Buffer.from(bytes)).label).toBe('utf-8')
  })
})

describe('lines above the header', () => {
  const linkedIn = 'Notes:\n"Some, of the\nmail"\n\nFirst Name,Last Name,URL\nAda,L,x\nB,C,y\n'

  test('are its preamble', () => {
    const { delimiter, preamble } = detectDelimiter(linkedIn)
    expect([delimiter, preamble]).toEqual([',', 'Notes:\n"Some, of the\nmail"\n\n'])
  })

  test.each(['domain\na,b\nc,d\n', 'name\nSmith, John\nDoe, Jane\n', 'x,y\n1,2\n', 'Name;City\nA;B\n', ''])(
    'are not found in %j',
    (text) => {
      expect(detectDelimiter(text).preamble).toBe('')
    },
  )

  test('are no more than the file has', () => {
    expect(() => detectDelimiter('one\ntwo', 2)).toThrow('--skip-lines 2 leaves no header')
  })

  test('are as many as is said', () => {
    expect(detectDelimiter('one\r\ntwo;x\r\na;b\r\n1;2\r\n', 2)).toEqual({
      delimiter: ';',
      preamble: 'one\r\ntwo;x\r\n',
    })
  })
})
