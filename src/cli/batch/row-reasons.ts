import type { Input, Reply } from '../../api/calls/caller.js'
import { ApiError, Refusal } from '../../api/calls/errors.js'
import { flagOf } from '../../api/operations/table.js'
import { nameFields } from '../../api/values/field-names.js'
import { isObject } from '../../api/values/objects.js'
import type { Mapping } from '../../runs/input/mapping.js'
import type { RunSentences } from '../../runs/ports.js'
import { reportOfAnswer } from '../context/errors.js'
import { describe, reportOf } from '../messages.js'

/** The sentences of a run. */
export const runSentences: RunSentences = {
  explainStop: (refusal) => {
    // The report names the file that holds the rows so far.
    const { reply, partial: _, ...details } = refusal.details
    const report = isAnswer(reply)
      ? reportOfAnswer(reply.status, reply.body)
      : reportOf(refusal instanceof ApiError ? refusal : new Refusal(refusal.code, details))
    if (!report) throw refusal
    const hint = refusal.code === 'storage_failed' ? notLost : report.hint
    return { reason: report.error, hint, exit_code: report.exit_code }
  },
  explainRows,
}

/** Rows that were paid for without a recorded answer are sent again under the same keys. */
const notLost = 'Check free space and permissions; paid results are kept.'

const isAnswer = (reply: unknown): reply is Pick<Reply, 'status' | 'body'> =>
  isObject(reply) && 'status' in reply

/** What fields are called that no column fills, where a row lacks them. */
const words: Readonly<Record<string, string>> = {
  ...{
    network_url: 'a profile URL',
    company_network_url: 'a profile URL',
    company_network_id: 'a network id',
  },
  ...{ domain: 'a domain', company_domain: 'a domain', name: 'a name', company_name: 'a company name' },
  ...{ first_name: 'a first name', firstname: 'a first name' },
  ...{ last_name: 'a last name', lastname: 'a last name' },
}

/** The details of the refusal of a row's input. */
interface RowProblem {
  readonly anyOf?: readonly string[]
  readonly fields?: readonly string[]
  readonly sentence?: string
}

/** Returns what turns a refusal into the reason of an invalid row, in the names of its columns and of options. */
function explainRows(mapping: Mapping, constants: Input = {}): (refusal: Refusal) => string {
  const columns = new Map(mapping.columns.map(({ field, column }) => [field, `"${column}"`]))
  const optionOf = (field: string) =>
    constants[field] === undefined ? (words[field] ?? field) : `--${flagOf(field)}`
  const nameOf = (field: string) => columns.get(field) ?? optionOf(field)
  return (refusal) => {
    if (!(refusal instanceof ApiError)) return describe(refusal)
    const { anyOf, fields: missing, sentence = refusal.message } = refusal.details as RowProblem
    const empty = anyOf?.filter((field) => columns.has(field)).map(nameOf) ?? []
    if (empty.length > 0) return `${empty.join(', ')} ${empty.length === 1 ? 'is' : 'are'} empty`
    if (!missing) return nameFields(sentence, nameOf)
    const blank = missing.filter((field) => columns.has(field)).map((field) => `${nameOf(field)} is empty`)
    const absent = missing.filter((field) => !columns.has(field)).map((field) => `no column holds ${field}`)
    return [...blank, ...absent].join('; ')
  }
}
