import { describe, expect, it } from 'vitest'
import { command } from '../support/command.js'

const shown = async (...argv: string[]) => (await command(argv)).stdout

describe('help', () => {
  it('prints an overview when no command is given', async () => {
    expect(await shown()).toMatchSnapshot()
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

  it('exits 0 however help is requested', async () => {
    const ways = [
      [],
      ['--help'],
      ['-h'],
      ['help'],
      ['accounts'],
      ['help', 'accounts', 'enrich'],
      ['credits', '-h'],
    ]
    for (const argv of ways) expect([argv, (await command(argv)).code]).toEqual([argv, 0])
  })

  it('prints the same for help COMMAND and COMMAND --help', async () => {
    expect(await shown('help', 'credits', 'consumption')).toBe(
      await shown('credits', 'consumption', '--help'),
    )
  })

  it('wraps help at the width of the terminal', async () => {
    const { stdout } = await command(['leads', 'advanced-search', '--help'], { terminal: true, columns: 70 })
    const options = stdout.slice(0, stdout.indexOf('Price:')).split('\n')
    expect(Math.max(...options.map((line) => line.length))).toBeLessThanOrEqual(70)
  })

  it('prints bold headings on a terminal only', async () => {
    const { stdout } = await command(['accounts'], { terminal: true, env: { NO_COLOR: '' } })
    expect(stdout).toContain('\u001b[1mUsage:\u001b[22m')
    expect(await shown('accounts')).not.toContain('\u001b')
  })
})
