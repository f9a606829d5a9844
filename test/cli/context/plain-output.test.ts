import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../../support/new-folder.js'
import { root } from '../../support/older-node.js'

const binary = `${root}/bin/prospect.js`

/** Runs a command whose stdout is a pipe or a file. Returns its output, and whether it made a stream of Node. */
function run(stdout: 'pipe' | number, ...argv: string[]) {
  const folder = newFolder()
  const hook = folder.at('hook.cjs')
  writeFileSync(
    hook,
    `process.on('exit', () => require('fs').writeSync(3,
      String(process.moduleLoadList.includes('NativeModule internal/streams/writable'))))`,
  )
  const { status, output } = spawnSync(process.execPath, ['--require', hook, binary, ...argv], {
    encoding: 'utf8',
    env: { ...process.env, PROSPECT_HOME: folder.at('home') },
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', stdout, 'pipe', 'pipe'],
  })
  return { status, stdout: output[1], madeStream: output[3] === 'true' }
}

describe('stdout of the process', () => {
  it('gets a short result without a stream of Node, through a pipe and in a file', () => {
    const version = run('pipe', 'version')
    expect(version).toMatchObject({ status: 0, madeStream: false })
    const path = newFolder().at('version.txt')
    const file = openSync(path, 'w')
    expect(run(file, 'version')).toMatchObject({ status: 0, madeStream: false })
    closeSync(file)
    expect(readFileSync(path, 'utf8')).toBe(version.stdout)
  })

  it('gets a long result whole', () => {
    const { status, stdout, madeStream } = run('pipe', 'commands', '--json')
    expect([status, madeStream]).toEqual([0, true])
    expect(JSON.parse(stdout ?? '')).toHaveProperty('[0].command')
  })
})
