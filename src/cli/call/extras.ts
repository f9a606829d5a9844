import { InvalidArgumentError, Option } from 'commander'
import type { Reply } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { isListedPlan, isUnlimited, planOf } from '../../api/operations/plans.js'
import type { OperationId } from '../../api/operations/table.js'
import { isObject } from '../../api/values/objects.js'
import type { Context } from '../context/context.js'
import { profileInUse } from '../context/home.js'
import type { Invocation } from '../options/command-environment.js'
import { groups } from '../options/help.js'
import { attribute } from '../options/schema-options.js'
import { notNegative, whole } from '../options/values.js'
import { numberAt, stringAt, valueAt } from '../output/records.js'
import { formatNumber, type Look, oneLine } from '../output/text.js'

interface Extra {
  readonly layout?: (body: unknown, look: Look) => Promise<string>
  readonly ids?: readonly string[]
  /** What an empty list says. */
  readonly empty?: string
  options?(): Option[]
  /** Says more of a success that was printed. Throws where the command fails nevertheless. */
  after?(context: Context, reply: Reply, invocation: Invocation): Promise<void>
}

/** Loads what draws, which output into a pipe does not need. */
const views = () => import('./views.js')

const extras: Partial<Readonly<Record<OperationId, Extra>>> = {
  'credits.show': {
    layout: async (body, look) => (await views()).creditsView(body, look),
    options: checkOptions,
    after: async (context, reply, invocation) => {
      await checkMinimums(context, reply, invocation)
      await showSource(context, reply)
      const left = numberAt(reply.body, 'credits.enrichment')
      if (left === undefined || !isUnlimited(left) || !context.isLocal()) return
      const stands = context.streams.stdout.isTTY ? '' : `; ${left} stands for no limit`
      context.notify(`Your own data costs no credits and uses up no quota${stands}.`)
    },
  },
  'account.show': { after: showSource },
  'accounts.headcount': {
    layout: async (body, look) => (await views()).headcountView(body, look),
    after: async (context, { body }, { options }) => {
      if (!isObject(body) || !Array.isArray(options.departments)) return
      const known = new Set(Object.keys(body).map((name) => name.toLowerCase()))
      const missing = options.departments.filter((name: string) => !known.has(name.trim().toLowerCase()))
      if (missing.length > 0)
        context.notify(
          oneLine(
            `No headcount is known of: ${missing.join(', ')}. Without --departments, all that are known are shown.`,
          ),
        )
    },
  },
  'searches.list': {
    ids: ['id'],
    empty: 'No searches found. Start one: prospect leads extract',
    after: async (context, { body }, { options }) => {
      if (numberAt(body, 'pagination.total_count') === 0 && options.enriched !== false)
        context.notify(
          'Only searches whose people have an email address or phone are listed. For all: prospect searches list --no-enriched',
        )
    },
  },
  'lists.get': { layout: async (body, look) => (await views()).listView(body, look) },
  'lists.list': {
    ids: ['id'],
    empty: 'No lists found. Make one: prospect lists create --name NAME --csv FILE',
  },
  'personas.list': {
    ids: ['id'],
    empty: 'No personas found. Make one: prospect personas create --name NAME',
  },
}

export const extraOf = (id: OperationId): Extra => extras[id] ?? {}

/** What `prospect credits` checks: the field of the reply, its noun, and the option. */
const minimums = [
  { field: 'enrichment', what: 'credits', flag: '--min-credits' },
  { field: 'daily_profile_scraping', what: 'daily profiles', flag: '--min-daily-profiles' },
  { field: 'daily_company_import', what: 'daily companies', flag: '--min-daily-companies' },
  { field: 'monthly_company_import', what: 'monthly companies', flag: '--min-monthly-companies' },
] as const

function checkOptions(): Option[] {
  return minimums.map(({ flag, what }) =>
    new Option(`${flag} <n>`, `exit 13 when fewer ${what} are left than this number or percentage`)
      .argParser(parseMinimum)
      .helpGroup(groups.request),
  )
}

function parseMinimum(text: string): number | string {
  if (!text.endsWith('%')) return whole(text)
  const percent = notNegative(text.slice(0, -1))
  if (percent > 100) throw new InvalidArgumentError('Give at most 100%.')
  return `${percent}%`
}

/** Throws where less is left than the options want. It names everything that is short, or that the target does not say. */
async function checkMinimums(context: Context, { body }: Reply, { options }: Invocation): Promise<void> {
  const short: string[] = []
  for (const { field, what, flag } of minimums) {
    const given = options[attribute(flag.slice(2))]
    if (given === undefined) continue
    const wanted = String(given)
    const left = numberAt(body, `credits.${field}`)
    const isShare = wanted.endsWith('%')
    const all = isShare ? await wholeOf(context, field, body) : 0
    if (left === undefined || all === undefined) {
      const reason = left !== undefined ? `what ${wanted} of them are` : 'how many are left'
      short.push(`${flag}: the target does not say ${reason}`)
      continue
    }
    const least = isShare ? (all * Number.parseFloat(wanted)) / 100 : Number(wanted)
    const shown = isShare ? `${wanted} (${formatNumber(Math.ceil(least))})` : formatNumber(least)
    if (left < least) short.push(`${formatNumber(left)} ${what} are left, fewer than ${shown}`)
  }
  if (short.length > 0) throw new Refusal('usage.below_minimum', { short: short.join('; ') })
}

/** Returns what 100 % of a number is: the limit of the quota, or the plan's credits of a month; `undefined` if unknown. */
async function wholeOf(context: Context, field: string, body: Reply['body']): Promise<number | undefined> {
  if (field !== 'enrichment') return numberAt(body, `limits.${field}`)
  const reply = await (await context.caller()).call('account.show', {}, { apiKey: await context.apiKey() })
  const plan = valueAt(reply.body, 'workspace.plan') ?? profileInUse(context).plan
  return typeof plan === 'string' && isListedPlan(plan) ? planOf(plan).monthlyCredits : undefined
}

/** Names on a terminal where answers come from. With `--verbose` that is named already. */
async function showSource(context: Context, { body }: Reply): Promise<void> {
  if (!context.streams.stdout.isTTY || context.globals.verbose) return
  await context.notifySource(stringAt(body, 'account.email'))
}
