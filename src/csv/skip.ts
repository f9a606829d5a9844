/** Leaves out the first bytes of a stream. */
export async function* skip(bytes: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of chunks) {
    yield chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
  }
}
