import { eventOf } from '../../api/webhooks/events.js'
import { openKnownRows } from '../../runs/known-lists.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import type { OperationRequest } from '../operation/request.js'
import type { Row } from '../output/records.js'
import { formatNumber } from '../output/text.js'
import { waitOf } from '../wait/options.js'
import type { KnownRecords } from '../wait/result.js'
import { knownLists } from './options.js'
import { listPorts } from './run-home.js'

/** Opens the lists of `--skip-known` before an import is sent; `undefined` without that option. */
export async function openKnownRecords(
  context: Context,
  { operation, input, invocation }: OperationRequest,
): Promise<KnownRecords | undefined> {
  const { options } = invocation
  const sources = knownLists(options, context.streams)
  if (!sources || options.dryRun === true) return undefined
  if (!waitOf(context, invocation, input).printsResult)
    throw new UsageError('--skip-known needs the result.', 'Add -o FILE, or --wait to print it.')
  const isOfPeople = eventOf(operation.id) === 'lead_search'
  const ports = { ...listPorts(context), notify: (text: string) => context.notify(text) }
  const lists = await openKnownRows(ports, isOfPeople ? 'people' : 'companies', sources)
  const noun = isOfPeople ? 'people' : 'companies'
  context.notify(`Known ${noun} are left out of the result; they use your quota all the same.`)
  let [all, known] = [0, 0]
  return {
    without: (records) =>
      async function* () {
        all = known = 0
        for await (const record of records()) {
          const isKnown = lists?.has(fieldsOf(record)) === true
          all++
          if (isKnown) known++
          if (options.keepKnown === true) yield { ...record, _status: isKnown ? 'known' : 'found' }
          else if (!isKnown) yield record
        }
      },
    report: () => context.notify(`Known: ${formatNumber(known)} of ${formatNumber(all)} ${noun}.`),
  }
}

/** Returns a record as the row of a list: a person with the names of the company. */
function fieldsOf({ lead, company, ...record }: Row): Row {
  if (lead === undefined) return record
  const { name, domain } = (company ?? {}) as Row
  const { most_probable_email: email, ...person } = lead as Row
  return { ...person, email, company_name: name, company_domain: domain }
}
