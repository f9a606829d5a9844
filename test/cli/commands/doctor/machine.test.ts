import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { perTest } from '../../../support/each.js'
import { place } from './place.js'

const here = perTest(place)

/** Has the user of the test be somebody else. */
const asAnother = () => {
  const spy = vi.spyOn(process, 'getuid').mockReturnValue(4_711)
  onTestFinished(() => spy.mockRestore())
}

it('accepts the installed SQLite', async () => {
  await here.says(/^ok \| SQLite 3\.\d+\.\d+ is new enough\./, 'sqlite')
})

describe('doctor: environment', () => {
  it('warns about an unknown PROSPECT_ variable', async () => {
    expect(await here.lines('environment')).toEqual([])
    await here.says(
      /^warning \| A variable is not known: PROSPECT_HOEM\. \| Known: PROSPECT_HOME,/,
      'environment',
      { env: { PROSPECT_HOEM: '/tmp' } },
    )
  })
})

describe('doctor: folders', () => {
  it('accepts a private folder, and one that does not exist yet', async () => {
    await writeFile(here.path('x'), '')
    await here.says(/^ok /, 'folders')
    const missing = { env: { PROSPECT_HOME: here.path('later') } }
    await here.says(/^ok /, 'folders', missing)
  })

  it('suggests chmod for a folder that others can read', async () => {
    await writeFile(here.path('x'), '')
    await chmod(here.home, 0o755)
    const [line] = await here.lines('folders')
    expect(line).toBe(
      `problem | ${here.home} can be read or changed by other users. | Run: chmod 700 ${here.home}`,
    )
  })

  it('accepts an empty folder that others can read', async () => {
    await chmod(here.home, 0o755)
    await here.says(/^ok /, 'folders')
  })

  it('reports a symbolic link', async () => {
    await symlink(here.home, `${here.home}-link`)
    try {
      const [line] = await here.lines('folders', { env: { PROSPECT_HOME: `${here.home}-link` } })
      expect(line).toMatch(/^problem .* is a symbolic link\. \| Set PROSPECT_HOME to the folder itself/)
    } finally {
      await (await import('node:fs/promises')).rm(`${here.home}-link`)
    }
  })

  it('reports a file, and a folder of another user', async () => {
    await writeFile(here.path('file'), '')
    const file = { env: { PROSPECT_HOME: here.path('file') } }
    await here.says('is not a folder', 'folders', file)
    asAnother()
    await here.says('sudo chown -R', 'folders')
  })
})

describe('doctor: files', () => {
  beforeEach(async () => {
    await here.json('init')
    await here.json('engine', 'status')
  })

  it('counts the private files', async () => {
    expect(await here.lines('files')).toEqual(['ok | 3 files are readable by you only. | '])
  })

  it.each(['credentials.json', 'engine.db', 'catalogue.db'])(
    'suggests chmod for %s when others can read it',
    async (name) => {
      await chmod(here.path(name), 0o644)
      expect(await here.lines('files')).toEqual([
        `problem | ${here.path(name)} can be read or changed by other users. | Run: chmod 600 ${here.path(name)}`,
      ])
    },
  )

  it('names each file that others can read', async () => {
    await chmod(here.path('credentials.json'), 0o640)
    await chmod(here.path('engine.db'), 0o604)
    expect(await here.look('files')).toHaveLength(2)
  })

  it('names files beside the databases and of runs, too', async () => {
    await mkdir(here.path('runs/one'), { recursive: true, mode: 0o700 })
    await writeFile(here.path('runs/one/input.csv'), '', { mode: 0o644 })
    await writeFile(here.path('engine.db-wal'), '', { mode: 0o644 })
    expect((await here.look('files')).map(({ status, hint }) => [status, hint])).toEqual([
      ['problem', `Run: chmod 600 ${here.path('engine.db-wal')}`],
      ['problem', `Run: chmod 600 ${here.path('runs/one/input.csv')}`],
    ])
  })

  it('reports links and files of another user', async () => {
    await symlink(here.path('engine.db'), here.path('state.db'))
    await here.says(/state\.db is a symbolic link/, 'files')
    asAnother()
    expect(await here.lines('files')).toContainEqual(
      expect.stringMatching(/^problem .*credentials\.json belongs to another user\. \| Run: sudo chown/),
    )
  })
})

describe.runIf(process.platform === 'linux')('doctor: file system', () => {
  it.each([
    [0xef53, 'ok', 'on a disk of this machine'],
    [0x6969, 'warning', 'network file system (NFS)'],
    [0xff534d42, 'warning', 'network file system (CIFS)'],
  ])('file system type %i: %s', async (type, status, text) => {
    expect(await here.look('file system', { fileSystemType: () => type })).toMatchObject([
      { status, text: expect.stringContaining(text) },
    ])
  })

  it('asks for the nearest folder that is there, and says where that fails', async () => {
    const fileSystemType = (folder: string) => {
      throw new Error(folder)
    }
    expect(
      await here.lines('file system', { fileSystemType, env: { PROSPECT_HOME: here.path('a/b/c') } }),
    ).toEqual([`problem | This could not be checked: ${here.home}. | `])
  })
})
