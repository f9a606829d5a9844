/**
 * `npm run release`: makes all files of a release in `release/`. `--only linux-x64,win-x64` makes some archives, `--to FOLDER` puts
 * them elsewhere, and `--url ADDRESS` is where they will be found.
 * `npm run release -- VERSION` sets the version first, installs and uses the npm package on each supported Node, then commits
 * and tags. Where anything fails, package.json is as it was and there is no tag. It publishes nothing.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ensure } from './ensure.js'
import { npm, readJson, root, run } from './run.js'

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const say = (text) => process.stdout.write(`${text}\n`)

/** Returns why this version can't be released from here, or `undefined`. */
function obstacle(version) {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version ?? '')) return 'Give the version: npm run release -- 0.2.0'
  if (git('branch', '--show-current') !== 'main') return 'Releases are made from main. Run: git switch main'
  if (git('status', '--porcelain') !== '')
    return 'There are changes that are not committed. Commit them first'
  if (git('tag', '--list', `v${version}`) !== '') return `v${version} exists already`
  const changes = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  if (!changes.split('\n').some((line) => line.startsWith(`## ${version},`) && !line.includes('unreleased')))
    return `CHANGELOG.md has no section "## ${version}, DATE"`
  return undefined
}

/** Runs a step, and throws a sentence when it fails. */
async function step(title, work) {
  process.stdout.write(`${title}\n`)
  if ((await work()) !== 0) throw new Error(`${title}: failed`)
}

/** Makes the files, and prints each with its size. */
async function make({ to, only, url }) {
  const { makeArtifacts } = await import('./release/artifacts.js')
  const { version } = readJson('package.json')
  const address = url ?? `https://downloads.example.com/prospect/${version}`
  const made = await makeArtifacts({
    to: resolve(to ?? join(root, 'release')),
    url: address.replace(/\/+$/, ''),
    ...(only === undefined ? {} : { only: only.split(',') }),
    say,
  })
  for (const { name, bytes } of made) say(`${(bytes / 1e6).toFixed(1).padStart(6)} MB  ${name}`)
  if (url === undefined)
    say(`The installers look for the archives at ${address}: give --url where you publish elsewhere.`)
}

async function release(version, options) {
  const problem = obstacle(version)
  if (problem) throw new Error(problem)
  try {
    if (readJson('package.json').version !== version)
      await step(`Setting the version to ${version}`, () => npm('version', version, '--no-git-tag-version'))
    await make(options)
    const tarball = join(
      resolve(options.to ?? join(root, 'release')),
      `${readJson('package.json').name}-${version}.tgz`,
    )
    await step('Installing and using the npm package', () =>
      run(process.execPath, [join(root, 'scripts/smoke.js'), '--tarball', tarball]),
    )
    if (git('status', '--porcelain') !== '') git('commit', '--all', '--message', `Release ${version}`)
    git('tag', '--annotate', `v${version}`, '--message', `prospect ${version}`)
    say(`Tagged v${version}. To publish: git push --follow-tags, npm publish ${tarball}, and the other files`)
  } catch (error) {
    git('checkout', '--', 'package.json', 'package-lock.json')
    throw error
  }
}

try {
  await ensure()
  const string = { type: 'string' }
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { to: string, only: string, url: string },
  })
  await (positionals.length > 0 ? release(positionals[0], values) : make(values))
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
