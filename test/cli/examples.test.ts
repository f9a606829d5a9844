import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createCommandEnvironment } from '../../src/cli/options/command-environment.js'
import type { MappedCommand } from '../../src/cli/program/program.js'
import { buildProgram } from '../../src/cli/program/program.js'
import { createContext } from '../../src/cli/target/create.js'
import { type CommandResult, command, machine, streamsOf, wordsOf } from '../support/command.js'
import { perFile } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { loadSample } from '../support/sample.js'
import { acmemail } from '../support/vendors.js'

/** An example of the help of a command, without the leading `prospect`. */
interface Example {
  readonly words: string
  readonly line: string
}

const shown = async (...argv: string[]) => (await command(argv)).stdout

/** Returns every example that the help of these commands and their groups prints. */
async function allExamples(map: readonly MappedCommand[]): Promise<Example[]> {
  const named = map.map(({ command: words, flag = '' }) => `${words} ${flag}`.trim())
  const groups = named.flatMap((words) =>
    words.split(' ').map((_, at, all) => all.slice(0, at + 1).join(' ')),
  )
  const examples: Example[] = []
  for (const words of new Set([...groups, ...named])) {
    const help = await shown(...words.split(' '), '--help')
    for (const [, line = ''] of help.matchAll(/^ {2}\$ prospect (.*)$/gm)) examples.push({ words, line })
  }
  return examples
}

/**
 * Examples that would serve until a signal, or need a failed job, a server or an engine elsewhere: only their options are
 * checked.
 */
const isElsewhere = (line: string): boolean =>
  /^(?:serve|dashboard|worker|mcp|listen|login|logout|engine jobs retry|engine move|providers (?:test|stats|balance)|events trigger|crm|push)\b/.test(
    line,
  ) || /postgres:|api\.example\.com|--profile team|--to http|crm:hubspot/.test(line)

/** Returns the options of an example that its command does not know. Throws for a value that an option does not take. */
async function unknownOptions(line: string): Promise<readonly string[]> {
  const argv = [...wordsOf(line.replace(/ < .*$/, ''))]
  let found: Command = await buildProgram(
    createCommandEnvironment(createContext(streamsOf()), {
      command: async () => 0,
      operation: async () => 0,
    }),
    argv,
  )
  let rest = argv
  for (;;) {
    const next = found.commands.find((each) => each.name() === rest[0])
    if (!next) return found.parseOptions(rest).unknown
    found = next
    rest = rest.slice(1)
  }
}

/** Returns what is wrong with what an example printed, or wrote to the file of `-o`; `undefined` where it found something. */
function problemOf({ line }: Example, { code, stdout, stderr }: CommandResult, home: string): unknown {
  if (code !== 0) return [code, stderr]
  const file = / -o (\S+)/.exec(line)?.[1]
  const text = file === undefined ? stdout : readFileSync(join(home, file), 'utf8')
  if (/\b0 found/.test(stderr)) return stderr
  if (text.trim() === '') return stderr === '' ? 'nothing is printed' : undefined
  if (file?.endsWith('.csv') || / --format csv/.test(line))
    return text.trim().includes('\n') ? undefined : `no row: ${text}`
  const empty =
    /^\s*(?:\[\s*\]|\{\s*\})\s*$|"total(?:_count)?": 0\b|"(?:preview|leads|jobs|results|lists|searches|companies|contacts|suggestions)": \[\]/
  return empty.exec(text)?.[0]
}

/** What was done before: something of everything that an example names, the one that `--last` names included. */
const before = [
  'personas create --name Sellers --functions Sales',
  'lists create --name Targets --csv companies.csv --wait',
  'accounts enrich --csv companies.csv -o enriched.csv',
  'config set timeout 60',
  'data export jobs -o jobs.ndjson',
  'data export companies -o market.xlsx',
  'engine keys create --member me@localhost',
]

/** The last work: what `--last` names. */
const lastWork = [
  'contacts waterfall --first-name Lenya --last-name Hertel --domain acme-robotics.example --enrichment-type email',
  "leads extract 'https://www.network.example/search/results/people/?keywords=robotics' --limit 2",
]

const aFault = ['engine faults add all --delay 1s --count 1']
const nightly = ['profiles add nightly --max-wait 600']
const aFlow = ['flow run leads.yaml']
const vendor = ['providers add acmemail.yaml --key-stdin < acmemail.key']

/** What else is done before the examples of a command. */
const beforeOf: Readonly<Record<string, readonly string[]>> = {
  explain: ['accounts enrich --csv companies.csv -o found.csv --yes'],
  'engine members set': ['engine members add ann@example.com'],
  'engine members remove': ['engine members add ann@example.com'],
  'engine faults': aFault,
  'engine faults list': aFault,
  'engine faults remove': aFault,
  'flow show': aFlow,
  'flow resume': aFlow,
  'flow list': aFlow,
  'suppress remove': ['suppress add acme.example'],
  'suppress list': ['suppress add acme.example'],
  'engine workspaces use': ['engine workspaces create Trial'],
  'engine restore': ['engine backup engine-2026-03-01.db'],
  'config list': nightly,
  'config set': nightly,
  'profiles use': nightly,
  'profiles remove': nightly,
  'providers remove': vendor,
  'providers enable': vendor,
  'providers disable': vendor,
  'providers order': vendor,
}

const network = 'https://www.network.example'
const files: Readonly<Record<string, string>> = {
  'acmemail.yaml': acmemail(),
  'acmemail.key': 'an-invented-key',
  'companies.csv': [
    'Company,Website,Country,Profile',
    `Acme Robotics,acme-robotics.example,DE,${network}/company/acme-robotics`,
    `Birchwood & Sons,birchwood.example,GB,${network}/company/birchwood`,
  ].join('\n'),
  'people.csv': [
    'First name,Last name,Website,Email,Phone,Profile',
    `Lenya,Hertel,acme-robotics.example,lenya.hertel@acme-robotics.example,+493023125233,${network}/in/lenya-hertel-0000`,
    `Zaché,Denis,atelier-lumiere.example,zdenis@atelier-lumiere.example,+33639981832,${network}/in/zache-denis-0001`,
  ].join('\n'),
  'leads.yaml':
    'name: leads\ninput: { csv: companies.csv }\nsteps: [accounts.enrich]\noutput: { csv: leads.csv }\nbudget: { credits: 10 }\n',
  'do-not-contact.csv': 'Email\nbob@northwind.example\n',
  'faults.txt': 'accounts --drop after --rate 0.02 # an answer is lost now and then\n',
  'crm.csv': 'Contact,Website\nAda Byron,acme-robotics.example\n',
  'people.json': JSON.stringify({
    leads: ['lenya-hertel-0000', 'zache-denis-0001'].map((name) => ({
      network_url: `${network}/in/${name}`,
    })),
  }),
  'contacts.json': JSON.stringify({
    contacts: [{ firstname: 'Lenya', lastname: 'Hertel', domain: 'acme-robotics.example' }],
  }),
  'list.json': JSON.stringify({ name: 'Robots', companies: [{ domain: 'acme-robotics.example' }] }),
}

const uuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/

const template = perFile(newFolder)
const mapped = JSON.parse(await shown('commands', '--json')) as readonly MappedCommand[]
const examples = await allExamples(mapped)
// One that a group shows, too, is tried for its command.
const eachOnce = [...new Map(examples.map((each) => [each.line, each])).values()]
const ofCommands = Object.entries(Object.groupBy(eachOnce, ({ words }) => words)).map(
  ([words, own = []]) => ({
    words,
    here: own.filter(({ line }) => !isElsewhere(line)),
    elsewhere: own.filter(({ line }) => isElsewhere(line)),
  }),
)

/** Runs a line as a shell would: with its stdin from a file, and up to where its output goes elsewhere. */
async function run(line: string, home: string): Promise<CommandResult> {
  const [words = '', file] = line.replace(/ >> .*$/, '').split(' < ')
  const stdin = file === undefined ? '' : readFileSync(join(home, file), 'utf8')
  // Nobody answers the question whether to install, and nobody receives deliveries at an address elsewhere.
  const more = line.endsWith(' --install') ? ['--yes'] : /hooks\.example\S*$/.test(line) ? ['--no-wait'] : []
  const argv = [...wordsOf(words), ...more]
  return command(argv, { env: { PROSPECT_HOME: join(home, 'home'), HOME: home }, cwd: home, stdin })
}

async function runAll(lines: readonly string[], home: string): Promise<void> {
  for (const line of lines) {
    const { code, stderr } = await run(line, home)
    if (code !== 0) throw new Error(`${line}: ${stderr}`)
  }
}

/** Does work whose results a receiver of this machine gets. */
async function receive(lines: readonly string[], home: string): Promise<void> {
  const receiver = machine(join(home, 'home'))
  const listening = await receiver.start('listen --port 0 --json')
  const { url } = JSON.parse(listening.line) as { url: string }
  await runAll(
    lines.map((line) => `${line} --webhook-url ${url}`),
    home,
  )
  await listening.stop()
}

/** Returns a folder with a home in which everything that the examples name is there. */
async function prepare(words: string) {
  const folder = newFolder()
  onTestFinished(folder.remove)
  cpSync(template.path, folder.path, { recursive: true })
  chmodSync(folder.at('home'), 0o700)
  await runAll(beforeOf[words] ?? [], folder.path)
  return folder.path
}

/** Returns an example with an id that is there in place of the one it shows. */
async function withRealId({ line }: Example, home: string): Promise<string> {
  if (!line.startsWith('engine keys revoke ')) return line
  const { stdout } = await run('engine keys list --json', home)
  return line.replace(uuid, uuid.exec(stdout)?.[0] ?? '')
}

beforeAll(async () => {
  for (const [name, text] of Object.entries(files)) writeFileSync(template.at(name), text)
  await loadSample(template.at('home'))
  await runAll(before, template.path)
  await receive(lastWork, template.path)
})

describe('the examples of help', () => {
  it('are there for every command, with --csv where it looks up a file, and name things instead of ids', () => {
    const of = (words: string) => examples.filter((each) => each.words === words).map(({ line }) => line)
    const commands = mapped.map(({ command: words, flag = '', ...rest }) => ({
      words: `${words} ${flag}`.trim(),
      ...rest,
    }))
    expect(commands.filter(({ words }) => of(words).length === 0).map(({ words }) => words)).toEqual([])
    const ofFiles = commands.filter(
      ({ operation, options }) => operation && options.some(({ name }) => name === '--csv'),
    )
    expect(ofFiles.filter(({ words }) => !of(words).some((line) => line.includes(' --csv ')))).toEqual([])
    expect(
      examples.filter(({ line }) => /--(?:functions|seniority-levels|\w+-industries) \d/.test(line)),
    ).toEqual([])
  })

  it.each(ofCommands.filter(({ here }) => here.length > 0))(
    'of $words succeed and find something over the sample data',
    async ({ words, here }) => {
      const problems: unknown[] = []
      const home = await prepare(words)
      for (const example of here) {
        const problem = problemOf(example, await run(await withRealId(example, home), home), home)
        if (problem !== undefined) problems.push([example.line, problem])
      }
      expect(problems).toEqual([])
    },
  )

  it.each(ofCommands.filter(({ elsewhere }) => elsewhere.length > 0))(
    'of $words have options that it knows, where they need a server or a database elsewhere',
    async ({ elsewhere }) => {
      for (const { line } of elsewhere) expect([line, await unknownOptions(line)]).toEqual([line, []])
    },
  )
})
