import { createReadStream } from 'node:fs'
import { type FileHandle, stat } from 'node:fs/promises'
import type { Duplex, Readable } from 'node:stream'
import zlib from 'node:zlib'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { interrupted, Refusal, systemCode } from '../api/calls/errors.js'
import { fileTypeBytes, fileTypeOf, openRegularFile } from './encoding.js'

/** What a file may unpack to, in bytes: so many times its size, but at least this. */
const growth = { ratio: 250, min: 64 * 2 ** 20 }

/** `read` is called once, when somebody listens for its errors. */
type Unpacking = { read(): Promise<Readable>; close(): void }

/**
 * Writes what a packed file has (gzip, Zstandard, or a ZIP archive with one table) to the file that `openCopy` opens. Returns
 * `undefined` for a file that is not packed, or that is an archive of another kind, such as a workbook. Throws a Refusal for
 * one that cannot be unpacked, and when the signal aborts.
 */
export async function unpack(
  path: string,
  openCopy: () => Promise<FileHandle>,
  signal?: AbortSignal,
): Promise<FileHandle | undefined> {
  const type = await packingOf(path)
  const unpacking = type && (await openUnpacking[type](path))
  if (!unpacking) return undefined
  try {
    const { size } = await stat(path)
    const copy = await openCopy()
    await copy.writeFile(limited(await unpacking.read(), path, size), { signal })
    return copy
  } catch (error) {
    if (signal?.aborted) throw interrupted(signal, 'converting')
    throw toRefusal(path, error)
  } finally {
    unpacking.close()
  }
}

type Packing = 'gzip' | 'zstd' | 'zip'

async function packingOf(path: string): Promise<Packing | undefined> {
  const file = await openRegularFile(path)
  if (!file) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(fileTypeBytes), 0, fileTypeBytes, 0)
    const type = fileTypeOf(buffer.subarray(0, bytesRead))
    // A workbook is a ZIP archive.
    if (type === 'workbook') return 'zip'
    return type === 'gzip' || type === 'zstd' ? type : undefined
  } finally {
    await file.close()
  }
}

const openUnpacking: Readonly<Record<Packing, (path: string) => Promise<Unpacking | undefined>>> = {
  gzip: async (path) => through(path, zlib.createGunzip),
  zstd: async (path) => {
    // Node has it since 22.15.
    if (typeof zlib.createZstdDecompress !== 'function') throw new Refusal('csv.no_zstd', { path })
    return through(path, zlib.createZstdDecompress)
  },
  zip: openZip,
}

function through(path: string, create: () => Duplex): Unpacking {
  const file = createReadStream(path)
  return {
    read: async () => {
      const unpacker = create()
      file.on('error', (error) => unpacker.destroy(error))
      return file.pipe(unpacker)
    },
    close: () => file.destroy(),
  }
}

/** What archives have besides what was packed: folders, and notes of macOS. */
const isAside = ({ fileName }: Entry): boolean => /\/$|(^|\/)(\.|__MACOSX\/)/.test(fileName)

const isTable = ({ fileName }: Entry): boolean => /\.(csv|tsv|tab|txt|jsonl?|ndjson)$/i.test(fileName)

/** What tells that an archive is a document: it has these in place of files that somebody packed. */
const isOfDocument = ({ fileName }: Entry): boolean =>
  /^(_rels\/\.rels|\[Content_Types\]\.xml|content\.xml|mimetype|Index\.zip|Index\/.*\.iwa)$/i.test(fileName)

const maxEntries = 1_000

/** Opens the one table in a ZIP archive; `undefined` for a document, such as a workbook. */
async function openZip(path: string): Promise<Unpacking | undefined> {
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
    throw damaged(path, error)
  })
  try {
    const found = await tableIn(zip, path)
    if (!found) {
      zip.close()
      return undefined
    }
    if (found.isEncrypted()) throw new Refusal('csv.zip_encrypted', { path })
    return { read: () => zip.openReadStreamPromise(found), close: () => zip.close() }
  } catch (error) {
    zip.close()
    throw toRefusal(path, error)
  }
}

async function tableIn(zip: ZipFile, path: string): Promise<Entry | undefined> {
  if (zip.entryCount === 0) return undefined
  const entries: Entry[] = []
  for await (const entry of zip.eachEntry()) {
    if (isOfDocument(entry)) return undefined
    if (!isAside(entry)) entries.push(entry)
    if (entries.length > maxEntries) break
  }
  const tables = entries.filter(isTable)
  const [first, ...others] = tables.length > 0 ? tables : entries
  if (!first) throw new Refusal('csv.zip_empty', { path })
  if (others.length === 0 && isTable(first)) return first
  const files = [first, ...others].slice(0, 5).map(({ fileName }) => fileName)
  throw new Refusal(others.length === 0 ? 'csv.zip_no_table' : 'csv.zip_several', { path, files })
}

async function* limited(chunks: AsyncIterable<Buffer>, path: string, size: number): AsyncGenerator<Buffer> {
  const max = Math.max(growth.min, growth.ratio * size)
  let unpacked = 0
  for await (const chunk of chunks) {
    unpacked += chunk.length
    if (unpacked > max) throw new Refusal('csv.unpacks_too_large', { path, max, size })
    yield chunk
  }
}

const damaged = (path: string, error: unknown): Refusal =>
  new Refusal('csv.packed_damaged', { path, cause: String((error as Error).message) })

function toRefusal(path: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const code = systemCode(error)
  return code?.startsWith('E') && !code.startsWith('ERR_')
    ? new Refusal('csv.unpack_failed', { path, cause: error })
    : damaged(path, error)
}
