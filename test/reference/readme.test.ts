import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { folder, removed } from '../support/command.js'
import { launch, prospect } from '../support/processes.js'

const root = join(import.meta.dirname, '..', '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
let home: string

beforeAll(async () => {
  home = await folder()
  cpSync(join(root, 'docs', 'examples'), join(home, 'docs', 'examples'), { recursive: true })
})
afterAll(() => removed(home))

/** Returns the commands of the README's shell examples, without their comments. */
const commands = () =>
  [...readme.matchAll(/```sh\n([\s\S]*?)```/g)]
    .flatMap(([, block = '']) => block.split('\n'))
    .filter((line) => line.startsWith('prospect '))
    .map((line) => line.replace(/\s+#.*$/, ''))

describe('the README', () => {
  it('has at most 120 lines', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  })

  it('shows commands that all succeed and find something over the sample data', async () => {
    expect(commands().length).toBeGreaterThan(8)
    for (const line of commands()) {
      const env = { PROSPECT_HOME: join(home, 'home'), PATH: process.env.PATH ?? '' }
      const { exitCode, stdout, stderr } = await launch(prospect, line.split(' ').slice(1), home, env)
      expect([line, exitCode, stderr]).toEqual([line, 0, expect.any(String)])
      expect(`${line}: ${stdout || stderr}`).not.toMatch(/: $|"total_count": 0|\b0 found/)
    }
  })

  it('shows a summary that the command prints', async () => {
    const example = /^\$ prospect (.*)$/m.exec(readme)?.[1] ?? ''
    const argv = [...example.split(' '), '--fresh', '--refresh']
    const env = { PROSPECT_HOME: join(home, 'home'), PATH: process.env.PATH ?? '' }
    const { stderr } = await launch(prospect, argv, home, env)
    expect(readme).toContain(/^30 rows in .*?: (.*)$/m.exec(stderr)?.[1] ?? stderr)
  })
})
