const tables = new Map<string, ReadonlyMap<string, readonly number[]>>()

/** Returns the bytes of text in an encoding that TextDecoder knows; throws where it has no such character. */
export function encode(text: string, label: string): Buffer {
  if (label === 'utf-8') return Buffer.from(text)
  if (label === 'utf-16le') return Buffer.from(text, 'utf16le')
  if (label === 'utf-16be') return Buffer.from(text, 'utf16le').swap16()
  const table = tables.get(label) ?? createTable(label)
  tables.set(label, table)
  return Buffer.from(
    Array.from(text).flatMap((char) => {
      const bytes = table.get(char)
      if (!bytes) throw new Error(`${label} has no ${char}`)
      return bytes
    }),
  )
}

function createTable(label: string): ReadonlyMap<string, readonly number[]> {
  const table = new Map<string, readonly number[]>()
  const decoder = new TextDecoder(label)
  const add = (text: string, ...bytes: readonly number[]) => {
    if (text.length === 1 && !table.has(text)) table.set(text, bytes)
  }
  // Node decodes windows-1252 correctly only from a stream.
  for (let one = 0; one < 256; one++)
    add(new TextDecoder(label).decode(Uint8Array.of(one), { stream: true }), one)
  for (let one = 0x81; one < 255; one++)
    for (let two = 0x40; two < 255; two++) add(decoder.decode(Uint8Array.of(one, two)), one, two)
  return table
}

/** Bytes in pieces of the sizes given, in turns. */
export async function* inPieces(bytes: Buffer, sizes: readonly number[] = [65_536]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + (sizes[turn % sizes.length] ?? 1)
    yield bytes.subarray(at, end)
    at = end
  }
}
