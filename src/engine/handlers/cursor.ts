import { createHmac, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../api/calls/errors.js'

/** What a cursor belongs to: it opens nowhere else. */
export interface CursorScope {
  /** Id of the operation. */
  readonly endpoint: string
  readonly workspaceId: string
  /** What the rows were chosen by. */
  readonly filters: Readonly<Record<string, unknown>>
}

/** Where the last row received stands in its order. */
export type CursorPosition = readonly (string | number)[]

/** Length of a SHA-256 in base64url. */
const sealLength = 43

/** Makes the cursor of a position: a seal, and the position itself, both base64url. `secret` is hexadecimal. */
export function makeCursor(secret: string, scope: CursorScope, position: CursorPosition): string {
  const text = Buffer.from(JSON.stringify(position)).toString('base64url')
  return sealOf(secret, scope, text) + text
}

/** The position in a cursor; anything but an unchanged cursor of this scope is refused: `invalid_cursor`. */
export function readCursor(secret: string, scope: CursorScope, cursor: string): CursorPosition {
  const text = cursor.slice(sealLength)
  const given = Buffer.from(cursor.slice(0, sealLength))
  const seal = Buffer.from(sealOf(secret, scope, text))
  if (given.length !== seal.length || !timingSafeEqual(given, seal)) throw new ApiError('invalid_cursor')
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as CursorPosition
}

// The text is sealed, not what it decodes to: base64url has several spellings of the same bytes.
function sealOf(secret: string, { endpoint, workspaceId, filters }: CursorScope, text: string): string {
  const named = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHmac('sha256', Buffer.from(secret, 'hex'))
    .update(JSON.stringify([endpoint, workspaceId, named, text]))
    .digest('base64url')
}
