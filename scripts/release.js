/**
 * `npm run release -- VERSION`: sets the version, packs the tarball, installs and uses it on each supported Node, then
 * commits and tags. Where anything fails, package.json is as it was and there is no tag. It publishes nothing.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensure } from './ensure.js'
import { npm, readJson, root, run } from './run.js'

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

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

async function release(version) {
  const problem = obstacle(version)
  if (problem) throw new Error(problem)
  const tarball = join(root, `${readJson('package.json').name}-${version}.tgz`)
  try {
    if (readJson('package.json').version !== version)
      await step(`Setting the version to ${version}`, () => npm('version', version, '--no-git-tag-version'))
    await step('Packing', () => npm('pack'))
    await step('Installing and using the tarball', () =>
      run(process.execPath, [join(root, 'scripts/smoke.js'), '--tarball', tarball]),
    )
    if (git('status', '--porcelain') !== '') git('commit', '--all', '--message', `Release ${version}`)
    git('tag', '--annotate', `v${version}`, '--message', `prospect ${version}`)
  } catch (error) {
    git('checkout', '--', 'package.json', 'package-lock.json')
    rmSync(tarball, { force: true })
    throw error
  }
  process.stdout.write(`Tagged v${version}. To publish: git push --follow-tags && npm publish ${tarball}\n`)
}

try {
  await ensure()
  await release(process.argv[2])
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
