import { hash } from 'node:crypto'
import type { Operation } from '../operations/table.js'
import { toCanonicalJson } from '../values/json.js'

/** Returns what identifies a request: operation and fields, whatever the order of their keys. */
export const fingerprintOf = (operation: Operation, fields: unknown): string =>
  hash('sha256', `${operation.method} ${operation.path} ${toCanonicalJson(fields)}`, 'base64url')
