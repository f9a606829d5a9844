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

  it('prints the help of every command on at most 45 lines, or 20 more than it has options, apart from what is wrapped', async () => {
    const shared = ['Many rows', 'Output', 'Target and key', 'Other']
    const long: unknown[] = []
    for (const { argv, options, text } of await pages()) {
      const own = options.filter(({ group }) => !shared.includes(group ?? ''))
      const lines = text.trimEnd().split('\n')
      const begun = lines.filter((line) => !/^ {8,}\S/.test(line))
      if (begun.length > Math.max(45, own.length + 20)) long.push([argv, own.length, begun.length])
      const wide = lines.filter((line) => line.length > 80 && !line.startsWith('  $ '))
      if (wide.length > 0) long.push([argv, wide])
    }
    expect(long).toEqual([])
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
    const text = (await shown('leads', 'search', '--help')).replace(/\s+/g, ' ')
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
