import { describe, expect, it } from 'vitest'
import { once } from '../../src/api/values/objects.js'
import type { MappedCommand } from '../../src/cli/program/program.js'
import { command } from '../support/command.js'

const shown = async (...argv: string[]) => (await command(argv)).stdout

/** Every command with the words that ask for its help, and its help in a pipe. */
const pages = once(async () => {
  const map = JSON.parse(await shown('commands', '--json')) as MappedCommand[]
  return Promise.all(
    map.map(async ({ command: words, flag, options }) => {
      const argv = [...words.split(' '), ...(flag ? [flag] : []), '--help']
      return { argv, options, text: await shown(...argv) }
    }),
  )
})

describe('help', () => {
  it('prints every command', async () => {
    expect(await shown('help')).toMatchSnapshot()
  })

  it('prints the commands of an area', async () => {
    expect(await shown('accounts')).toMatchSnapshot()
  })

  it('prints the fields, options, price, limits and examples of a command', async () => {
    expect(await shown('accounts', 'enrich', '--help')).toMatchSnapshot()
  })

  it('prints the fields of the variant that a flag selects', async () => {
    const [whole, preview] = [
      await shown('accounts', 'search', '--help'),
      await shown('accounts', 'search', '--preview', '--help'),
    ]
    expect(whole).toContain('--webhook-url')
    expect(preview).not.toContain('--webhook-url')
    expect(preview).toContain('Preview a company search')
  })

  it.each(Object.entries({ csv: '--max-credits', all: '--profile' }))(
    'prints other options of a command with --help %s',
    async (topic, option) => {
      const [own, more] = [
        await shown('accounts', 'enrich', '--help'),
        await shown('accounts', 'enrich', '--help', topic),
      ]
      expect([own.includes(option), more.includes(option)]).toEqual([false, true])
    },
  )

  it('fits a narrow terminal but for commands to copy, and says in few words what costs', async () => {
    const { stdout } = await command(['accounts', 'enrich', '--help'], { terminal: true, columns: 60 })
    const wide = stdout.split('\n').filter((line) => line.length > 60 && !line.startsWith('  $ '))
    expect(wide).toEqual([])
    expect(stdout).toMatch(/--refresh +Pay again\n/)
  })

  it('prints the help of every command on at most 45 lines of 80 columns', async () => {
    const long: unknown[] = []
    for (const { argv, text } of await pages()) {
      const lines = text.trimEnd().split('\n')
      if (lines.length > 45) long.push([argv, lines.length])
      const wide = lines.filter((line) => line.length > 80 && !line.startsWith('  $ '))
      if (wide.length > 0) long.push([argv, wide])
    }
    expect(long).toEqual([])
  })

  it('names every option of a command in its help, and explains each one with --help all', async () => {
    const shared = ['Many rows', 'Every request', 'Output', 'Target and key', 'Other']
    const missing: unknown[] = []
    for (const { argv, options, text } of await pages()) {
      const own = options.filter(({ group }) => !shared.includes(group ?? ''))
      missing.push(...own.filter(({ name }) => !text.includes(name)).map(({ name }) => [argv, name]))
    }
    expect(missing).toEqual([])
    const whole = (await shown('leads', 'advanced-search', '--help', 'all')).replace(/\s+/g, ' ')
    expect(whole).toContain('--relationship <text> Degrees of connection (repeatable)')
  })

  it('takes at most 80 options on one command, and tells programs the type, default and group of each', async () => {
    const all = await pages()
    expect(all.filter(({ options }) => options.length > 80).map(({ argv }) => argv)).toEqual([])
    const options = all.flatMap((page) => page.options)
    expect(options.filter(({ type, group }) => !type || group === undefined)).toEqual([])
    const found = (command: string, option: string) =>
      all
        .find(({ argv }) => argv.join(' ') === `${command} --help`)
        ?.options.find(({ name }) => name === option)
    expect(found('accounts enrich', '--csv')).toMatchObject({
      type: 'file',
      default: null,
      group: 'Many rows',
    })
    expect(found('accounts enrich', '--concurrency')).toMatchObject({ type: 'number', default: '256' })
    expect(found('intents stack', '--stack-match')).toMatchObject({ type: 'enum', default: 'or' })
    expect(found('contacts waterfall', '--enrichment-type')).toMatchObject({ type: 'list', group: 'Fields' })
    expect(found('accounts enrich', '--no-live')).toMatchObject({ type: 'boolean' })
  })

  it('wraps the sentence of every option at 60 columns, and cuts none', async () => {
    const cut: unknown[] = []
    const plain = (text: string) => text.replace(/\s+/g, ' ')
    for (const { argv, options } of await pages()) {
      const { stdout } = await command([...argv, 'all'], { terminal: true, columns: 60 })
      const text = plain(stdout)
      cut.push(...options.filter(({ description }) => !text.includes(plain(description))))
      cut.push(...stdout.split('\n').filter((line) => line.length > 60 && !line.startsWith('  $ ')))
    }
    expect(cut).toEqual([])
  })

  it('lists the names that an enumerated option takes', async () => {
    const text = (await shown('leads', 'search', '--help', 'all')).replace(/\s+/g, ' ')
    expect(text).toContain('Seniority levels, by id or name (In Training | Entry Level | Senior |')
    expect(text).toContain('| Sales | Customer Success and Support)')
  })

  it('prints options, output and examples of a file with --help csv', async () => {
    const text = await shown('accounts', 'enrich', '--help', 'csv')
    for (const option of ['-o, --output', '--dry-run', '--layout']) expect(text).toContain(`  ${option}`)
    expect(text).toContain('$ prospect accounts enrich --csv companies.csv -o enriched.csv')
    expect(text).not.toContain('$ prospect accounts enrich acme-robotics.example')
  })

  it('says which command of leads to choose', async () => {
    expect(await shown('leads', '--help')).toMatch(
      /Which one finds people\?\n {2}search .*\n {2}advanced-search .*\n {2}extract /,
    )
  })

  it('separates the groups of every command by an empty line, and names the values of an option', async () => {
    const close: unknown[] = []
    for (const { argv, text } of await pages()) {
      const headings = [...text.matchAll(/(?<!\n)\n([A-Z][\w ]+:)\n/g)].map(([, heading]) => heading)
      if (headings.length > 0) close.push([argv, headings])
    }
    expect(close).toEqual([])
    expect(await shown('contacts', 'waterfall', '--help')).toMatch(
      /\(required; email \| phone \|\s+personal_email\)/,
    )
    expect(await shown('data', 'import', '--help')).toContain('companies | people | jobs | posts')
  })

  it('exits 0 however help is requested', async () => {
    const ways = ['', '--help', '-h', 'help', 'accounts', 'help accounts enrich', 'accounts help']
    const others = [
      '--help accounts',
      'help help',
      'help version',
      'accounts enrich --help=all',
      'credits -h',
    ]
    for (const line of [...ways, ...others]) expect([line, (await command(line)).code]).toEqual([line, 0])
  })

  it('prints the same for help COMMAND and COMMAND --help', async () => {
    expect(await shown('help', 'credits', 'consumption')).toBe(
      await shown('credits', 'consumption', '--help'),
    )
  })

  it('prints bold headings on a terminal only', async () => {
    const { stdout } = await command('accounts', { terminal: true, env: { NO_COLOR: '' } })
    expect(stdout).toContain('\u001b[1mUsage:\u001b[22m')
    expect(await shown('accounts')).not.toContain('\u001b')
  })
})
