import { StringDecoder } from 'node:string_decoder'
import { parser, type SAXParser } from 'sax'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { Refusal } from '../../api/calls/errors.js'

/** The parts of a workbook, which is a ZIP archive of XML files. */
export type Archive = Awaited<ReturnType<typeof openArchive>>

/** What reads an XML file; names are without their prefixes. */
interface XmlHandlers {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  text?(text: string): void
  close?(name: string): void
  /** Whether the rest is not needed. */
  isDone?(): boolean
}

const maxParts = 20_000

/** What a workbook may become, in bytes: so many times its size, but at least and at most this. */
const growth = { ratio: 200, min: 64 * 2 ** 20, max: 4 * 2 ** 30 }

/** The most bytes that one of the parts of a workbook, or its sheet as CSV, may have, and the refusal of more. */
export type GrowthLimit = ReturnType<typeof growthLimit>

function growthLimit(path: string, bytes: number) {
  const maxBytes = Math.min(growth.max, Math.max(growth.min, growth.ratio * bytes))
  return {
    maxBytes,
    /** Of a part that unpacks to so many bytes, or a sheet that is too large by a row. */
    exceeded: (details: { readonly unpacked: number } | { readonly row: number }) =>
      new Refusal('workbook.too_large', { path, ...details, max: maxBytes, size: bytes }),
  }
}

/** Opens a file that begins like a ZIP archive. Throws a Refusal where it is no workbook. */
export async function openArchive(path: string) {
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
    throw damaged(path, error)
  })
  try {
    const parts = await readParts(zip, path)
    checkType(path, parts)
    const limit = growthLimit(path, zip.fileSize)
    return {
      limit,
      has: (part: string) => parts.has(partKey(part)),
      /** Passes a part to the handlers of an XML parser. A part that is absent is empty. */
      parse: (part: string, handlers: XmlHandlers) =>
        parsePart(zip, path, parts.get(partKey(part)), handlers, limit),
      close: () => zip.close(),
    }
  } catch (error) {
    zip.close()
    throw error
  }
}

export async function* unpacked(path: string): AsyncIterable<Buffer> {
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false })
  try {
    for await (const entry of zip.eachEntry())
      yield* (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>
  } finally {
    zip.close()
  }
}

const damaged = (path: string, error: unknown): Refusal =>
  new Refusal('workbook.damaged', { path, cause: String((error as Error).message) })

/** Names of parts are not case-sensitive. */
const partKey = (name: string): string => name.replace(/^\//, '').toLowerCase()

async function readParts(zip: ZipFile, path: string): Promise<ReadonlyMap<string, Entry>> {
  const parts = new Map<string, Entry>()
  try {
    for await (const entry of zip.eachEntry()) {
      parts.set(partKey(entry.fileName), entry)
      if (parts.size > maxParts) throw new Error('parts')
    }
  } catch (error) {
    throw damaged(path, error)
  }
  return parts
}

/** Other files that are ZIP archives, by a part that each of them has. */
const otherTypes: readonly (readonly [part: RegExp, type: string])[] = [
  [/^xl\/workbook\.bin$/, 'xlsb'],
  [/^index\/.*\.iwa$|^index\.zip$/, 'iwork'],
  [/^content\.xml$/, 'opendocument'],
  [/^word\//, 'docx'],
  [/^ppt\//, 'pptx'],
]

function checkType(path: string, parts: ReadonlyMap<string, unknown>): void {
  for (const [part, type] of otherTypes)
    if ([...parts.keys()].some((name) => part.test(name))) throw new Refusal('csv.not_text', { path, type })
  if (!parts.has('_rels/.rels')) throw new Refusal('csv.not_text', { path, type: 'zip' })
}

async function parsePart(
  zip: ZipFile,
  path: string,
  entry: Entry | undefined,
  handlers: XmlHandlers,
  limit: GrowthLimit,
): Promise<void> {
  if (!entry) return
  if (entry.uncompressedSize > limit.maxBytes) throw limit.exceeded({ unpacked: entry.uncompressedSize })
  if (entry.isEncrypted()) throw new Refusal('workbook.encrypted', { path })
  let failure: Error | undefined
  try {
    const xml = createParser(handlers, (error) => {
      failure = error
    })
    let text: StringDecoder | undefined
    for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
      text ??= new StringDecoder(chunk[0] === 0xff && chunk[1] === 0xfe ? 'utf16le' : 'utf8')
      xml.write(text.write(chunk))
      if (handlers.isDone?.()) return
    }
    xml.close()
  } catch (error) {
    throw error instanceof Refusal ? error : damaged(path, failure ?? error)
  }
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

function createParser(handlers: XmlHandlers, onFailure: (error: Error) => void): SAXParser {
  const xml = parser(true, { position: false })
  const fail = (error: Error): never => {
    onFailure(error)
    throw error
  }
  xml.onerror = (error) => fail(new Error(error.message.split('\n', 1)[0]))
  // It could declare entities, of which a few make a text of any length.
  xml.ondoctype = () => fail(new Error('doctype'))
  xml.onopentag = ({ name, attributes }) =>
    handlers.open(localName(name), attributes as Readonly<Record<string, string>>)
  if (handlers.text) {
    xml.ontext = handlers.text
    xml.oncdata = handlers.text
  }
  if (handlers.close) {
    const { close } = handlers
    xml.onclosetag = (name) => close(localName(name))
  }
  return xml
}
