import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newFolder } from '../support/new-folder.js'

const root = join(import.meta.dirname, '..', '..')

/** Returns the value of an expression over the loaded program, in a separate process as for a command. */
function loaded(expression: string): unknown {
  const [loader, dist] = [join(root, 'bin', 'load.js'), join(root, 'dist')].map((path) =>
    JSON.stringify(path),
  )
  const program = `const loaded = require(${loader}).load(${dist}); console.log(JSON.stringify(${expression}))`
  return JSON.parse(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }))
}

describe.each(['main', 'lookup', 'more'])('the script %s of the program', (name) => {
  it('has a code cache that the running Node accepts', () => {
    // `undefined` would mean that the build made no cache for this version of V8.
    expect(loaded(`String(loaded.part('${name}').script.cachedDataRejected)`)).toBe('false')
  })

  it('is ASCII, which needs no decoding', () => {
    const file = JSON.stringify(join(root, 'dist', `${name}.cjs`))
    expect(loaded(`require('node:buffer').isAscii(require('node:fs').readFileSync(${file}))`)).toBe(true)
  })
})

it('credits need the main script alone, and looking up a company that of lookups, too', () => {
  const folder = newFolder()
  onTestFinished(() => folder.remove())
  const run = (...argv: string[]) =>
    execFileSync(process.execPath, [folder.at('bin/prospect.js'), ...argv], {
      env: { ...process.env, PROSPECT_HOME: folder.at('home') },
    })
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(root, name), folder.at(name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), folder.at('node_modules'))
  run('init')
  run('data', 'sample')
  run('accounts', 'enrich', '--domain', 'birchwood.example')
  rmSync(folder.at('dist/more.cjs'))
  expect(String(run('accounts', 'enrich', '--domain', 'acme-robotics.example'))).toContain('Acme Robotics')
  const missing = spawnSync(
    process.execPath,
    [folder.at('bin/prospect.js'), 'accounts', 'enrich', 'nowhere.example'],
    {
      env: { ...process.env, PROSPECT_HOME: folder.at('home') },
    },
  )
  expect([missing.status, String(missing.stderr)]).toEqual([9, expect.stringContaining('No company found')])
  rmSync(folder.at('dist/lookup.cjs'))
  expect(JSON.parse(String(run('credits')))).toMatchObject({ credits: { enrichment: 998 } })
})

it('the built program has the pages of the dashboard', async () => {
  const folder = newFolder()
  const program = join(root, 'bin', 'prospect.js')
  const env = { ...process.env, PROSPECT_HOME: folder.at('home') }
  execFileSync(process.execPath, [program, 'init', '--yes', '--quiet'], { env })
  const dashboard = spawn(process.execPath, [program, 'dashboard', '--port', '0', '--json', '--no-open'], {
    env,
  })
  onTestFinished(() => {
    dashboard.kill()
    folder.remove()
  })
  const [line] = await Promise.race([once(dashboard.stdout, 'data'), once(dashboard, 'exit')])
  const { url } = JSON.parse(String(line)) as { url: string }
  const page = await fetch(url)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('</html>')])
})
