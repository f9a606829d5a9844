import { open, stat } from 'node:fs/promises'
import { CsvError } from './errors.js'

/** A file that is no text: what it is, and what to do with it. */
interface FileType {
  readonly kind: string
  readonly advice: string
}

const unpack = 'Unpack it, and give the file that is in it.'
const exportTable = 'Export its table as CSV.'
const noTable = 'Give an .xlsx or CSV file.'

const signatures: readonly (readonly [bytes: string, kind: string, advice: string])[] = [
  ['\x1f\x8b', 'a gzip file', unpack],
  ['BZh91AY&SY', 'a bzip2 file', unpack],
  ['\xfd7zXZ\0', 'an xz file', unpack],
  ['\x28\xb5\x2f\xfd', 'a Zstandard file', unpack],
  ["7z\xbc\xaf'\x1c", 'a 7-Zip archive', unpack],
  ['Rar!\x1a\x07', 'a RAR archive', unpack],
  ['%PDF-', 'a PDF document', exportTable],
  ['PAR1\x15', 'a Parquet file', exportTable],
  ['ARROW1\0\0', 'an Arrow file', exportTable],
  ['Obj\x01', 'an Avro file', exportTable],
  ['SQLite format 3\0', 'an SQLite database', exportTable],
  ['\x89PNG\r\n\x1a\n', 'an image', noTable],
  ['\xff\xd8\xff', 'an image', noTable],
  ['GIF87a', 'an image', noTable],
  ['GIF89a', 'an image', noTable],
  ['II*\0', 'an image', noTable],
  ['MM\0*', 'an image', noTable],
]

/** What a compound document of Microsoft is, by a stream that it has. */
const compoundKinds: readonly (readonly [stream: string, kind: string, advice: string])[] = [
  ['EncryptedPackage', 'a workbook with a password', 'Save it without one, or as CSV.'],
  ['WordDocument', 'an old Word document (.doc)', 'Save its table as .xlsx or CSV.'],
  ['PowerPoint Document', 'an old presentation (.ppt)', 'Save its table as .xlsx or CSV.'],
]

/** Returns what a file is by its first bytes, where it is no text; `workbook` for one that may be read as such. */
function fileTypeOf(head: Buffer): FileType | 'workbook' | 'compound' | undefined {
  const start = head.toString('latin1', 0, 64)
  if (start.startsWith('PK\x03\x04') || start.startsWith('PK\x05\x06')) return 'workbook'
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return 'compound'
  if (start.startsWith('RIFF') && start.startsWith('WEBP', 8)) return { kind: 'an image', advice: noTable }
  const [, kind, advice] = signatures.find(([bytes]) => start.startsWith(bytes)) ?? []
  return kind === undefined || advice === undefined ? undefined : { kind, advice }
}

/** Returns whether a file begins like a workbook. Throws CsvError for other files that are no text. */
export async function isWorkbook(path: string): Promise<boolean> {
  // Opening a pipe would wait for its writer. What cannot be opened is reported where it is read.
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  const file = isFile ? await open(path).catch(() => undefined) : undefined
  if (!file) return false
  try {
    const read = async (at: number, bytes: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, at)
      return buffer.subarray(0, bytesRead)
    }
    const head = await read(0, 512)
    const type = fileTypeOf(head)
    if (type === undefined || type === 'workbook') return type === 'workbook'
    const known = type === 'compound' ? await compoundTypeOf(head, read) : type
    throw new CsvError(`${path} is ${known.kind}. ${known.advice}`)
  } finally {
    await file.close()
  }
}

async function compoundTypeOf(
  head: Buffer,
  read: (at: number, bytes: number) => Promise<Buffer>,
): Promise<FileType> {
  const sectorBytes = 2 ** Math.min(16, head.readUInt16LE(30))
  const directory = await read((head.readUInt32LE(48) + 1) * sectorBytes, sectorBytes)
  const [, kind, advice] = compoundKinds.find(([stream]) =>
    directory.includes(Buffer.from(stream, 'utf16le')),
  ) ?? ['', 'an old Excel workbook (.xls)', 'Save it as .xlsx or CSV.']
  return { kind, advice }
}

/** Throws CsvError where bytes that come through a pipe are no text. */
export function checkText(head: Buffer): void {
  const type = fileTypeOf(head)
  if (type === 'workbook' || type === 'compound')
    throw new CsvError(
      'This is a workbook or an archive. Save it as a file, and give its name instead of a pipe.',
    )
  if (type) throw new CsvError(`This is ${type.kind}. ${type.advice}`)
}

const json = /^\s*(?:\{\s*["}]|\[\s*[{\]])/
const markup = /^\s*<(?:!doctype|html|\?xml|table|head|meta)\b/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: text has few of them
const controls = /[\0-\x08\x0e-\x1f]/g

/** Throws CsvError where the beginning of a file is JSON or HTML, or no text at all. */
export function checkCsv(name: string, beginning: string): void {
  const fail = (what: string) => {
    throw new CsvError(`${name} is ${what}`)
  }
  if (json.test(beginning))
    fail('JSON, not CSV. Convert it to CSV or .xlsx; only prospect data import reads JSON.')
  if (markup.test(beginning)) fail(`a web page or XML, not CSV. ${exportTable}`)
  if ((beginning.match(controls)?.length ?? 0) * 20 > beginning.length)
    fail(`a binary file, not text. ${noTable}`)
}
