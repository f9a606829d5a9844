import type { OperationId } from '../api/operations/table.js'
import { emailStatusOf } from '../api/schemas/enumerations.js'
import { type Fields, isObject } from '../api/values/objects.js'

/** Returns the body of a success in our words: other servers have other names and words for some values. */
export function readForeignReply(id: OperationId, body: unknown): unknown {
  readForeignWords(body)
  return isObject(body) ? (readers[id]?.(body) ?? body) : body
}

const withId = (persona: unknown): unknown =>
  isObject(persona) && persona.id === undefined && persona.uuid !== undefined
    ? { id: persona.uuid, ...persona }
    : persona

const readers: Partial<Record<OperationId, (body: Fields) => unknown>> = {
  'personas.get': withId,
  'personas.create': withId,
  'personas.list': (body) =>
    Array.isArray(body.personas) ? { ...body, personas: body.personas.map(withId) } : body,
  'account.show': (body) => {
    const { account, workspace = {} } = body
    return isObject(account) && isObject(workspace) && workspace.plan === undefined
      ? { ...body, workspace: { ...workspace, plan: account.plan } }
      : body
  },
}

const statuses = new Set(['email_status', 'personal_email_status', 'most_probable_email_status'])
const values = new Set(['email', 'personal_email', 'most_probable_email', 'phone'])

/** Changes, in what was read from a server, the words of other services for the status of an address and for no value. */
export function readForeignWords(body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  for (const [name, value] of Object.entries(body)) {
    if (name === 'custom') continue
    if (typeof value !== 'string') readForeignWords(value)
    else if (statuses.has(name)) Object.assign(body, { [name]: emailStatusOf(value) })
    else if (values.has(name) && isNone(value)) Object.assign(body, { [name]: null })
  }
}

const isNone = (text: string): boolean => /^n\/a$/i.test(text.trim())
