import { parse } from 'yaml'
import { Refusal } from '../api/calls/errors.js'
import { explainIssue } from '../api/validation/explain-issue.js'
import { resultOr } from '../api/values/objects.js'
import { type CrmSettings, crmSettings } from './format.js'

/** Reads the settings of a push from a file, as a flow has them. Throws a Refusal that names what is wrong. */
export function readCrmSettings(text: string, path: string): CrmSettings {
  const value: unknown = resultOr(undefined, () => parse(text))
  const { data, error } = crmSettings().safeParse(value ?? undefined)
  if (data) return data
  const [issue] = error?.issues ?? []
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : undefined
  const field = issue?.path.join('.') || undefined
  throw new Refusal('crm.settings', { path, field, unknown, reason: issue && explainIssue(issue) })
}
