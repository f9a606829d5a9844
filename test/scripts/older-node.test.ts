import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { beforeEach, describe, expect, it } from 'vitest'
import { widthOf } from '../../src/cli/output/width.js'
import { perTest } from '../support/each.js'
import { isLong, sample } from '../support/effort.js'
import { oldNodeClone, oldVersion, root } from '../support/older-node.js'

const here = perTest(() => oldNodeClone('package-lock.json', 'README.md', 'biome.json'))
beforeEach(() => {
  for (const name of ['src', 'docs']) symlinkSync(join(root, name), here.path(name), 'junction')
  mkdirSync(here.path('test'))
})

/** Runs a command as a shell on the machine with the older Node would. */
const shell = (program: string, argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  execa(program, argv, {
    cwd: here.folder,
    env: { ...here.env, ...env },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  })

describe('scripts on an older Node', () => {
  it.runIf(isLong)('npm run quickstart prints its steps on the downloaded Node', async () => {
    const { exitCode, stdout, stderr } = await here.run('scripts/quickstart.js')
    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('Error')])
    expect(stdout).toContain('6. Every credit is accounted for')
    const [, result = ''] = stdout.split('Company Name ')
    for (const line of result.slice(0, result.indexOf('\n\n')).split('\n').slice(1))
      expect(widthOf(line)).toBeLessThanOrEqual(80)
    expect(here.starts()[0]).toBe(here.path('scripts/quickstart.js'))
  })

  it('npm test runs the requested tests on the downloaded Node, and passes on its exit code', async () => {
    here.write('vitest.config.ts', "export default { test: { include: ['test/**'] } }\n")
    const file = (version: string) =>
      "import { expect, it } from 'vitest'\n" +
      `it('runs', () => expect(process.versions.node).toBe('${version}'))\n`
    here.write('test/supported.test.ts', file(process.versions.node))
    here.write('test/older.test.ts', file(oldVersion))
    if (isLong) {
      const supported = await here.run('scripts/test.js', 'test/supported')
      expect([supported.exitCode, supported.stdout]).toEqual([
        0,
        expect.stringMatching(/\n1 passed, 0 failed$/),
      ])
    }
    const both = await here.run('scripts/test.js')
    expect([both.exitCode, both.stdout]).toEqual([1, expect.stringMatching(/\n1 passed, 1 failed$/)])
  })

  it.runIf(isLong)('npm run check runs each check on the downloaded Node', async () => {
    here.write(
      'tsconfig.json',
      '{ "compilerOptions": { "noEmit": true, "types": [] }, "files": ["test/a.ts"] }\n',
    )
    here.write('test/a.ts', 'export const a: number = 1\n')
    // The scripts of the dashboard are checked by themselves: copies, because src is a link.
    rmSync(here.path('src'))
    cpSync(join(root, 'src'), here.path('src'), { recursive: true })
    here.write(
      'src/dashboard/browser/tsconfig.json',
      '{ "compilerOptions": { "noEmit": true, "types": [], "lib": ["ES2024", "DOM"] }, "files": ["a.ts"] }\n',
    )
    here.write('src/dashboard/browser/a.ts', "document.title = 'a'\n")
    here.write('scripts/check/documents.js', 'export const documentProblems = async () => []\n')
    const { stdout } = await here.run('scripts/check.js')
    for (const check of ['types', 'lint', 'documents', 'lockfile'])
      expect(stdout.split('\n')).toContain(`${check}: in order`)
    expect(here.starts()).toEqual([here.path('scripts/check.js')])
  })

  it('runs on a supported Node of the machine, not on the downloaded one', async () => {
    const { stdout } = await shell(process.execPath, ['scripts/runtime.js'])
    expect(join(stdout, 'node')).toBe(process.execPath)
    const { exitCode } = await shell(process.execPath, ['scripts/ensure.js'])
    expect([exitCode, existsSync(here.path('starts'))]).toEqual([0, false])
  })

  it('refuses a downloaded Node that is too old itself, and looks no further', async () => {
    here.writeShell('.node/bin/node', `echo start >> starts\nexec '${here.path('machine', 'node')}' "$@"`)
    const scripts = sample(['quickstart', 'test', 'check', 'build'], 2)
    for (const script of scripts) {
      const { exitCode, stderr } = await here.run(`scripts/${script}.js`)
      expect([exitCode, stderr.trim()]).toEqual([
        1,
        `Node ${oldVersion} in .node/ is too old: prospect needs Node 22 (from 22.22.2), 24, or 26 and newer`,
      ])
    }
    expect(here.starts()).toHaveLength(scripts.length)
  })

  it('reports in a sentence that there is no Node for this platform', async () => {
    here.write('scripts/runtimes.json', '{}')
    const { exitCode, stdout, stderr } = await here.run('scripts/runtime.js')
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(
      /^There is no Node 24 to download for \S+: install Node 22 .*, and run this again$/,
    )
  })
})

describe('a download of Node', () => {
  /** An npm that answers `pack` with a file of a Node, or with nothing. */
  const npm = (packs: string) => {
    here.writeShell(
      'machine/npm',
      `case "$*" in *pack*) shift; while [ "$1" != --pack-destination ]; do shift; done; ${packs};; esac`,
    )
    rmSync(here.path('.node'), { recursive: true })
  }

  it('is refused when its hash is not the pinned one', async () => {
    npm('echo damaged > "$2/node.tgz"')
    const { exitCode, stdout, stderr } = await shell('node', ['scripts/runtime.js'])
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(
      /The download of \S+ \S+ is damaged: its hash is not the one in scripts\/runtimes.json/,
    )
    expect(existsSync(here.path('.node/bin/node'))).toBe(false)
  })

  it('fails with a sentence when the registry does not answer', async () => {
    npm('exit 1')
    const { exitCode, stderr } = await shell('node', ['scripts/quickstart.js'])
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^\S+ \S+ could not be downloaded$/m)])
  })

  it('is repeated when it was interrupted', async () => {
    rmSync(here.path('.node/package.json'))
    here.writeShell('machine/npm', 'exit 1')
    const { exitCode, stderr } = await shell('node', ['scripts/runtime.js'])
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^Downloading Node /)])
  })
})

describe('npm ci on an older Node', () => {
  it('installs, does not build, says why in one sentence, and exits with 0', async () => {
    for (const name of ['dist', 'node_modules', 'package-lock.json', '.node', 'machine/npm'])
      rmSync(here.path(name), { recursive: true })
    const { name, version, type, engines, scripts } = JSON.parse(
      readFileSync(here.path('package.json'), 'utf8'),
    )
    const manifest = { name, version, type, engines }
    here.write('package.json', JSON.stringify({ ...manifest, scripts }))
    const lockfile = { name, version, lockfileVersion: 3, requires: true, packages: { '': manifest } }
    here.write('package-lock.json', JSON.stringify(lockfile))
    const { exitCode, stdout, stderr } = await shell('npm', ['ci'])
    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('Error')])
    const sentence = `Not built, because Node ${oldVersion} is too old: run npm run quickstart, which downloads a newer one.`
    expect(stdout.split('\n').filter((line) => line.includes('too old'))).toEqual([sentence])
    expect([existsSync(here.path('dist')), existsSync(here.path('.node'))]).toEqual([false, false])
  })

  it('never packs a package that is not built', async () => {
    rmSync(here.path('dist'))
    here.writeShell('.node/bin/node', `echo "$*" >> '${here.path('starts')}'`)
    const env = { npm_lifecycle_event: 'prepack' }
    const { exitCode, stdout } = await shell('node', ['scripts/build.js'], env)
    expect([exitCode, stdout]).toEqual([0, ''])
    expect(here.starts()).toEqual([here.path('scripts/build.js')])
  })
})

describe('.ci/run on an older Node', () => {
  beforeEach(() => {
    mkdirSync(here.path('.ci'))
    writeFileSync(here.path('.ci/run'), readFileSync(join(root, '.ci/run')))
  })

  it('fetches the runtime before it installs, and runs everything on it', async () => {
    const printed = 'npm $* on $(node --print process.versions.node) at $(command -v node)'
    here.writeShell('machine/npm', `echo "${printed}"`)
    const { exitCode, stdout } = await shell('bash', ['.ci/run'])
    const place = `on ${process.versions.node} at ${here.path('.node/bin/node')}`
    const commands = ['ci', 'test -- --long', 'run check', 'run smoke']
    expect([exitCode, stdout.split('\n')]).toEqual([0, commands.map((command) => `npm ${command} ${place}`)])
  })

  it('stops when the runtime cannot be had', async () => {
    here.writeShell('machine/npm', 'echo "npm $*"; exit 1')
    rmSync(here.path('.node'), { recursive: true })
    const { exitCode, stdout } = await shell('bash', ['.ci/run'])
    expect([exitCode, stdout]).toEqual([1, ''])
  })
})
