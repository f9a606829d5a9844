import { beforeEach, describe, expect, it } from 'vitest'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(machine)
const names = Array.from({ length: 100 }, (_, at) => `Company ${at}`)

beforeEach(async () => {
  await here.run('init')
  here.write(
    'list.csv',
    `name,domain\n${names.map((name, at) => `${name},company-${at}.example\n`).join('')}`,
  )
})

/** Writes a program that does something with each row, under its count, or at its end, and a flow that asks it. */
function write(onRow: string, { onEnd = '', more = '', fields = '[score]' } = {}) {
  here.write(
    'program.js',
    `const say = (value) => console.log(typeof value === 'string' ? value : JSON.stringify(value))
const scoreOf = (row) => Number(row.name.split(' ')[1])
let count = 0
const rows = []
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const row = JSON.parse(line)
  rows.push(row)
  count++
  ${onRow}
}).on('close', () => {
  ${onEnd}
})
`,
  )
  here.write(
    'flow.yaml',
    `name: flow
input: { csv: list.csv }
steps: [{ command: [node, program.js], fields: ${fields}${more} }, { keep: score >= 0 }]
output: { csv: out.csv, columns: [name, score] }
`,
  )
}
const answer = 'say({ score: scoreOf(row) })'
const run = (...more: string[]) => here.run(['flow', 'run', 'flow.yaml', ...more])
const scored = names.map((name, at) => ({ name, score: String(at) }))

describe('a program in a flow', () => {
  it.each([
    [
      'two lines for one row',
      `${answer}; if (count === 37) ${answer}`,
      'wrote more lines than it was given rows: {"score":',
    ],
    [
      'two lines for the last row',
      `${answer}; if (count === 100) ${answer}`,
      'wrote more lines than it was given rows',
    ],
    [
      'a line long after its last answer',
      `${answer}; if (count === 100) setTimeout(() => ${answer}, 2500)`,
      'wrote more lines than it was given rows',
    ],
    [
      'two lines for one row, the second one later',
      `${answer}; if (count === 37) setTimeout(() => ${answer}, 5)`,
      'wrote more lines than it was given rows',
    ],
    [
      'a text',
      `${answer}; if (count === 37) say('Loading the model')`,
      'wrote a line that is no object of JSON: Loading the model',
    ],
    [
      'an array',
      'say(count === 37 ? [1, 2] : { score: scoreOf(row) })',
      'wrote a line that is no object of JSON: [1,2]',
    ],
    [
      'a blank line',
      "if (count === 37) say(''); else say({ score: 1 })",
      'wrote a line that is no object of JSON: ',
    ],
    [
      'no number',
      'say(count === 37 ? \'{"score": NaN}\' : { score: 1 })',
      'wrote a line that is no object of JSON: {"score": NaN}',
    ],
    [
      'other fields',
      'say(count === 37 ? { points: 3 } : { score: 1 })',
      'wrote an object without score: {"points":3}',
    ],
    [
      'very deep JSON',
      "say(count === 37 ? '['.repeat(200000) : { score: 1 })",
      'wrote a line of JSON with too many levels: [[[',
    ],
    [
      'very deep objects',
      'say(count === 37 ? \'{"a":\'.repeat(200000) : { score: 1 })',
      'wrote a line of JSON with too many levels',
    ],
    [
      'a line without an end',
      "if (count === 37) for (let n = 0; n < 300; n++) process.stdout.write('x'.repeat(65536)); else say({ score: 1 })",
      'wrote a line that does not end: xxx',
    ],
    [
      'the number of another row',
      'say({ _row: count === 37 ? 12 : row._row, score: 1 })',
      'answered a row that has an answer, or was never sent: {"_row":12',
    ],
    [
      'one answer without a number',
      'say(count === 37 ? { score: 1 } : { _row: row._row, score: 1 })',
      'gave some answers a _row, and others none',
    ],
  ])(
    'that writes %s ends the step with that line, and the flow goes on when it is mended',
    async (_, wrong, said) => {
      write(wrong)
      const { code, stderr } = await run()
      expect([code, stderr]).toEqual([2, expect.stringContaining(`Stopped in 1 command: node ${said}`)])
      expect(stderr).toContain('Resume: prospect flow resume')
      expect(stderr.length).toBeLessThan(1_000)
      expect(here.exists('out.csv')).toBe(false)
      write(answer)
      expect((await run()).code).toBe(0)
      const rows = here.rows('out.csv')
      // What was answered before stays as it was.
      expect(rows.map((row) => row.name)).toEqual(names)
      if (wrong.includes('scoreOf') && !wrong.includes('score: 1')) expect(rows).toEqual(scored)
    },
  )

  it.each([
    [
      'leaves out a line',
      `if (count !== 37) ${answer}`,
      '',
      /has answered \d+ of \d+ rows from row \d+ on, and nothing more for 2s\./,
    ],
    [
      'reads all rows before it writes',
      '',
      `for (const row of rows) ${answer}`,
      /has not answered row 1 for 2s\./,
    ],
    [
      'leaves out a row that has a number',
      'if (count !== 37) say({ _row: row._row, score: 1 })',
      '',
      /has not answered row 37 for 2s\./,
    ],
  ])('that %s ends the step when its time is over', async (_, onRow, onEnd, said) => {
    write(onRow, { onEnd, more: ', timeout: 2s' })
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([2, expect.stringMatching(said)])
    expect(stderr).toContain('set timeout: in its step')
    write(answer)
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toHaveLength(100)
  })

  it('answers rows in any order where each answer has the number of its row', async () => {
    write('setTimeout(() => say({ _row: row._row, score: scoreOf(row) }), Math.random() * 20)')
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(scored)
  })

  it('has nothing for a row where it answers null, or only its number', async () => {
    write('say(count % 2 ? null : { score: scoreOf(row) })')
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(scored.filter((_, at) => at % 2))
    write('say(count % 2 ? { _row: row._row } : { _row: row._row, score: scoreOf(row) })')
    expect((await run('--fresh')).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(scored.filter((_, at) => at % 2))
  })

  it('may write other lines, which go to stderr, where its step says so', async () => {
    const lines = 'say(\'Loading \\u001b[31mred\'); say([1]); say(\'{"level": "info"}\');'
    write(`if (count === 37) { ${lines} } ${answer}`, { more: ', log: true' })
    const { code, stderr } = await run()
    expect(code).toBe(0)
    expect(stderr).toContain('Loading \\u001b[31mred\n[1]\n{"level": "info"}\n')
    expect(here.rows('out.csv')).toEqual(scored)
  })

  it('asks about all rows again after a line too many, whose answers may have been those to other rows', async () => {
    // The first row is answered twice, late; the eleventh one later than that is waited for.
    write(`if (count === 1) setTimeout(() => ${answer}, 100)
      if (count === 11) setTimeout(() => ${answer}, 1500)
      else ${answer}`)
    const { code, stderr } = await run('--concurrency', '10')
    expect([code, stderr]).toEqual([2, expect.stringContaining('wrote more lines than it was given rows')])
    expect(here.exists('out.csv')).toBe(false)
    write(answer)
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(scored)
  })

  it('that does not end is waited for, which is said, and left when its time is over', async () => {
    write(`${answer}; setInterval(() => {}, 1000)`, { more: ', timeout: 2s' })
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([0, expect.stringContaining('node has not ended with its input')])
    expect(here.rows('out.csv')).toEqual(scored)
  })

  it('that does not end is left by Ctrl-C, and its rows are written by the next run', async () => {
    write(
      `${answer}; if (count === 100) require('node:fs').writeFileSync('all', ''); setInterval(() => {}, 1000)`,
    )
    const ended = run()
    await expect.poll(() => here.exists('all')).toBe(true)
    here.signals.emit('SIGINT', 'SIGINT')
    expect((await ended).code).toBe(130)
    expect(here.exists('out.csv')).toBe(false)
    write(answer)
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(scored)
  })

  it('that answers a row twice ends the step, also where other lines go to stderr', async () => {
    write(`${answer}; if (count === 37) ${answer}`, { more: ', log: true' })
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([2, expect.stringContaining('wrote more lines than it was given rows')])
  })

  it('that neither answers nor ends is left by Ctrl-C at once, and is not left behind', async () => {
    write('', { more: ', timeout: 1h' })
    const keepsOn = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`
    here.write('program.js', `${keepsOn}\nrequire('node:fs').writeFileSync('pid', String(process.pid))`)
    const ended = run()
    await expect.poll(() => here.exists('pid') && here.read('pid')).toMatch(/\d/)
    here.signals.emit('SIGINT', 'SIGINT')
    expect((await ended).code).toBe(130)
    expect(() => process.kill(Number(here.read('pid')), 0)).toThrow('ESRCH')
    write(answer)
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(scored)
  })

  it.each([
    ['nowhere', 'no such file or folder'],
    ['"a\\0b"', 'cannot be started'],
    [`${'x'.repeat(200_000)}`, 'cannot be started'],
  ])('that cannot be started is told: %.10s', async (program, said) => {
    write(answer)
    here.write('flow.yaml', here.read('flow.yaml').replace('[node, program.js]', `[${program}, ${program}]`))
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
    expect(stderr).not.toContain('bug')
  })

  it('leaves a field as it was that it does not write, and empties one that it writes as null', async () => {
    write('say(count % 2 ? { score: 1 } : { score: 1, name: null })', { fields: '[score, name]' })
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv').map(({ name }) => name)).toEqual(
      names.map((name, at) => (at % 2 ? '' : name)),
    )
  })

  it('gives no field that it does not write', async () => {
    write('say({ constructor: 1, score: scoreOf(row) })', { fields: '[score, toString, constructor]' })
    here.write('flow.yaml', here.read('flow.yaml').replace('[name, score]', '[name, toString, constructor]'))
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')[0]).toEqual({ name: 'Company 0', toString: '', constructor: '1' })
  })

  it.each([
    ['timeout: 5 minutes', 'timeout must be a duration such as 30s or 10m'],
    ['timeout: 5', 'timeout must be a duration such as 30s or 10m'],
    ['timeout: 0s', 'timeout must be between 1ms and 24d'],
    ['timeout: 30d', 'timeout must be between 1ms and 24d'],
    ['log: maybe', 'log must be boolean'],
  ])('is refused with %s', async (more, said) => {
    write(answer, { more: `, ${more}` })
    const { code, stderr } = await here.run('flow check flow.yaml')
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
  })

  it('is explained where a text is written for a list', async () => {
    write(answer, { fields: 'score' })
    here.write('flow.yaml', here.read('flow.yaml').replace('[node, program.js]', 'node program.js'))
    const { code, stderr } = await here.run('flow check flow.yaml')
    expect(code).toBe(2)
    expect(stderr).toContain(
      'command must be a list of the program and its arguments, such as [node, score.js].',
    )
    expect(stderr).toContain('fields must be a list of names, such as [score].')
    write(answer)
    here.write('flow.yaml', here.read('flow.yaml').replace('[node, program.js]', '[node program.js]'))
    expect((await run()).stderr).toContain('Write its arguments apart: [node, score.js]')
  })

  it('cannot have a field with the name of the number of a row', async () => {
    write(answer, { fields: '[score, _row]' })
    const { code, stderr } = await here.run('flow check flow.yaml')
    expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be _row, the number of a row')])
  })
})
