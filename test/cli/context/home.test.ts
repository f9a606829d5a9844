import { chmod, lstat, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { homeOf } from '../../../src/cli/context/home.js'
import { command, errorOf, streamsOf } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'

const root = perTest(newFolder)
let home = ''
beforeEach(() => {
  home = root.at('home')
})

/** A command that creates the workspace where there is none. */
const topUp = (more = '') => command(`engine credits set 1000 ${more}`, { env: { PROSPECT_HOME: home } })
const refusal = async () => errorOf(await topUp('--json'))
const modeOf = async (path: string) => (await lstat(path)).mode & 0o777

describe('the home folder', () => {
  it('says once that the workspace was created', async () => {
    const [first, second] = [await topUp(), await topUp()]
    expect(first.stderr).toMatch(/^Created the workspace .* plan growth, 1,000 credits\..*\n$/)
    expect([second.code, second.stderr]).toEqual([0, ''])
  })

  it('does not mention the created workspace with --quiet', async () => {
    expect(await topUp('--quiet')).toMatchObject({ code: 0, stderr: '' })
  })

  it('creates another key when its stored one was lost', async () => {
    await topUp()
    await rm(join(home, 'credentials.json'))
    expect((await command('credits', { env: { PROSPECT_HOME: home } })).code).toBe(0)
  })

  it('refuses an engine that was emptied while the key of its workspace is stored', async () => {
    await topUp()
    for (const name of await readdir(home)) if (/^engine\.db-/.test(name)) await rm(join(home, name))
    await writeFile(join(home, 'engine.db'), '')
    const error = expect.stringContaining('engine.db is empty')
    expect(await refusal()).toMatchObject({ exit_code: 10, error })
    expect((await lstat(join(home, 'engine.db'))).size).toBe(0)
    await rm(join(home, 'engine.db'))
    expect((await topUp()).code).toBe(0)
  })

  it('makes an empty home folder private, and refuses a full one that others can read', async () => {
    await mkdir(home, { mode: 0o755 })
    expect((await topUp()).code).toBe(0)
    expect(await modeOf(home)).toBe(0o700)
    await chmod(home, 0o755)
    expect(await refusal()).toMatchObject({ exit_code: 2, hint: `Run: chmod 700 ${home}` })
  })

  it.each(['credentials.json', 'config.json', 'engine.db', 'catalogue.db'])(
    'refuses %s when others can read it',
    async (name) => {
      await mkdir(home, { mode: 0o700 })
      const file = join(home, name)
      await writeFile(file, '')
      await chmod(file, 0o644)
      expect(await refusal()).toMatchObject({ exit_code: 2, hint: `Run: chmod 600 ${file}` })
    },
  )

  it.each(['credentials.json', 'config.json', 'engine.db'])(
    'refuses %s when it is a symbolic link',
    async (name) => {
      await mkdir(home, { mode: 0o700 })
      await writeFile(root.at('elsewhere'), '{}', { mode: 0o600 })
      await symlink(root.at('elsewhere'), join(home, name))
      expect(await refusal()).toMatchObject({
        exit_code: 2,
        error: `${join(home, name)} is a symbolic link.`,
      })
    },
  )

  it('refuses a home folder that is a symbolic link', async () => {
    await mkdir(root.at('real'), { mode: 0o700 })
    await symlink(root.at('real'), home)
    expect(await refusal()).toMatchObject({ exit_code: 2, code: 'unsafe_file' })
  })

  it('creates missing parent folders of the home', async () => {
    home = root.at('a/b')
    expect((await topUp()).code).toBe(0)
    expect(await modeOf(home)).toBe(0o700)
  })

  it.each(['a file', 'below a file'])('refuses a home that is %s', async (where) => {
    await writeFile(root.at('file'), '')
    home = where === 'a file' ? root.at('file') : root.at('file/home')
    expect(await refusal()).toMatchObject({ exit_code: 2, code: 'unsafe_file' })
  })

  it.runIf(process.platform === 'linux')('names the home folder that cannot be created', async () => {
    home = '/proc/prospect-home'
    const error = '/proc/prospect-home cannot be created: no such file or folder (ENOENT).'
    expect(await refusal()).toMatchObject({ exit_code: 2, error })
  })

  it('does not suggest chmod for a folder given as the database', async () => {
    const env = { PROSPECT_HOME: home, PROSPECT_DATABASE_URL: root.path }
    expect((await command('engine credits set 1000', { env })).stderr).toContain(
      `${root.path} is a folder; a file is needed.`,
    )
  })

  it('quotes the path in the suggested chmod command', async () => {
    home = root.at("it's here")
    await mkdir(home, { mode: 0o700 })
    await writeFile(join(home, 'x'), '')
    await chmod(home, 0o750)
    expect(await refusal()).toMatchObject({ hint: `Run: chmod 700 '${root.path}/it'\\''s here'` })
  })
})

describe('paths of files', () => {
  const streams = (env: Record<string, string>) => streamsOf({ env, cwd: '/work' })

  it('places all files in PROSPECT_HOME', () => {
    const { folder: own, engine, state } = homeOf(streams({ PROSPECT_HOME: 'here' }))
    expect([own, engine, state]).toEqual(['/work/here', '/work/here/engine.db', '/work/here/state.db'])
  })

  it('places files where the platform expects them', () => {
    const env = { HOME: '/home/ann', XDG_DATA_HOME: '/data' }
    const { config, catalogue, state } = homeOf(streams(env), 'linux')
    expect([config, catalogue, state]).toEqual([
      '/home/ann/.config/prospect/config.json',
      '/data/prospect/catalogue.db',
      '/home/ann/.local/state/prospect/state.db',
    ])
    expect(homeOf(streams(env), 'darwin').config).toBe(
      '/home/ann/Library/Application Support/prospect/config.json',
    )
    const windows = homeOf(streams({ ...env, APPDATA: '/roaming' }), 'win32')
    expect([windows.config, windows.engine]).toEqual([
      '/roaming/prospect/config.json',
      '/home/ann/AppData/Local/prospect/engine.db',
    ])
  })

  it.each([
    ['postgres://db/x', 'postgres://db/x'],
    [':memory:', ':memory:'],
    ['data/e.db', '/work/data/e.db'],
    ['/var/e.db', '/var/e.db'],
  ])('reads PROSPECT_DATABASE_URL=%s as %s', (given, engine) => {
    expect(homeOf(streams({ PROSPECT_HOME: 'here', PROSPECT_DATABASE_URL: given })).engine).toBe(engine)
  })
})
