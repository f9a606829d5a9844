import { toJson } from '../../api/values/json.js'
import type { AsyncJob, JobRecord } from '../ports/ports.js'

/** Largest body of a delivery, in bytes; a completed one above it goes in parts. */
const largestBody = 5_000_000
/** What a body holds around custom values and records, at most. */
const frameBytes = 500
/** What stands around a record in a body besides its ordinal, at most. */
const aroundBytes = 16

/** Counts records into the parts of the completed body. */
export function partsWith(
  { parts: before, partBytes: bytes, custom }: AsyncJob,
  records: readonly JobRecord[],
): Pick<AsyncJob, 'parts' | 'partBytes'> {
  const empty = frameBytes + Buffer.byteLength(toJson(custom))
  const parts = [...before]
  let partBytes = bytes
  for (const { ordinal, record } of records) {
    const size = Buffer.byteLength(record) + String(ordinal).length + aroundBytes
    if (parts.length === 0 || partBytes + size > largestBody) {
      parts.push(ordinal)
      partBytes = empty
    }
    partBytes += size
  }
  return { parts, partBytes }
}
