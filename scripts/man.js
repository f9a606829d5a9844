/** Writes the man pages and the completions of the program that was built into a folder, from its own map of commands. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { load } from '../bin/load.js'
import { readJson, root } from './run.js'

const everywhere = ['Output', 'Other']
const ofTarget = 'Target and key'
const completions = { bash: 'prospect.bash', zsh: '_prospect', fish: 'prospect.fish' }

/** Writes `man/` and `completions/` into the folder. Throws where package.json lists other pages than there are. */
export async function writeManuals(folder, exits) {
  const home = await mkdtemp(join(tmpdir(), 'prospect-man-'))
  try {
    const { main } = load(folder)
    const print = async (...argv) => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough().resume()]
      const stdin = new PassThrough()
      const printed = text(stdout)
      await main(argv, { stdin, stdout, stderr, env: { PROSPECT_HOME: home }, cwd: home })
      stdout.end()
      return printed
    }
    const { version, man } = readJson('package.json')
    const pages = manPages(JSON.parse(await print('commands', '--json')), version, exits)
    const names = Object.keys(pages).sort()
    if (
      names.join() !==
      man
        .map((path) => basename(path))
        .sort()
        .join()
    )
      throw new Error(`"man" in package.json has to list: ${names.join(', ')}`)
    await mkdir(join(folder, 'man'))
    await mkdir(join(folder, 'completions'))
    for (const name of names) await writeFile(join(folder, 'man', name), pages[name])
    for (const [shell, name] of Object.entries(completions))
      await writeFile(join(folder, 'completions', name), await print('completion', shell))
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** Returns the pages by name: the program's with the commands that stand alone, and one for each area of several. */
export function manPages(map, version, exits) {
  const areas = Map.groupBy(map, ({ command }) => command.split(' ')[0])
  const several = [...areas].filter(([, commands]) => commands.length > 1)
  const alone = [...areas].flatMap(([, commands]) => (commands.length > 1 ? [] : commands))
  const [shared, target] = [everywhere, [ofTarget]].map((groups) =>
    map[0].options.filter(({ group }) => groups.includes(group)),
  )
  const main = [
    head('prospect', version, 'enrich companies and contacts from the command line'),
    '.SH SYNOPSIS',
    '.B prospect',
    '.I area command',
    '[options]',
    '.SH DESCRIPTION',
    'See the price first, and never pay twice. These areas have pages of their own:',
    ...several.map(([area]) => `.IP \\(bu 2\n${bold(`prospect-${area}`)}(1)`),
    '.SH COMMANDS',
    ...alone.map((command) => describe(command, target)),
    '.SH OPTIONS OF EVERY COMMAND',
    ...shared.map(option),
    '.SH OPTIONS THAT CHOOSE A TARGET',
    'Every lookup has them, and each other command that asks a server.',
    ...target.map(option),
    '.SH EXIT STATUS',
    ...exits.map(([code, meaning, advice]) =>
      item(String(code), [meaning, advice].filter(Boolean).join(' ')),
    ),
    '.SH ENVIRONMENT',
    item('PROSPECT_HOME', 'One folder for settings, keys and data.'),
    item('PROSPECT_PROFILE, PROSPECT_BASE_URL, PROSPECT_API_KEY', 'As the options.'),
    item('PROSPECT_DATABASE_URL', "The engine's database: a file path or postgres://…"),
    item('PROSPECT_DATABASE_DIRECT_URL', "The server's own address behind a connection pooler"),
    item('NO_COLOR, PAGER, HTTPS_PROXY, HTTP_PROXY, NO_PROXY, CI', 'Obeyed.'),
  ]
  const pages = { 'prospect.1': main }
  for (const [area, commands] of several)
    pages[`prospect-${area}.1`] = [
      head(`prospect-${area}`, version, `the ${area} commands of prospect`),
      '.SH SYNOPSIS',
      `.B prospect ${escapeRoff(area)}`,
      '.I command',
      '[options]',
      '.SH COMMANDS',
      ...commands.map((command) => describe(command, target)),
      '.SH SEE ALSO',
      `${bold('prospect')}(1), for the options of every command and those that choose a target`,
    ]
  return Object.fromEntries(Object.entries(pages).map(([name, lines]) => [name, `${lines.join('\n')}\n`]))
}

const head = (name, version, summary) =>
  `.TH ${name.toUpperCase()} 1 "${new Date().toISOString().slice(0, 10)}" "prospect ${version}"\n.SH NAME\n${escapeRoff(name)} \\- ${escapeRoff(summary)}`

function describe({ command, flag, summary, price, limits, arguments: words, options }, target) {
  const asked = options.filter(({ group }) => group === ofTarget)
  const own = options.filter(
    ({ group }) => !everywhere.includes(group) && !(group === ofTarget && asked.length === target.length),
  )
  const title = ['prospect', command, flag].filter(Boolean).join(' ')
  return [
    `.SS ${escapeRoff(title)}`,
    escapeRoff(
      `${summary.replace(/\.$/, '')}.${price ? ` Price: ${price}` : ''}${limits ? ` Limits: ${limits}` : ''}`,
    ),
    ...words.map(({ name, description, values }) =>
      item(name, values ? `${description}: ${values.join(' | ')}` : description),
    ),
    ...own.map(option),
  ].join('\n')
}

const option = ({ flags, description }) => item(flags, description)
const item = (term, description) => `.TP\n${bold(term)}\n${escapeRoff(description) || '\\&'}`
const bold = (term) => `\\fB${escapeRoff(term)}\\fR`

/** Returns text in which nothing is an instruction of roff. */
const escapeRoff = (plain) =>
  plain
    .replace(/\s+/g, ' ')
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&')
    .replace(
      /[^\0-\x7e]/gu,
      (letter) => `\\[u${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )

/** Returns the rows of the table of exit codes in the sources: number, meaning, advice. */
export async function exitRows() {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    stdin: {
      contents: `export { exitCodes } from './exit-codes.js'; export { default as exitMeanings } from './exit-meanings.json'`,
      resolveDir: join(root, 'src/api/calls'),
    },
    bundle: true,
    write: false,
    format: 'esm',
  })
  const source = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
  const { exitCodes, exitMeanings } = await import(source)
  return Object.entries(exitCodes)
    .sort(([, one], [, other]) => one - other)
    .map(([name, code]) => [code, ...Object.values(exitMeanings[name])])
}
