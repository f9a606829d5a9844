import { Command, CommanderError } from 'commander'
import { Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { ListedFault, WantedFault } from '../../../engine/admin/faults.js'
import type { FaultRules } from '../../../engine/tables/faults.js'
import type { Streams } from '../../context/context.js'
import { Stop, toFlag } from '../../context/errors.js'
import { readText } from '../../context/io.js'
import type { CommandFactory } from '../../options/command-environment.js'
import {
  durationMs,
  isoTime,
  numberWhere,
  type OptionsOf,
  optionRows,
  positive,
  positiveWhole,
  toOptions,
  whole,
} from '../../options/values.js'
import { toUsageError } from '../../output/print.js'

export const faultsCommand: CommandFactory = ({ command, group }) =>
  group('faults', 'Failures on request, to test scripts: refusals, delays, lost answers and deliveries', [
    command('add', 'Let calls or deliveries fail from now on')
      .argument(...where)
      .withOptions(faultRows)
      .printAdmin(async (admin, { args: [place = ''], options }) =>
        toFaultView(await admin.addFault(toWanted(place, options))),
      ),
    command('list', 'List the faults, and how many calls each has changed')
      .reads('engine')
      .printAdmin(async (admin) => (await admin.faults()).map(toFaultView), {
        columns: ['id', 'where', 'fault', 'matched', 'fired'],
        ids: ['id'],
        empty: 'No faults are set.',
      }),
    command('remove', 'Remove a fault')
      .argument('<id>', 'id of the fault, as faults list shows it')
      .printAdmin(async (admin, { args: [id = ''] }) => {
        const number = Number(/^f?(\d+)$/.exec(id)?.[1] ?? 0)
        if (await admin.removeFault(number)) return { id, removed: true }
        const hint = 'See what there is: prospect engine faults list'
        throw new Stop(`There is no fault ${id}.`, exitCodes.notFound, hint, 'not_found')
      }),
    command('clear', 'Remove all faults').printAdmin(async (admin) => ({
      removed: await admin.clearFaults(),
    })),
    command('apply', 'Set the faults of a file in place of those that there are, counting from 0')
      .argument('<file>', 'one fault a line, as after faults add; # begins a comment')
      .withOptions(seedRow)
      .printAdmin(async (admin, { args: [file = ''], options: { seed } }, { streams }) =>
        (await admin.applyFaults(await readFaults(streams, file, seed))).map(toFaultView),
      ),
  ])

const share = numberWhere(positive, (value) => value <= 1, 'Give a share above 0 and up to 1, such as 0.1.')

const ruleRows = optionRows({
  status: ['<n>', 'refuse with this status: 400, 401, 402, 403, 404, 409, 422, 429, 500 or 503', whole],
  code: ['<code>', 'with --status: the error, such as workspace_limit_exceeded or plan_limit_reached'],
  retryAfter: ['<seconds>', 'with --status: ask to wait this long', whole],
  network: ['', 'with --status 429: refuse as the network behind the service does'],
  invalidSession: ['', 'refuse what needs a session on the network'],
  delay: ['<duration>', 'do the work and answer this much later, such as 2s', durationMs],
  timeout: ['', 'do the work and never answer'],
  drop: ['<when>', 'close the connection: before the work, or after it', ['before', 'after']],
  truncate: ['', 'do the work and send half of the answer'],
  garble: ['', 'do the work and answer with something that is not JSON'],
  lose: ['', 'deliveries: never send it, although it counts as delivered'],
  late: ['<duration>', 'deliveries: send it this much later (engine time, at most 1d)', durationMs],
  double: ['', 'deliveries: send it twice'],
  reorder: ['', 'deliveries: send it after the one that follows it'],
  badSignature: ['', 'deliveries: sign the first attempt with a wrong secret'],
  rate: ['<share>', 'change this share of the calls, such as 0.1 (default: every call)', share],
  nth: ['<n>', 'change every nth call', positiveWhole],
  count: ['<n>', 'change at most this many calls', positiveWhole],
  for: ['<duration>', 'end after this time (engine time)', durationMs],
})

const seedRow = optionRows({
  seed: ['<n>', 'choose the calls of --rate by this number: the same each time (default: 0)', whole],
})

const ofMember = optionRows({ member: ['<email>', 'change the calls of this member only'] })
const faultRows = optionRows({ ...ruleRows, ...ofMember, ...seedRow })

const where = ['<where>', 'an operation (accounts.enrich), a group (accounts), all, or deliveries'] as const

/** Returns the fault of some options, which may have those of every command among them. */
function toWanted(place: string, { member, seed, ...options }: OptionsOf<typeof faultRows>): WantedFault {
  const rules = Object.entries(options).filter(([name]) => Object.hasOwn(ruleRows, name))
  return { where: place, member, seed, rules: Object.fromEntries(rules) }
}

/** Returns the faults of a file: on each line what follows `engine faults add`. Throws a Refusal with the line of a mistake. */
export async function readFaults(streams: Streams, file: string, seed?: number): Promise<WantedFault[]> {
  const lines = (await readText(streams, file)).split('\n')
  return lines.flatMap((line, at) => {
    const words = line.replace(/(^|\s)#.*$/, '').match(/\S+/g) ?? []
    return words.length === 0 ? [] : [readFault(words, `Line ${at + 1} of ${file}`, seed)]
  })
}

function readFault(words: readonly string[], place: string, seed: number | undefined): WantedFault {
  const parser = new Command().exitOverride().helpOption(false).allowExcessArguments(false)
  parser.configureOutput({ writeErr: () => {}, outputError: () => {} }).argument(...where)
  for (const option of toOptions(faultRows)) parser.addOption(option)
  try {
    parser.parse(words, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    throw new Refusal('usage.fault_line', { place, reason: toUsageError(error).message })
  }
  const fault = toWanted(parser.args[0] ?? '', parser.opts<OptionsOf<typeof faultRows>>())
  return { ...fault, seed: fault.seed ?? seed }
}

const toFaultView = ({ id, place, member, rules, seed, matched, fired, createdAt }: ListedFault) => ({
  id,
  where: place,
  member,
  fault: toWords(rules),
  seed,
  matched,
  fired,
  created_at: isoTime(createdAt),
  ends_at: isoTime(rules.for === undefined ? null : createdAt + rules.for),
})

const durations: readonly string[] = ['delay', 'late', 'for']

const toWords = (rules: FaultRules): string =>
  Object.entries(rules)
    .map(([name, value]) => {
      const shown = durations.includes(name) ? `${Number(value) / 1_000}s` : value
      return value === true ? toFlag(name) : `${toFlag(name)} ${shown}`
    })
    .join(' ')
