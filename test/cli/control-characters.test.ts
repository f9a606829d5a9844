import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, command, folder, type Given, keyed, removed } from '../support/command.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

/** One of each kind: escape sequences, C0, C1, deletion, marks of text direction and line separators. */
const attacks = [
  '\u001b[31m',
  '\u001b[1m',
  '\u001b[2J',
  '\u001b]0;title\u0007',
  '\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\',
  '\u001bP0;1|17/ab\u001b\\',
  '\u009b31m',
  '\u009d0;title\u009c',
  ...['\b', '\u007f', '\u0085', '\u061c', '\u200e', '\u200f', '\u2028', '\u2029'],
  ...['\u202a', '\u202e', '\u2066', '\u2069'],
]
const hostile = `x${attacks.join('x')}x`

const controls = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u

const run = (line: string, given: Given = {}) =>
  command(line.split(' '), { env: keyed(home), cwd: home, ...given })

const caller = () => answering({ body: { name: hostile, [hostile]: [hostile] } })

const write = (name: string, text: string) => writeFile(join(home, name), text)

describe('control characters of data', () => {
  it.each(['', ' --format ndjson', ' --format json', ' --format tsv', ' --map-only', ' --raw-csv'])(
    'do not reach a terminal from the rows of a batch%s',
    async (options) => {
      await write('in.csv', `domain,"${hostile}"\na.example,"${hostile}"\n`)
      const given = { terminal: true, columns: 0, caller: caller() }
      const { code, stdout, stderr } = await run(`accounts enrich --csv in.csv${options}`, given)
      expect([stderr, code, controls.test(stdout), controls.test(stderr)]).toEqual([
        expect.anything(),
        0,
        false,
        false,
      ])
      expect(stdout).toContain(String.raw`x\u009b31mx`)
    },
  )

  it('reach a file and a pipe unchanged in CSV', async () => {
    await write('in.csv', `domain,"${hostile}"\na.example,"${hostile}"\n`)
    const { stdout } = await run('accounts enrich --csv in.csv --fields name', { caller: caller() })
    expect(stdout.split(hostile)).toHaveLength(4)
  })

  it.each(['json', 'ndjson'])('are escaped in the %s of a batch, which keeps its values', async (format) => {
    await write('in.csv', `domain\na.example\n`)
    const { stdout } = await run(`accounts enrich --csv in.csv --format ${format}`, { caller: caller() })
    expect(stdout).not.toMatch(controls)
    expect([JSON.parse(stdout)].flat()).toMatchObject([{ name: hostile }])
  })
})
