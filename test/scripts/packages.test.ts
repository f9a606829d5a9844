import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { casesOf } from '../support/fixtures.js'
import { root } from '../support/older-node.js'

const require = createRequire(import.meta.url)
const { isSupported } = require(join(root, 'bin', 'runtime.js')) as {
  isSupported(version: string, range: string): boolean
}
const json = <T>(name: string): T => JSON.parse(readFileSync(join(root, name), 'utf8')) as T
const { engines } = json<{ engines: { node: string } }>('package.json')

interface Pin {
  readonly name: string
  readonly version: string
  readonly integrity: string
}

const sha512 = /^sha512-[A-Za-z0-9+/]{86}==$/

describe('package-lock.json', () => {
  it('has no run-time dependency with an install script, which npm 12 would not run', () => {
    type Entry = { readonly dev?: boolean; readonly hasInstallScript?: boolean }
    const { packages } = json<{ packages: Record<string, Entry> }>('package-lock.json')
    const runTime = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev)
    expect(runTime.length).toBeGreaterThan(20)
    expect(runTime.filter(([, entry]) => entry.hasInstallScript).map(([path]) => path)).toEqual([])
  })

  it('compiles nothing in npm ci, which would need Python and a compiler', () => {
    const { packages } = json<{ packages: Record<string, { readonly gypfile?: boolean }> }>(
      'package-lock.json',
    )
    // Without this, npm sees a binding.gyp and compiles, although the package says not to.
    expect(packages['node_modules/better-sqlite3']?.gypfile).toBe(false)
  })
})

describe('scripts/runtimes.json', () => {
  const { npm, ...majors } = json<Record<string, Record<string, Pin>> & { readonly npm: Pin }>(
    'scripts/runtimes.json',
  )
  const pins = Object.entries(majors).flatMap(([major, platforms]) =>
    Object.entries(platforms).map(([platform, pin]) => ({ major, platform, ...pin })),
  )

  it('has a Node of each supported major version for each platform', () => {
    const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64']
    expect(Object.keys(majors)).toEqual(['22', '24', '26'])
    for (const pinned of Object.values(majors)) expect(Object.keys(pinned).sort()).toEqual(platforms)
  })

  it.each(pins)('pins a supported Node $major for $platform', ({ major, platform, ...pin }) => {
    expect(pin).toEqual({
      name: expect.stringMatching(/^node-(bin-)?(linux|darwin|win)-(x64|arm64)$/),
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      integrity: expect.stringMatching(sha512),
    })
    expect(isSupported(pin.version, engines.node)).toBe(true)
    // The registry has no current Node 24 for this one.
    if (`${major} ${platform}` !== '24 darwin-arm64') expect(pin.version.split('.')[0]).toBe(major)
  })

  it('pins the npm of the smoke test', () => {
    expect(npm).toEqual({
      name: 'npm',
      version: expect.stringMatching(/^12\./),
      integrity: expect.stringMatching(sha512),
    })
  })
})

describe('engines.node of package.json', () => {
  it.each(casesOf<[string, boolean]>('scripts/packages/covers-node'))(
    'covers Node %s: %s',
    (version, supported) => {
      expect(isSupported(version, engines.node)).toBe(supported)
    },
  )
})
