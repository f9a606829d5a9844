import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { command, ends, stockedMachine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(stockedMachine)
beforeEach(() => here.write('in.csv', 'Foo,Bar\nx,a.example\ny,b\nz,c\n'))

const down = '\u001b[B'
const argv = ['accounts', 'enrich', '--csv', 'in.csv', '--dry-run', '--format', 'json']
const typed = [
  ['No column was recognised', `${down}\r`],
  ['What does "Bar" hold?', `${down}\r`],
  ['Which other column?', '\r'],
] as const

describe('columns that are not recognised', () => {
  it('asks for the column of a field at a terminal, and prints the option for the next time', async () => {
    const ended = await here.run(argv, { typed })
    expect(ended.json).toMatchObject({
      mapping: { columns: [{ field: 'domain', column: 'Bar', by: 'pin' }], unused: ['Foo'] },
    })
    expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('Next time: --map domain="Bar"')])
    const next = await here.run([...argv, '--map', 'domain=Bar'])
    expect([next.code, next.json]).toEqual([0, ended.json])
  })

  it.each([
    ['--no-input', ['--no-input'], {}],
    ['--yes', ['--yes'], {}],
    ['CI', [], { CI: 'true' }],
  ])('refuses a file without a recognised column with %s', async (_, more, env) => {
    const ended = await here.run([...argv, ...more], { env, typed })
    expect([ended.code, ended.stdout]).toEqual([2, ''])
    expect(ended.stderr).toContain('No column is recognised as')
  })
})

describe('a text that is no table', () => {
  it.each([
    ['a heading above a list', '# Targets\n\nAcme Robotics\nBlue Harbour\nCobalt Works\n'],
    ['an underlined heading', 'Targets\n=======\n\nAcme Robotics\nBlue Harbour\n'],
    [
      'a heading that is called like a column',
      'Country\n\nWe met these firms in France this year.\n- Acme\n',
    ],
    ['a marked heading that is called like a column', '# Phone\n\nCall these firms again in May.\n- Acme\n'],
  ])('is called that, whatever its first line is: %s', async (_, text) => {
    here.write('in.csv', text)
    const { code, stderr } = await here.run([...argv, '--no-input'])
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('The file reads like text, not like a table.'),
    ])
  })

  it('is not a list below the name of its column', async () => {
    for (const [name, field] of [
      ['# Company', 'name'],
      ['Website', 'domain'],
    ]) {
      here.write('in.csv', `${name}\nAcme Robotics\nBlue Harbour\nCobalt Works\n`)
      const { json } = await here.run(argv)
      expect(json).toMatchObject({ rows: 3, mapping: { columns: [{ field }] } })
    }
  })
})

it('shows a mapping within the width of the terminal, with other columns of a field in one sentence', async () => {
  const wide = join(import.meta.dirname, '../../fixtures/exports/evaboot.csv')
  const given = { env: { PROSPECT_HOME: here.home }, cwd: here.home, terminal: true, columns: 80 }
  const { stderr } = await command(['leads', 'enrich', '--csv', wide, '--dry-run'], given)
  expect(Math.max(...stderr.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
  expect(stderr.replaceAll('\n', ' ')).toContain(
    '"Linkedin URL Unique ID", "Sales Navigator URL" could be network_url too; "Linkedin URL Public" is used.',
  )
})

describe('an encoding of which two are equally likely', () => {
  const file = Buffer.from([...Buffer.from('company,domain\nPlat'), 0xec, ...Buffer.from(',a.example\n')])
  const question = 'Which of these is spelled right?'
  beforeEach(() => here.write('in.csv', file))

  it.each([
    ['windows-1250', '\r'],
    ['windows-1252', `${down}\r`],
  ])('is asked for at a terminal, and %s is what is read', async (label, key) => {
    const ended = await ends(
      here.run([...argv, '--map', 'name=company'], { typed: [[question, key]] }),
      0,
      `Next time: --encoding ${label}`,
    )
    const [{ sample }] = (ended.json as { mapping: { columns: [{ sample: string }] } }).mapping.columns
    expect(sample).toBe(new TextDecoder(label).decode(file.subarray(15, 20)))
  })

  it('is asked for by an import, which then takes the file', async () => {
    const ended = await here.run('data import companies in.csv', {
      typed: [[question, '\r']],
    })
    expect([ended.code, ended.json]).toMatchObject([0, { added: 1 }])
    expect(await here.json('data export companies --format json')).toContainEqual(
      expect.objectContaining({ name: 'Platě' }),
    )
  })
})
