/** Makes the files of a release from one build: what people download, check and install. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip, gzipSync } from 'node:zlib'
import { zipSync } from 'fflate'
import { external } from '../packages.js'
import { npmOutput, quietNpm, readJson, root } from '../run.js'
import { pinnedRuntime, runtimeFor } from '../runtime.js'
import { binaryOf, platforms } from './platforms.js'

/** No archive may be larger than this, in bytes. */
const largest = 60_000_000

/** The Node that goes into the archives. */
const major = '24'

const templates = join(root, 'scripts/release')
const utf8 = (path) => readFileSync(path, 'utf8')
const sha256 = (path) => createHash('sha256').update(readFileSync(path)).digest('hex')

/**
 * Writes the files of a release into an empty folder: `only` names the platforms to make archives for, and `url` is where the
 * files will be found. With the same build, all but the npm package come out the same each time.
 */
export async function makeArtifacts({ to, url, only = Object.keys(platforms), say }) {
  const { version } = readJson('package.json')
  const unknown = only.find((name) => !(name in platforms))
  if (unknown) throw new Error(`There is no platform ${unknown}: give ${Object.keys(platforms).join(', ')}`)
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  const work = mkdtempSync(join(tmpdir(), 'prospect-release-'))
  try {
    say('Building, and packing for npm')
    if ((await quietNpm('pack', '--pack-destination', to)) !== 0) throw new Error('npm pack failed')
    const [packed] = readdirSync(to)
    execFileSync('tar', ['-xzf', join(to, packed), '-C', work])
    const release = { version, url, to, work, packed: join(work, 'package'), date: dateOfCommit() }
    for (const name of only) {
      const platform = platforms[name]
      const tree = await makeTree(release, name, platform)
      say(`Packing ${name}`)
      if (platform.isWindows) writeZip(release, tree)
      else await writeTarball(release, tree)
      if (platform.debian) writeDebian(release, tree, platform.debian)
      rmSync(tree, { recursive: true })
    }
    writeInstallers(release, only)
    for (const name of readdirSync(join(root, 'deploy')))
      copyFileSync(join(root, 'deploy', name), join(to, name))
    await writeBillOfMaterials(release, only)
    writeSums(to)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return readdirSync(to).map((name) => ({ name, bytes: statSync(join(to, name)).size }))
}

/** The time that all files of archives have, in seconds: of the commit, so that they do not depend on when they are made. */
const dateOfCommit = () =>
  Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }))

/** Unpacks what an archive holds: the program, the packages that it loads, its Node, and what shells and `man` read. */
async function makeTree({ version, work, packed }, name, { runtime, sqlite, binary, isWindows }) {
  const tree = join(work, `prospect-${version}-${name}`)
  const app = join(tree, 'lib/app')
  const [program, node] = isWindows ? ['prospect.cmd', 'node.exe'] : ['prospect', 'node']
  for (const folder of ['bin', 'lib']) mkdirSync(join(tree, folder), { recursive: true })
  cpSync(packed, app, { recursive: true, filter: (path) => isOfProgram(path.slice(packed.length + 1)) })
  for (const path of packagesLoaded(join(app, 'dist'))) copyPackage(path, app)
  const sqliteFile = `node_modules/better-sqlite3/prebuilds/${sqlite}.node`
  mkdirSync(dirname(join(app, sqliteFile)), { recursive: true })
  // The program looks for the binary beside `lib`.
  for (const name of ['package.json', 'LICENSE', 'lib'])
    cpSync(join(root, 'node_modules/better-sqlite3', name), join(app, 'node_modules/better-sqlite3', name), {
      recursive: true,
    })
  copyFileSync(join(root, sqliteFile), join(app, sqliteFile))
  const from = await runtimeFor(major, runtime)
  copyFileSync(join(from, 'bin', node), join(tree, 'lib', node))
  // The package for Windows lacks it; it is the same for all.
  const licensed = existsSync(join(from, 'LICENSE')) ? from : await runtimeFor(major, 'linux-x64')
  copyFileSync(join(licensed, 'LICENSE'), join(tree, 'lib/LICENSE-node'))
  for (const path of [join(tree, 'lib', node), join(app, sqliteFile)])
    if (binaryOf(path) !== binary) throw new Error(`${path} is ${binaryOf(path)}, not ${binary}`)
  keepCodeCache(join(app, 'dist'), from, runtime)
  writeInstalled(tree, 'from an archive', 'Unpack the archive of the new version in its place.')
  if (isWindows)
    writeFileSync(join(tree, 'bin', program), utf8(join(templates, program)).replace(/\r?\n/g, '\r\n'))
  else copyFileSync(join(templates, 'prospect.sh'), join(tree, 'bin', program))
  moveManuals(app, isWindows ? undefined : join(tree, 'share'))
  for (const file of ['README.md', 'LICENSE']) renameSync(join(app, file), join(tree, file))
  normaliseModes(tree)
  return tree
}

/** Says how the program was installed, and how to upgrade it, to `prospect --version` and `prospect doctor`. */
const writeInstalled = (tree, how, upgrade) =>
  writeFileSync(join(tree, 'lib/app/installed'), `${how}\n${upgrade}\n`)

/** Keeps the compiled code that the V8 of the archive's Node accepts; of another machine it accepts none. */
function keepCodeCache(dist, runtime, platform) {
  const isOfThisMachine = platform === `${process.platform}-${process.arch}`
  const node = join(runtime, 'bin/node')
  const kept = isOfThisMachine
    ? execFileSync(node, ['--print', 'process.versions.v8'], { encoding: 'utf8' })
    : 'none'
  for (const file of readdirSync(dist).filter((each) => each.endsWith('.cache')))
    if (!file.includes(`.${kept.split('-')[0].trim()}.`)) rmSync(join(dist, file))
}

/** Leaves out of the package what only its users in programs have a use for, and pictures of documents. */
const isOfProgram = (path) =>
  !/^(dist\/(types|library|index\.js)|docs\/images)(\/|$)/.test(path.replaceAll('\\', '/'))

/** Returns the paths of the packages that the built program loads, with those that they need. */
function packagesLoaded(dist) {
  const { packages } = readJson('package-lock.json')
  const found = new Set()
  const visit = (name, from) => {
    for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
      const path = `${folder}${folder && '/'}node_modules/${name}`
      if (packages[path] && existsSync(join(root, path))) {
        if (found.has(path)) return
        found.add(path)
        const { dependencies, optionalDependencies, peerDependencies } = packages[path]
        for (const needed of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
          visit(needed, path)
        return
      }
      if (folder === '') return
    }
  }
  // Of better-sqlite3 all but the binary is in the program.
  for (const name of namesLoaded(dist)) if (name !== 'better-sqlite3') visit(name, '')
  return [...found].sort()
}

/** Returns the names of the packages that scripts load while they run: those that are named, and those that they require. */
function namesLoaded(dist) {
  const scripts = readdirSync(dist).filter((name) => name.endsWith('.cjs'))
  const required = scripts.flatMap((name) =>
    [
      ...utf8(join(dist, name)).matchAll(
        /\b(?:require\d*|createRequire\d*\([\w.]+\))\(["`]((?:@[\w.-]+\/)?[a-z][\w.-]*)/g,
      ),
    ].map(([, each]) => each),
  )
  return new Set([...external, ...required].filter((name) => !isBuiltin(name)))
}

/** Builds of packages for browsers and module loaders, of which the program has a script instead, and tools of builds. */
const otherBuilds =
  /^node_modules\/(libphonenumber-js\/(bundle|es6|es6-modern)|tldts(-core)?\/dist\/es6|jq-web\/emsdk)$/

/** Copies a package without its own packages, and without what no program runs. */
function copyPackage(path, app) {
  const from = join(root, path)
  cpSync(from, join(app, path), {
    recursive: true,
    filter: (each) =>
      !/(\.map|\.[cm]?ts|\.md|[\\/]node_modules)$/i.test(each.slice(from.length)) &&
      !otherBuilds.test(each.slice(root.length)),
  })
}

const manualPlaces = {
  'prospect.bash': 'bash-completion/completions/prospect',
  _prospect: 'zsh/site-functions/_prospect',
  'prospect.fish': 'fish/vendor_completions.d/prospect.fish',
}

/** Moves man pages and completions to where shells and `man` look for them below a prefix; removes them without one. */
function moveManuals(app, share) {
  if (share) {
    for (const page of readdirSync(join(app, 'dist/man')))
      write(
        join(share, 'man/man1', `${page}.gz`),
        gzipSync(readFileSync(join(app, 'dist/man', page)), { level: 9 }),
      )
    for (const [name, place] of Object.entries(manualPlaces))
      write(join(share, place), readFileSync(join(app, 'dist/completions', name)))
  }
  for (const folder of ['man', 'completions']) rmSync(join(app, 'dist', folder), { recursive: true })
}

function write(path, contents) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contents)
}

/** Lets everybody read all, and run what can be run. */
function normaliseModes(tree) {
  const programs = ['bin/prospect', 'lib/node'].map((path) => join(tree, path))
  chmodSync(tree, 0o755)
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isSymbolicLink())
      chmodSync(path, entry.isDirectory() || programs.includes(path) ? 0o755 : 0o644)
  }
}

async function writeTarball({ to, date }, tree) {
  const order = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${date}`]
  const args = ['--create', '--format=gnu', ...order, '--directory', dirname(tree), basename(tree)]
  const tar = spawn('tar', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve, reject) => tar.once('error', reject).once('close', resolve))
  const file = join(to, `${basename(tree)}.tar.gz`)
  await pipeline(tar.stdout, createGzip({ level: 9 }), createWriteStream(file))
  if ((await ended) !== 0) throw new Error(`tar could not write ${file}`)
  requireSmall(file)
}

function writeZip({ to, date }, tree) {
  const entries = readdirSync(tree, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  const nameOf = (path) => path.slice(dirname(tree).length + 1).replaceAll('\\', '/')
  const files = Object.fromEntries(paths.sort().map((path) => [nameOf(path), readFileSync(path)]))
  // A zip has the local time of who made it.
  const utc = new Date(date * 1_000)
  const mtime = new Date(utc.getTime() + utc.getTimezoneOffset() * 60_000)
  const file = join(to, `${basename(tree)}.zip`)
  writeFileSync(file, zipSync(files, { level: 9, mtime }))
  requireSmall(file)
}

/** Makes a package for Debian and what derives from it: the same files below `/usr/lib/prospect`. */
function writeDebian({ version, to, work, date }, tree, architecture) {
  const place = join(work, `debian-${architecture}`)
  const at = (...path) => join(place, ...path)
  for (const folder of ['DEBIAN', 'usr/bin', 'usr/lib', 'usr/share/doc/prospect/examples'])
    mkdirSync(at(folder), { recursive: true })
  cpSync(tree, at('usr/lib/prospect'), { recursive: true })
  symlinkSync('../lib/prospect/bin/prospect', at('usr/bin/prospect'))
  const shared = at('usr/lib/prospect/share')
  for (const name of ['man', 'bash-completion', 'fish']) renameSync(join(shared, name), at('usr/share', name))
  mkdirSync(at('usr/share/zsh/vendor-completions'), { recursive: true })
  renameSync(join(shared, manualPlaces._prospect), at('usr/share/zsh/vendor-completions/_prospect'))
  rmSync(shared, { recursive: true })
  const file = `prospect_${version}_${architecture}.deb`
  writeInstalled(
    at('usr/lib/prospect'),
    'from the .deb package',
    `Download the package of the new version and run: sudo apt install ./prospect_VERSION_${architecture}.deb`,
  )
  for (const unit of readdirSync(join(root, 'deploy')).filter((name) => /\.(service|timer)$/.test(name)))
    copyFileSync(join(root, 'deploy', unit), at('usr/share/doc/prospect/examples', unit))
  const licences = ['LICENSE', 'lib/LICENSE-node'].map((name) => utf8(join(tree, name)))
  writeFileSync(
    at('usr/share/doc/prospect/copyright'),
    licences.join('\n\nNode, in /usr/lib/prospect/lib/node:\n\n'),
  )
  const sizes = readdirSync(at('usr'), { recursive: true, withFileTypes: true }).map((entry) =>
    entry.isFile() ? statSync(join(entry.parentPath, entry.name)).size : 0,
  )
  const size = Math.ceil(sizes.reduce((sum, each) => sum + each, 0) / 1_024)
  const control = filled('control', { VERSION: version, ARCHITECTURE: architecture, SIZE: size })
  writeFileSync(at('DEBIAN/control'), control)
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', place])
  const args = ['--root-owner-group', '-Zxz', '--build', place, join(to, file)]
  execFileSync('dpkg-deb', args, {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(date) },
    stdio: 'ignore',
  })
  rmSync(place, { recursive: true })
  requireSmall(join(to, file))
}

function requireSmall(file) {
  const { size } = statSync(file)
  if (size > largest) throw new Error(`${basename(file)} has ${size} bytes, more than ${largest}`)
}

/** Returns a template with each `@NAME@` replaced. Throws where a name has no value. */
function filled(name, values) {
  return utf8(join(templates, name)).replace(/@([A-Z][A-Z0-9_]*)@/g, (_, key) => {
    if (values[key] === undefined) throw new Error(`${name} asks for ${key}, which has no value`)
    return String(values[key])
  })
}

/** Writes what downloads an archive and checks it: for shells, Homebrew and Scoop. */
function writeInstallers({ version, url, to }, only) {
  const sumOf = (name) => {
    const file = `prospect-${version}-${name}.${platforms[name].isWindows ? 'zip' : 'tar.gz'}`
    return [
      `SUM_${name.toUpperCase().replace('-', '_')}`,
      only.includes(name) ? sha256(join(to, file)) : 'none',
    ]
  }
  const values = { VERSION: version, URL: url, ...Object.fromEntries(Object.keys(platforms).map(sumOf)) }
  const isWhole = only.length === Object.keys(platforms).length
  for (const name of ['install.sh', ...(isWhole ? ['prospect.rb', 'prospect.json'] : [])])
    write(join(to, name), filled(name, values))
  chmodSync(join(to, 'install.sh'), 0o755)
}

/** Writes what is in the program, in the format CycloneDX: the packages of the lockfile, and the Node of each platform. */
async function writeBillOfMaterials({ version, to, date }, only) {
  const bill = JSON.parse(await npmOutput('sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'))
  const isShipped = shippedPackages()
  // With `--omit dev`, npm leaves out what packages for development need as well.
  bill.components = bill.components.filter(({ 'bom-ref': name }) => isShipped(name))
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => ref === bill.metadata.component['bom-ref'] || isShipped(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isShipped) }))
  const nodes = only.map((name) => pinnedRuntime(major, platforms[name].runtime))
  for (const { name, version, integrity } of nodes)
    bill.components.push({
      type: 'application',
      'bom-ref': `${name}@${version}`,
      name,
      version,
      purl: `pkg:npm/${name}@${version}`,
      hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice(7), 'base64').toString('hex') }],
    })
  bill.metadata.timestamp = new Date(date * 1_000).toISOString()
  // npm takes a random one.
  delete bill.serialNumber
  write(join(to, `prospect-${version}.cdx.json`), `${JSON.stringify(bill, undefined, 2)}\n`)
}

/** Returns whether a package, as `name@version`, is one that the program needs to run. */
function shippedPackages() {
  const shipped = Object.entries(readJson('package-lock.json').packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
  return (name) => shipped.includes(name)
}

function writeSums(to) {
  const lines = readdirSync(to)
    .sort()
    .map((name) => `${sha256(join(to, name))}  ${name}\n`)
  writeFileSync(join(to, 'SHA256SUMS'), lines.join(''))
}
