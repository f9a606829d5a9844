import { describe, expect, test } from 'vitest'
import { detectEncoding } from '../../src/csv/detect-encoding.js'
import { decode } from '../../src/csv/encoding.js'
import { inWords } from '../support/in-words.js'
import { encode } from './encode.js'

async function* inPieces(bytes: Buffer, size = 65_536): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Reads a whole file as `prospect` does. */
async function read(bytes: Buffer): Promise<string> {
  let text = ''
  for await (const piece of decode(inPieces(bytes), detectEncoding(bytes.subarray(0, 1_048_576))))
    text += piece
  return text
}

const western = ['windows-1252', 'macintosh', 'iso-8859-15']
const central = ['windows-1250', 'iso-8859-2']
const cyrillic = ['windows-1251', 'koi8-u', 'ibm866', 'x-mac-cyrillic', 'iso-8859-5']
const wide = ['utf-8', 'utf-16le', 'utf-16be']

/** Short files as people have them, and the encodings that they have them in. */
const files: readonly (readonly [name: string, encodings: readonly string[], text: string])[] = [
  ['Spanish companies', western, 'Empresa,Ciudad\nCompañía Logística S.A.,Málaga\nDiseños Ibáñez,A Coruña\n'],
  ['Spanish people', western, 'Nombre;Apellidos;País\nJosé;Núñez Gómez;España\nMaría;Peña;México\n'],
  [
    'French companies',
    ['windows-1252', 'macintosh'],
    'Société;Ville\nSociété Générale;Nîmes\nCrédit Agricole;Besançon\nL’Oréal;Clichy\n',
  ],
  ['French people', western, 'Prénom,Nom\nHélène,Lefèvre\nBenoît,François\nThérèse,Léger\n'],
  [
    'Spanish and French letters',
    ['windows-1252', 'macintosh'],
    'name,city\nCaña y Niño,Logroño\nThéâtre de l’Île,Orléans\nPeña,Nîmes\n',
  ],
  [
    'German companies',
    western,
    'Firma;Ort\nMüller & Söhne GmbH;Köln\nBäckerei Groß;Düsseldorf\nJäger;Zürich\n',
  ],
  [
    'Portuguese companies',
    western,
    'Empresa,Cidade\nConstruções São João,São Paulo\nPão de Açúcar,Brasília\n',
  ],
  [
    'Italian companies',
    western,
    'Azienda,Città\nSocietà Elettricità,Forlì\nCaffè Nicolò,Cefalù\nPiù Qualità,Cantù\n',
  ],
  [
    'Swedish companies',
    western,
    'Företag;Stad\nÅkerströms;Malmö\nBröderna Sjögren;Göteborg\nFjällräven;Örnsköldsvik\n',
  ],
  [
    'Danish people',
    western,
    'Navn;By\nSøren Kjær;Tårnby\nJørgen Møller;Rødovre\nBjørn Skov;Næstved\nMægler;Køge\n',
  ],
  [
    'trademarks and dashes',
    ['windows-1252', 'macintosh'],
    'name\nAcme™ – “Café” Group\nMüller’s Küche\nNestlé®\n',
  ],
  [
    'Polish companies',
    central,
    'Firma;Miasto\nSpółka Łącznik;Łódź\nUsługi Żabka;Wrocław\nKsięgarnia;Kraków\n',
  ],
  [
    'Czech people',
    central,
    'Jméno,Příjmení,Město\nJiří,Dvořák,Plzeň\nŠárka,Němcová,Třebíč\nTomáš,Růžička,Brno\n',
  ],
  ['Hungarian companies', central, 'Cég;Város\nErdő és Mező Kft.;Győr\nFűszeres Bt.;Székesfehérvár\n'],
  ['Croatian people', central, 'Ime,Prezime\nŽeljko,Kovačević\nĐurđa,Šimić\nBranka,Živković\n'],
  [
    'Turkish companies',
    ['windows-1254'],
    'Şirket;Şehir\nYıldız Gıda;İstanbul\nÇağrı Taşımacılık;Muğla\nGüneş;Diyarbakır\n',
  ],
  [
    'Lithuanian companies',
    ['windows-1257'],
    'Įmonė,Miestas\nŽalia Giria,Šiauliai\nŪkio bankas,Panevėžys\nSąskaita,Kėdainiai\n',
  ],
  [
    'Russian companies',
    cyrillic,
    'Компания;Город\nООО Ромашка;Москва\nЗавод Восток;Санкт-Петербург\nТорговый дом;Уфа\n',
  ],
  [
    'Russian names below English headers',
    cyrillic,
    'name,country\nЯндекс,Russia\nГазпром,Russia\nСбербанк,Russia\n',
  ],
  [
    'Ukrainian people',
    ['windows-1251', 'koi8-u', 'x-mac-cyrillic', 'iso-8859-5'],
    'Особа;Місто\nОлексій Шевченко;Київ\nНаталія Бондаренко;Львів\nЮрій Мельник;Харків\n',
  ],
  [
    'Greek companies',
    ['windows-1253', 'iso-8859-7'],
    'Εταιρεία,Πόλη\nΕλληνικά Πετρέλαια,Αθήνα\nΚωτσόβολος,Θεσσαλονίκη\n',
  ],
  [
    'Japanese companies',
    ['shift_jis', 'euc-jp'],
    '会社名,都市\n株式会社トヨタ,名古屋\n東京電力株式会社,東京\n山田製作所,大阪\n',
  ],
  ['Chinese companies', ['gb18030'], '公司名称,城市\n北京科技有限公司,北京\n上海贸易有限公司,上海\n'],
  ['Taiwanese companies', ['big5'], '公司名稱,城市\n台灣科技股份有限公司,台北市\n高雄貿易有限公司,高雄\n'],
  ['Korean companies', ['euc-kr'], '회사명,도시\n주식회사 서울전자,서울\n부산건설,부산\n'],
  ['Japanese below English headers', ['shift_jis'], 'company,city\n株式会社ABC,東京\n山田商事,大阪\n'],
  ['ASCII', ['windows-1252'], 'name,city\nAcme,Paris\n'],
]

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
