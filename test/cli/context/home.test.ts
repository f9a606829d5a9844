import { chmod, lstat, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { homeOf } from '../../../src/cli/context/home.js'
import { command, errorOf, folder, removed, streamsOf } from '../../support/command.js'

let root = ''
let home = ''
beforeEach(async () => {
  root = await folder()
  home = join(root, 'home')
})
afterEach(() => removed(root))

/** A command that creates the workspace where there is none. */
const technologies = () => command('accounts technologies', { env: { PROSPECT_HOME: home } })
const modes = async (path: string): Promise<Record<string, string>> => {
  const names = ['', ...(await readdir(path, { recursive: true }))]
  const found = await Promise.all(names.map(async (name) => [name, await lstat(join(path, name))] as const))
  return Object.fromEntries(found.map(([name, stats]) => [name, (stats.mode & 0o777).toString(8)]))
}

describe('the home folder', () => {
  it('says once that the workspace was created', async () => {
    const [first, second] = [await technologies(), await technologies()]
    expect(first.stderr).toMatch(/^Created the workspace .* plan growth, 1,000 credits\..*\n$/)
    expect([second.code, second.stderr]).toEqual([0, ''])
  })

  it('does not mention the created workspace with --quiet', async () => {
    const ended = await command('accounts technologies --quiet', { env: { PROSPECT_HOME: home } })
    expect([ended.code, ended.stderr]).toEqual([0, ''])
  })

  it('creates another key when its stored one was lost', async () => {
    await technologies()
    await removed(join(home, 'credentials.json'))
    expect((await technologies()).code).toBe(0)
  })

  it('refuses an engine that was emptied while the key of its workspace is stored', async () => {
    await technologies()
    for (const name of await readdir(home)) if (/^engine\.db-/.test(name)) await removed(join(home, name))
    await writeFile(join(home, 'engine.db'), '')
    const refused = await technologies()
    expect([refused.code, errorOf(refused).error]).toEqual([
      10,
      expect.stringContaining('engine.db is empty'),
    ])
    expect((await lstat(join(home, 'engine.db'))).size).toBe(0)
    await removed(join(home, 'engine.db'))
    expect((await technologies()).code).toBe(0)
  })

  it('makes an empty home folder private, and refuses a full one that others can read', async () => {
    await mkdir(home, { mode: 0o755 })
    expect((await technologies()).code).toBe(0)
    expect((await modes(home))['']).toBe('700')
    await chmod(home, 0o755)
    const refused = await technologies()
    expect([refused.code, errorOf(refused).hint]).toEqual([2, `Run: chmod 700 ${home}`])
  })

  it.each(['credentials.json', 'config.json', 'engine.db', 'catalogue.db'])(
    'refuses %s when others can read it',
    async (name) => {
      await mkdir(home, { mode: 0o700 })
      const file = join(home, name)
      await writeFile(file, '')
      await chmod(file, 0o644)
      const refused = await technologies()
      expect([refused.code, errorOf(refused).hint]).toEqual([2, `Run: chmod 600 ${file}`])
    },
  )

  it.each(['credentials.json', 'config.json', 'engine.db'])(
    'refuses %s when it is a symbolic link',
    async (name) => {
      await mkdir(home, { mode: 0o700 })
      await writeFile(join(root, 'elsewhere'), '{}', { mode: 0o600 })
      await symlink(join(root, 'elsewhere'), join(home, name))
      const refused = await technologies()
      expect([refused.code, errorOf(refused).error]).toEqual([2, `${join(home, name)} is a symbolic link.`])
    },
  )

  it('refuses a home folder that is a symbolic link', async () => {
    await mkdir(join(root, 'real'), { mode: 0o700 })
    await symlink(join(root, 'real'), home)
    const refused = await technologies()
    expect([refused.code, errorOf(refused).code]).toEqual([2, 'unsafe_file'])
  })

  it('creates missing parent folders of the home', async () => {
    home = join(root, 'a', 'b')
    expect((await technologies()).code).toBe(0)
    expect((await modes(home))['']).toBe('700')
  })

  it.each(['a file', 'below a file'])('refuses a home that is %s', async (where) => {
    await writeFile(join(root, 'file'), '')
    home = where === 'a file' ? join(root, 'file') : join(root, 'file', 'home')
    const refused = await technologies()
    expect([refused.code, errorOf(refused).code]).toEqual([2, 'unsafe_file'])
  })

  it.runIf(process.platform === 'linux')('names the home folder that cannot be created', async () => {
    home = '/proc/prospect-home'
    const refused = await technologies()
    expect([refused.code, errorOf(refused).error]).toEqual([
      2,
      '/proc/prospect-home cannot be created: no such file or folder (ENOENT).',
    ])
  })

  it('does not suggest chmod for a folder given as the database', async () => {
    const env = { PROSPECT_HOME: home, PROSPECT_DATABASE_URL: root }
    expect(errorOf(await command('accounts technologies', { env })).error).toBe(
      `${root} is a folder; a file is needed.`,
    )
  })

  it('quotes the path in the suggested chmod command', async () => {
    home = join(root, "it's here")
    await mkdir(home, { mode: 0o700 })
    await writeFile(join(home, 'x'), '')
    await chmod(home, 0o750)
    expect(errorOf(await technologies()).hint).toBe(`Run: chmod 700 '${root}/it'\\''s here'`)
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
