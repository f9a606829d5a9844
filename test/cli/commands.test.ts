import { describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import type { MappedCommand } from '../../src/cli/program/program.js'
import { areas } from '../../src/cli/program/program.js'
import { command } from '../support/command.js'

const map = async (): Promise<MappedCommand[]> =>
  JSON.parse((await command('commands --json')).stdout) as MappedCommand[]

describe('prospect commands', () => {
  it('lists every operation with its price and options', async () => {
    const mapped = await map()
    expect(mapped.flatMap(({ operation }) => operation ?? [])).toEqual(operations().map(({ id }) => id))
    const enrich = mapped.find(({ operation }) => operation === 'accounts.enrich')
    expect(enrich).toMatchObject({
      command: 'accounts enrich',
      method: 'POST',
      path: '/accounts/single_enrich',
      price: '1 credit per company found; nothing found costs nothing.',
      idempotent: true,
    })
    expect(enrich?.options.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['--domain', '--no-live', '--csv', '--dry-run', '--format']),
    )
  })

  it('lists each command once, and each of its options', async () => {
    const mapped = await map()
    const names = mapped.map(({ command: words, flag }) => `${words} ${flag ?? ''}`)
    expect(new Set(names).size).toBe(names.length)
    for (const { command: words, options } of mapped)
      expect([words, options.length]).toEqual([words, new Set(options.map(({ name }) => name)).size])
  })

  it('prints a table on a terminal', async () => {
    const { stdout } = await command('commands', { terminal: true })
    expect(stdout).toMatch(/^Command +Flag +Summary +Price/)
  })
})

describe('commands derived from operations', () => {
  it('every area of commands has a summary', () => {
    const used = new Set(operations().map(({ command: words }) => words.split(' ')[0]))
    expect([...used].sort()).toEqual(Object.keys(areas).sort())
  })
})
