import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

interface Installed {
  readonly skills: readonly Readonly<Record<'name' | 'outcome' | 'file', string>>[]
}

const here = perTest(machine)

it('are in the format of agents: a folder of the name, and a name and a description that an agent chooses by', async () => {
  const { skills } = await here.json<Installed>('skills install')
  expect(skills).toHaveLength(7)
  for (const { name, file, outcome } of skills) {
    expect(outcome).toBe('written')
    expect(file).toBe(here.path(join('.agents/skills', name, 'SKILL.md')))
    const text = readFileSync(file, 'utf8')
    const [, front = ''] = /^---\n([\s\S]*?)\n---\n\n# /.exec(text) ?? []
    const { name: given, description, ...others } = parse(front) as Record<string, string>
    expect(given).toBe(name)
    expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/)
    expect(description?.length).toBeLessThanOrEqual(1_024)
    expect(description).toContain('Use ')
    expect(others).toEqual({})
    expect(text.length).toBeLessThan(3_000)
    // What a skill refers to is a skill, too.
    for (const [, other] of text.matchAll(/skill `(.+?)`/g))
      expect(skills.map((one) => one.name)).toContain(other)
    expect((await here.run(['skills', 'show', name.replace('prospect-', '')])).stdout).toBe(text)
  }
  expect(await here.json<unknown[]>('skills list')).toHaveLength(7)
})

it('go where each program looks for them, in the project, below the home folder or anywhere', async () => {
  const foldersOf = async (options: string) => {
    const argv = `skills install --json ${options}`
    const { stdout } = await ends(here.run(argv, { env: { HOME: here.path('me') } }), 0)
    const { skills } = JSON.parse(stdout) as Installed
    return [...new Set(skills.map(({ name, file }) => file.replace(join('/', name, 'SKILL.md'), '')))]
  }
  const paths = (...names: string[]) => names.map((name) => here.path(name))
  expect(await foldersOf('--for claude,codex,cursor')).toEqual(
    paths('.claude/skills', '.agents/skills', '.cursor/skills'),
  )
  expect(await foldersOf('--for claude --user')).toEqual(paths('me/.claude/skills'))
  expect(await foldersOf('--dir team/skills')).toEqual(paths('team/skills'))
  expect((await ends(here.run('skills install --dir x --for claude'), 2)).stderr).toContain('--dir and --for')
  expect((await ends(here.run('skills install --for emacs'), 2)).stderr).toContain('claude, codex, cursor')
})

it('replace a file that somebody has changed only with --yes, and before that write nothing', async () => {
  const file = '.agents/skills/prospect-flows/SKILL.md'
  mkdirSync(here.path(dirname(file)), { recursive: true })
  here.write(file, '# Ours\n')
  const { stderr } = await ends(here.run('skills install'), 2)
  expect(stderr).toContain(`This replaces what is in ${here.path(file)}`)
  expect(here.read(file)).toBe('# Ours\n')
  expect(() => here.read('.agents/skills/prospect-spending/SKILL.md')).toThrow()
  const outcomes = async () =>
    Object.groupBy((await here.json<Installed>('skills install --yes')).skills, ({ outcome }) => outcome)
  expect(await outcomes()).toMatchObject({ replaced: [{ name: 'prospect-flows' }], written: { length: 6 } })
  expect(await outcomes()).toMatchObject({ unchanged: { length: 7 } })
})

it('say which file cannot be written, and which skill there is not', async () => {
  here.write('taken', 'a file')
  expect((await ends(here.run('skills install --dir taken'), 2)).stderr).toMatch(
    /taken.prospect-build-list.SKILL\.md cannot be read or written: .*--dir/,
  )
  symlinkSync(here.path('nowhere'), here.path('link'))
  await ends(here.run('skills install --dir link'), 2)
  expect((await ends(here.run('skills show flow'), 9)).stderr).toContain('There is no skill flow.')
})

it.runIf(process.platform === 'linux')('are refused below /proc, where no folder can be made', async () => {
  await ends(here.run('skills install --dir /proc/none/below'), 2, '/proc/none/below')
})
