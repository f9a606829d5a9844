import { isUnlimited, quotaLabel, quotaNames } from '../../../api/operations/plans.js'
import { writeTo } from '../../../runs/output/writer.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import type { Context } from '../../context/context.js'
import { findKeyOf } from '../../context/credentials.js'
import { styledStream } from '../../context/io.js'
import { isThere } from '../../context/open-databases.js'
import { reportOf } from '../../messages.js'
import { record } from '../../output/table.js'
import {
  countOf,
  drawable,
  formatLeft,
  formatNumber,
  type Look,
  lookOn,
  wrapText,
} from '../../output/text.js'
import { describeServer, placeOf } from '../../target/local-target.js'
import { type RemoteTarget, targetIn } from '../../target/resolve-target.js'

/** A name, and what is said of it. */
type Facts = Readonly<Record<string, string>>

/** The first commands where nothing is set up. */
const beginnings: Facts = {
  'prospect init': 'connect a server, or use your own data',
  'prospect data sample': 'practise offline with invented companies and people',
}

/** The commands that most people need, twelve at most. */
const commonCommands: Readonly<Record<string, Facts>> = {
  'Look up': {
    'accounts enrich': 'A company by its domain; with --csv, those of a file',
    'accounts search': 'Companies that match filters',
    'leads search': 'People at a company',
    'contacts waterfall': 'Email address and phone of a person',
    'runs list': 'Batches of lookups; runs resume goes on with one',
  },
  Money: {
    limits: 'Credits, quotas and rate limits: what is left',
    ledger: 'What commands on this machine spent',
  },
  'This machine': {
    init: 'Choose where lookups go: a server, your own data, or practice',
    'data import': 'Load your own companies, people, jobs or posts',
    dashboard: 'Credits, runs and events in the browser',
    doctor: 'Find problems, and how to fix them',
  },
}

const rest = `All commands:  prospect help
One command:   prospect help accounts enrich
Price first:   add --dry-run to any lookup`

/**
 * Prints what `prospect` says on its own: the state of this machine, the commands that most people need, and where the others
 * are. It waits for no network, changes nothing, and says what is wrong where something cannot be read.
 */
export async function printOverview(context: Context, purpose: string): Promise<void> {
  const { stdout } = context.streams
  const look = lookOn(context, stdout)
  const { isSetUp, facts } = await stateOf(context).catch(troubleOf)
  const state = isSetUp
    ? record(facts, look).trimEnd()
    : `This machine is not set up yet. Choose one:\n${linesOf(beginnings, look)}`
  const groups = Object.entries(commonCommands).map(
    ([heading, some]) => `${look.bold(`${heading}:`)}\n${linesOf(some, look)}`,
  )
  const text = [wrapText(purpose, look.width).join('\n'), state, ...groups, rest].join('\n\n')
  await writeTo(styledStream(stdout), `${drawable(context.redact(text), look)}\n`)
}

const nameWidth = Math.max(
  ...[beginnings, ...Object.values(commonCommands)].flatMap(Object.keys).map(({ length }) => length),
)

function linesOf(commands: Facts, { width }: Look): string {
  const margin = nameWidth + 4
  const room = Math.max(16, Math.min(width, 110) - margin)
  return Object.entries(commands)
    .map(([name, summary]) => {
      const lines = wrapText(summary, room)
      return `  ${name}`.padEnd(margin) + lines.join(`\n${' '.repeat(margin)}`)
    })
    .join('\n')
}

interface State {
  readonly isSetUp: boolean
  readonly facts: Facts
}

async function stateOf(context: Context): Promise<State> {
  const target = targetIn(context)
  if (target.kind === 'remote')
    return { isSetUp: true, facts: { ...serverFacts(context, target), ...(await runFacts(context)) } }
  // A database on a server would have to be waited for.
  if (isPostgres(context.home.engine)) {
    const facts = { 'Answers from': `the engine ${placeOf(context.home)}`, Left: toAsk }
    return { isSetUp: true, facts }
  }
  if (!(await context.isSetUp())) return { isSetUp: false, facts: {} }
  return { isSetUp: true, facts: { ...(await engineFacts(context)), ...(await runFacts(context)) } }
}

const toAsk = 'To ask the server: prospect limits'

/** Returns what this machine knows of a server, which is not asked. */
function serverFacts({ home, streams }: Context, target: RemoteTarget): Facts {
  const stored = findKeyOf(home, target)
  const isGiven = Boolean(streams.env.PROSPECT_API_KEY)
  const key = isGiven ? 'that of PROSPECT_API_KEY' : stored ? 'stored' : 'none yet. Store one: prospect login'
  return {
    'Answers from': describeServer(target, isGiven ? undefined : stored?.member).text,
    Profile: target.profile === 'default' ? '' : target.profile,
    Key: key,
    Left: isGiven || stored ? toAsk : '',
  }
}

async function engineFacts(context: Context): Promise<Facts> {
  const { plan, credits, quotas } = await (await context.admin()).status()
  const counted = quotaNames.filter((name) => !isUnlimited(quotas[name].remaining))
  const left = counted.map(
    (name) => `${formatNumber(quotas[name].remaining)} ${quotaLabel(name).toLowerCase()}`,
  )
  return {
    'Answers from': (await context.source())?.text ?? '',
    Plan: plan,
    'Credits left': `${formatLeft(credits.enrichment)}${credits.held ? `, ${formatNumber(credits.held)} held` : ''}`,
    'Quotas left': left.join(', '),
  }
}

/** Returns how many runs can be resumed, of which this machine keeps a record; nothing where there are none. */
async function runFacts(context: Context): Promise<Facts> {
  if (!isThere(context.home.state)) return {}
  const { flowOf, openRuns } = await import('../../../runs/records.js')
  const stopped = await (await openRuns(context)).runs.list({ status: 'stopped' })
  // A flow is resumed whole: its steps are no runs of their own here.
  const { length } = stopped.filter((run) => flowOf(run) === undefined)
  return length === 0 ? {} : { Runs: `${countOf(length, 'run')} stopped before the end: prospect runs list` }
}

/** Returns the state of a machine whose settings or databases cannot be read. */
function troubleOf(error: unknown): State {
  const report = reportOf(error)
  if (!report) throw error
  return {
    isSetUp: true,
    facts: { Problem: `${report.error} ${report.hint}`.trim(), Check: 'prospect doctor' },
  }
}
