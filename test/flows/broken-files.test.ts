import { beforeEach, describe, expect, it } from 'vitest'
import { ends, machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(machine)
beforeEach(async () => {
  await here.run('init')
  here.write('list.csv', 'name,domain\nAcme,acme.example\n')
})

const rest = 'steps: [accounts.enrich]\noutput: { csv: out.csv }\n'
const input = 'input: { csv: list.csv }\n'

/** Lists of lists of lists, each with nine times what the one before it has. */
const laughs = 'abcdefgh'
  .split('')
  .map(
    (name, at, all) =>
      `${name}: &${name} [${Array(9)
        .fill(at === 0 ? 'x' : `*${all[at - 1]}`)
        .join(',')}]\n`,
  )
  .join('')

describe('the file of a flow', () => {
  it.each([
    [
      'aliases that stand for millions of values',
      `name: a\n${laughs}${input}${rest}`,
      'Its aliases stand for more',
    ],
    [
      'an alias for many in its input',
      `name: a\nx: &x [${'1,'.repeat(99)}1]\ny: [${'*x,'.repeat(200)}*x]\n${input}${rest}`,
      'Its aliases stand for more',
    ],
    [
      'an alias within itself',
      `name: a\ninput: &it { csv: list.csv, map: *it }\n${rest}`,
      'Its aliases stand for more',
    ],
    [
      'an alias within a list of itself',
      `name: a\n${input}steps: &steps [accounts.enrich, *steps]\noutput: { csv: b.csv }\n`,
      'Its aliases',
    ],
    [
      'an alias for nothing',
      `name: a\n${input}steps: *mine\noutput: { csv: b.csv }\n`,
      'flow.yaml:3:8: There is no &mine before *mine.',
    ],
    [
      'an alias before what it stands for',
      `name: a\n${input}steps: [*late]\noutput: { csv: &late b.csv }\n`,
      'flow.yaml:3:9: There is no &late before *late.',
    ],
    ['a merged alias for nothing', `name: a\n<<: *base\n${input}${rest}`, 'There is no &base before *base.'],
    [
      'a condition that begins with a star',
      `name: a\n${input}steps: [{ keep: *headcount }]\noutput: { csv: b.csv }\n`,
      'A text that begins with * needs quotes.',
    ],
    ['very deep lists', '['.repeat(100_000), 'flow.yaml:1:'],
    ['very deep objects', '{ a: '.repeat(50_000), 'It is nested too deeply.'],
    ['very deep blocks', '- '.repeat(50_000), 'It is nested too deeply.'],
    [
      'a step without the colon that what stands below it needs',
      `name: a\n${input}steps:\n  - accounts.enrich\n    with: { domain: input.Website }\noutput: { csv: b.csv }\n`,
      'the step ends in a colon',
    ],
    ['a second document', `name: a\n${input}${rest}---\nname: b\n`, 'flow.yaml:5:1: A flow is one document'],
    [
      'too much',
      `name: a\n# ${'x'.repeat(1_100_000)}\n${input}${rest}`,
      'The file is longer than 1,048,576 bytes.',
    ],
    ['bytes that are no text', '\u0000\u0001\ufffd\u0000', 'flow.yaml:1:1: '],
    ['nothing', '', 'This is no flow.'],
  ])('with %s is refused with a sentence', async (_, text, said) => {
    here.write('flow.yaml', text)
    for (const line of ['flow check flow.yaml', 'flow quote flow.yaml', 'flow run flow.yaml']) {
      const { stderr } = await ends(here.run(line), 2, said)
      expect(stderr).not.toMatch(/bug|YAML\.|call stack/i)
      expect(stderr.length).toBeLessThan(2_000)
    }
    expect(here.exists('out.csv')).toBe(false)
  })

  it('may name a part once, and use it again', async () => {
    const outputs = '[{ csv: a.csv, columns: &all [name, domain] }, { ndjson: b.ndjson, columns: *all }]'
    here.write('flow.yaml', `name: a\n${input}steps: [{ keep: domain != null }]\noutput: ${outputs}\n`)
    await ends(here.run('flow run flow.yaml'), 0)
    expect(here.read('a.csv')).toBe('name,domain\nAcme,acme.example\n')
    expect(JSON.parse(here.read('b.ndjson'))).toEqual({ name: 'Acme', domain: 'acme.example' })
  })

  it('that another flow begins with may be broken, too', async () => {
    here.write('first.yaml', `name: first\n${laughs}output: *h\n`)
    here.write('flow.yaml', `name: a\ninput: { flow: first.yaml }\n${rest}`)
    await ends(here.run('flow check flow.yaml'), 2, 'writes no CSV file or workbook that can be read')
  })

  it('is told how to choose a column in its own words', async () => {
    here.write('plain.csv', 'A,B\nx,y\n')
    here.write('same.csv', 'Website,Website\na.example,b.example\n')
    here.write('flow.yaml', `name: a\ninput: { csv: plain.csv }\n${rest}`)
    const plain = await ends(
      here.run('flow check flow.yaml'),
      2,
      'map: { domain: "A" } beside the file in input',
    )
    here.write('flow.yaml', `name: a\ninput: { csv: same.csv }\n${rest}`)
    const same = await ends(
      here.run('flow check flow.yaml'),
      2,
      'map: { company_domain: "Website" } beside the file',
    )
    expect(plain.stderr + same.stderr).not.toContain('--map')
  })

  it('is refused with its mistake under --quiet, too', async () => {
    here.write('flow.yaml', `name: a\n${input}steps: [acounts.enrich]\noutput: { csv: out.csv }\n`)
    for (const word of ['check', 'run'])
      await ends(
        here.run(`flow ${word} flow.yaml --quiet`),
        2,
        'Did you mean accounts.enrich?',
        'Nothing was sent.',
      )
  })

  it('that would write over its input is refused by a check', async () => {
    here.write('flow.yaml', `name: a\n${input}steps: [accounts.enrich]\noutput: { csv: ./list.csv }\n`)
    await ends(here.run('flow check flow.yaml'), 2, 'output would overwrite the input file')
  })

  it('with a request to an address inside says that requests are blocked', async () => {
    const step = '{ http: { post: "https://10.0.0.1/x", result: { x: number } } }'
    here.write('flow.yaml', `name: a\n${input}steps: [${step}]\noutput: { csv: out.csv }\n`)
    const { stderr } = await here.run('flow run flow.yaml --yes')
    expect(stderr).toContain('Requests to 10.0.0.1 are blocked')
  })
})
