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
  const env = (env: Record<string, string>) => ({ env })

  it('prints a proxy without user and password', async () => {
    const [line] = await here.lines(
      'environment',
      env({ https_proxy: 'http://ada:hunter2@proxy.example:3128' }),
    )
    expect(line).toContain('https_proxy (http://proxy.example:3128)')
    expect(line).not.toMatch(/hunter2|ada/)
  })

  it.each(['PROSPECT_API_KEY', 'PROSPECT_WEBHOOK_SECRET', 'PROSPECT_DATABASE_URL'])(
    'names %s without printing its value',
    async (name) => {
      const text = JSON.stringify(await here.look('environment', env({ [name]: 'very-secret' })))
      expect(text).toContain(name)
      expect(text).not.toContain('very-secret')
    },
  )

  it('warns about an invalid proxy address without printing it', async () => {
    const found = await here.look('environment', env({ HTTPS_PROXY: 'http://:hunter2' }))
    expect(found.map(({ status }) => status)).toEqual(['ok', 'warning'])
    expect(JSON.stringify(found)).not.toContain('hunter2')
  })

  it('warns about an unknown PROSPECT_ variable', async () => {
    expect(await here.lines('environment', env({ PROSPECT_HOEM: '/tmp' }))).toContainEqual(
      expect.stringMatching(/^warning \| A variable is not known: PROSPECT_HOEM\. \| Known: PROSPECT_HOME,/),
    )
  })

  it('warns about NODE_TLS_REJECT_UNAUTHORIZED', async () => {
    const found = await here.look('environment', env({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }))
    expect(found).toMatchObject([{ status: 'ok' }, { status: 'warning' }])
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

  it('reports a file, a folder of another user, and a folder without write permission', async () => {
    await writeFile(here.path('file'), '')
    const file = { env: { PROSPECT_HOME: here.path('file') } }
    await here.says('is not a folder', 'folders', file)
    await here.says('cannot be written to', 'folders', { disk: { isWritable: () => false } })
    asAnother()
    await here.says('sudo chown -R', 'folders')
  })
})

describe('doctor', () => {
  it('reports a check that fails as a problem, and goes on', async () => {
    const isWritable = () => {
      throw new Error('out of order')
    }
    expect(await here.lines('folders', { disk: { isWritable } })).toEqual([
      'problem | This could not be checked: out of order. | ',
    ])
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

  it('warns about less important files that others can read', async () => {
    await mkdir(here.path('runs/one'), { recursive: true, mode: 0o700 })
    await writeFile(here.path('runs/one/input.csv'), '', { mode: 0o644 })
    await writeFile(here.path('engine.db-wal'), '', { mode: 0o644 })
    expect((await here.look('files')).map(({ status, hint }) => [status, hint])).toEqual([
      ['warning', `Run: chmod 600 ${here.path('engine.db-wal')}`],
      ['warning', `Run: chmod 600 ${here.path('runs/one/input.csv')}`],
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

const megabytes = 1_048_576
const disk = (free: number, type = 0xef53) => ({ disk: { space: () => ({ type, free }) } })

describe('doctor: disk', () => {
  it.each([
    [5_000, 'ok', '4.9 GiB are free'],
    [500, 'warning', 'Only 500 MiB are free'],
    [63, 'problem', 'Only 63 MiB are free'],
    [0, 'problem', 'Only 0 bytes are free'],
  ])('%i MiB of free space: %s', async (free, status, text) => {
    expect(await here.look('disk', disk(free * megabytes))).toMatchObject([
      { status, text: expect.stringContaining(text) },
    ])
  })

  it('checks the disk of the nearest existing parent folder', async () => {
    const asked: string[] = []
    const space = (folder: string) => {
      asked.push(folder)
      return { type: 0, free: 1 }
    }
    await here.look('disk', { disk: { space }, env: { PROSPECT_HOME: here.path('a/b/c') } })
    expect(asked).toEqual([here.home])
  })
})

describe.runIf(process.platform === 'linux')('doctor: file system', () => {
  it.each([
    [0xef53, 'ok', 'on a disk of this machine'],
    [0x6969, 'warning', 'network file system (NFS)'],
    [0xff534d42, 'warning', 'network file system (CIFS)'],
    [0x65735546, 'warning', 'FUSE'],
  ])('file system type %i: %s', async (type, status, text) => {
    expect(await here.look('file system', disk(1, type))).toMatchObject([
      { status, text: expect.stringContaining(text) },
    ])
  })
})
