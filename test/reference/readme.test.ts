import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { folder, removed } from '../support/command.js'
import { launch, prospect } from '../support/processes.js'
import { loadSample } from '../support/sample.js'

const root = join(import.meta.dirname, '..', '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
let home: string

beforeAll(async () => {
  home = await folder()
  cpSync(join(root, 'docs', 'examples'), join(home, 'docs', 'examples'), { recursive: true })
})
afterAll(() => removed(home))

describe('the README', () => {
  it('has at most 120 lines', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  })

  it('shows a summary that the command prints', async () => {
    const example = /^\$ prospect (.*)$/m.exec(readme)?.[1] ?? ''
    await loadSample(join(home, 'home'))
    const env = { PROSPECT_HOME: join(home, 'home'), PATH: process.env.PATH ?? '' }
    const { stderr } = await launch(prospect, example.split(' '), home, env)
    expect(readme).toContain(/^30 rows in .*?: (.*)$/m.exec(stderr)?.[1] ?? stderr)
  })
})
