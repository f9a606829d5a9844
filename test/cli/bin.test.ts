import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { command } from '../support/command.js'
import { perTest } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { root } from '../support/older-node.js'

const copy = perTest(newFolder)
beforeEach(() => {
  for (const name of ['bin', 'package.json']) cpSync(join(root, name), copy.at(name), { recursive: true })
})

const run = (...argv: string[]) =>
  spawnSync(process.execPath, [copy.at('bin/prospect.js'), ...argv], {
    encoding: 'utf8',
    env: { ...process.env, PROSPECT_HOME: copy.at('home') },
  })

describe('bin/prospect.js', () => {
  it.each(['--version', '-V'])(
    'prints the version from package.json for %s, and how it was installed, without loading the program',
    async (flag) => {
      const { version } = JSON.parse(readFileSync(copy.at('package.json'), 'utf8')) as { version: string }
      const { status, stdout, stderr } = run(flag)
      expect([status, stdout, stderr]).toEqual([0, `${version}\nInstalled with npm, in ${copy.path}\n`, ''])
      expect((await command([flag])).stdout).toBe(`${version}\n`)
    },
  )

  it('says for --version, version and doctor how it was installed, and doctor how to upgrade', () => {
    writeFileSync(copy.at('installed'), 'with install.sh\nRun the install.sh of the new version.\n')
    for (const name of ['dist', 'node_modules']) symlinkSync(join(root, name), copy.at(name), 'junction')
    const told = `was installed with install.sh, in ${resolve(copy.path, '../..')}.`
    for (const word of ['--version', 'version'])
      expect(run(word).stdout.split('\n')[1]).toBe(
        `Installed with install.sh, in ${resolve(copy.path, '../..')}`,
      )
    const { checks } = JSON.parse(run('doctor', '--json').stdout) as { checks: { name: string }[] }
    expect(checks.find(({ name }) => name === 'program')).toMatchObject({
      text: expect.stringContaining(told),
      hint: 'To upgrade: Run the install.sh of the new version.',
    })
  })

  it('escapes control characters in an error that the program does not catch', () => {
    mkdirSync(copy.at('dist'))
    writeFileSync(
      copy.at('dist/main.cjs'),
      String.raw`(exports) => {
        exports.main = async () => { throw new Error('\u001b]0;title\u0007') }
        exports.escapeControls = (text) => text.replace(/\p{Cc}/gu, '?')
        exports.outputOf = (_, open) => open()
      }`,
    )
    const { status, stderr } = run('credits')
    expect([status, stderr]).toEqual([1, expect.stringContaining('This is a bug in prospect: ?]0;title?.')])
  })

  it.skipIf(process.platform === 'win32')('says that the folder it was started in is gone', () => {
    const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    const argv = [
      '-c',
      script,
      'sh',
      process.execPath,
      copy.at('bin/prospect.js'),
      'flow',
      'run',
      'flow.yaml',
    ]
    mkdirSync(copy.at('dist'))
    writeFileSync(
      copy.at('dist/main.cjs'),
      `(exports) => {
        exports.main = async () => 0
        exports.escapeControls = (text) => text
        exports.outputOf = (_, open) => open()
      }`,
    )
    const { status, stdout, stderr } = spawnSync('sh', argv, { cwd: copy.path, encoding: 'utf8' })
    expect([status, stdout, stderr]).toEqual([
      2,
      '',
      'The folder that this command was started in is no longer there. Change to another one.\n',
    ])
  })

  it('says that the program is not built, and how to build it', () => {
    const { status, stdout, stderr } = run('credits')
    expect([status, stdout, stderr]).toEqual([1, '', 'prospect is not built yet. Run: npm run build\n'])
  })
})
