import { spawnSync } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { command, folder, removed } from '../support/command.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
let copy = ''
beforeEach(async () => {
  copy = await folder()
  await cp(join(root, 'bin'), join(copy, 'bin'), { recursive: true })
  await cp(join(root, 'package.json'), join(copy, 'package.json'))
})
afterEach(() => removed(copy))

const run = (...argv: string[]) =>
  spawnSync(process.execPath, [join(copy, 'bin', 'prospect.js'), ...argv], { encoding: 'utf8' })

describe('bin/prospect.js', () => {
  it.each(['--version', '-V'])(
    'prints the version from package.json for %s without loading the program',
    async (flag) => {
      const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
        version: string
      }
      const { status, stdout, stderr } = run(flag)
      expect([status, stdout, stderr]).toEqual([0, `${version}\n`, ''])
      expect((await command([flag])).stdout).toBe(`${version}\n`)
    },
  )

  it('escapes control characters in an error that the program does not catch', async () => {
    await mkdir(join(copy, 'dist'))
    await writeFile(
      join(copy, 'dist', 'main.cjs'),
      String.raw`(exports) => {
        exports.main = async () => { throw new Error('\u001b]0;title\u0007') }
        exports.escapeControls = (text) => text.replace(/\p{Cc}/gu, '?')
      }`,
    )
    const { status, stderr } = run('credits')
    expect([status, stderr]).toEqual([1, expect.stringContaining('This is a bug in prospect: ?]0;title?.')])
  })

  it('says that the program is not built, and how to build it', () => {
    const { status, stdout, stderr } = run('credits')
    expect([status, stdout, stderr]).toEqual([1, '', 'prospect is not built yet. Run: npm run build\n'])
  })
})
