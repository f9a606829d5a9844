import { parseExact } from '../../../api/values/json.js'
import { UsageError } from '../../context/errors.js'

/**
 * Reads `key=value` pairs. Values that are JSON numbers, true, false, null, lists or objects are read as such;
 * a key given more than once, or written `key[]`, becomes a list.
 */
export function parseFields(pairs: readonly string[]): Record<string, unknown> {
  const fields = new Map<string, unknown>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`-f takes key=value, not "${at < 0 ? pair : pair.slice(0, at + 1)}".`)
    const isList = pair.slice(0, at).endsWith('[]')
    const name = isList ? pair.slice(0, at - 2) : pair.slice(0, at)
    const value = fieldValue(name, pair.slice(at + 1))
    const before = fields.get(name)
    if (before !== undefined) fields.set(name, [before, value].flat())
    else fields.set(name, isList ? [value] : value)
  }
  return Object.fromEntries(fields)
}

const number = /^-?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function fieldValue(name: string, text: string): unknown {
  if (number.test(text) || ['true', 'false', 'null'].includes(text)) return parseExact(text)
  if (!/^[[{]/.test(text)) return text
  try {
    return parseExact(text)
  } catch {
    throw new UsageError(`-f ${name} begins like JSON and is none.`, 'Check its quotes and brackets.')
  }
}
