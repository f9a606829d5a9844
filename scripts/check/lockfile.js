import { existsSync, readFileSync } from 'node:fs'
import { root } from '../run.js'

/** What is wrong with the lockfile, one sentence each: it names versions and hashes, and no host to fetch from. */
export function lockfileProblems() {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8'))
  const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const entries = Object.entries(packages).filter(([path]) => path !== '')
  const hosts = entries.filter(([, entry]) => /^[a-z+]+:/.test(entry.resolved ?? ''))
  const loose = entries.filter(([, entry]) => !entry.link && !entry.integrity)
  const present = new Set(entries.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 13)))
  const named = entries.flatMap(([, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }),
  )
  const lost = [...new Set(named)].filter((name) => !present.has(name))
  const compiled = entries.filter(
    ([path, entry]) => entry.gypfile !== false && !entry.dev && isCompiled(path),
  )
  return [
    ...hosts.map(([path, { resolved }]) => `package-lock.json: ${path} names a host: ${resolved}`),
    ...loose.map(([path]) => `package-lock.json: ${path} has no integrity`),
    ...lost.map((name) => `package-lock.json: lacks ${name}, so that npm ci refuses it`),
    ...compiled.map(
      ([path]) =>
        `package-lock.json: ${path} needs "gypfile": false, or npm ci compiles it; npm install drops that`,
    ),
    ...['dependencies', 'devDependencies']
      .filter((kind) => JSON.stringify(manifest[kind]) !== JSON.stringify(packages[''][kind]))
      .map((kind) => `package-lock.json: its ${kind} differ from package.json; run: npm install`),
  ]
}

/** Whether npm compiles a package that it installs from a lockfile, whatever the package itself says of that. */
const isCompiled = (path) => existsSync(`${root}${path}/binding.gyp`)
