import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { unzipSync } from 'fflate'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { isLong } from '../support/effort.js'
import { newFolder } from '../support/new-folder.js'
import { root } from '../support/older-node.js'
import { workbookOf } from '../support/workbooks.js'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const olderVersion = '0.0.9'
/** Files of a release that are there already, so that one can be tested as it was made: `PROSPECT_TEST_RELEASE`. */
const made = process.env.PROSPECT_TEST_RELEASE
const folder = newFolder()
const release = made ?? join(folder.path, 'release')
const at = (...path: string[]) => join(release, ...path)

/** Runs a program, and returns its stdout. Throws what it says when it fails. */
function run(program: string, args: readonly string[], options: { cwd?: string; expected?: number[] } = {}) {
  const ended = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 28, ...options })
  const { expected = [0] } = options
  if (!expected.includes(ended.status ?? -1))
    throw new Error(`${program} ${args.join(' ')}: ${ended.status} ${ended.stdout} ${ended.stderr}`)
  return ended.stdout
}

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

const limitMs = 30 * 60_000

beforeAll(() => {
  if (isLong && made === undefined)
    run(process.execPath, [
      join(root, 'scripts/release.js'),
      '--to',
      release,
      '--url',
      'https://example.com/p',
    ])
}, limitMs)

afterAll(() => folder.remove())

/** The first bytes of programs, and where the machine stands in them, by what each archive has to be for. */
const archives = [
  ['linux-x64', '7f454c46', { at: 18, bytes: '3e00' }],
  ['linux-arm64', '7f454c46', { at: 18, bytes: 'b700' }],
  ['darwin-arm64', 'cffaedfe', { at: 4, bytes: '0c000001' }],
  ['darwin-x64', 'cffaedfe', { at: 4, bytes: '07000001' }],
  ['win-x64', '4d5a', { at: -1, bytes: '6486' }],
] as const

/** Returns the files of an archive by their paths below its folder. */
function filesOf(platform: string): Map<string, Buffer> {
  const name = `prospect-${version}-${platform}`
  if (platform.startsWith('win')) {
    const files = Object.entries(unzipSync(readFileSync(at(`${name}.zip`))))
    return new Map(files.map(([path, bytes]) => [path.slice(name.length + 1), Buffer.from(bytes)]))
  }
  const to = join(folder.path, 'unpacked')
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to)
  run('tar', ['-xzf', at(`${name}.tar.gz`), '-C', to])
  const entries = readdirSync(join(to, name), { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(paths.map((path) => [path.slice(join(to, name).length + 1), readFileSync(path)]))
}

describe.skipIf(!isLong)('the files of a release', () => {
  it.each(archives)(
    'has an archive of at most 60 MB for %s, with the Node and the SQLite of that machine',
    (platform, start, machine) => {
      const isWindows = platform === 'win-x64'
      const name = `prospect-${version}-${platform}.${isWindows ? 'zip' : 'tar.gz'}`
      expect(statSync(at(name)).size).toBeLessThanOrEqual(60_000_000)
      const files = filesOf(platform)
      const sqlite = [...files.keys()].filter((path) => path.endsWith('.node'))
      expect(sqlite).toEqual([expect.stringContaining(platform.replace(/^win-/, 'win32-'))])
      for (const path of [isWindows ? 'lib/node.exe' : 'lib/node', ...sqlite]) {
        const bytes = files.get(path) ?? Buffer.alloc(0)
        expect(bytes.toString('hex', 0, start.length / 2)).toBe(start)
        const place = machine.at < 0 ? bytes.readUInt32LE(60) + 4 : machine.at
        expect(bytes.toString('hex', place, place + machine.bytes.length / 2)).toBe(machine.bytes)
      }
      const caches = [...files.keys()].filter((path) => path.endsWith('.cache'))
      expect(caches).toHaveLength(platform === `${process.platform}-${process.arch}` ? 3 : 0)
      const script = files.get(isWindows ? 'bin/prospect.cmd' : 'bin/prospect')?.toString() ?? ''
      expect(script.length).toBeGreaterThan(50)
      expect(script.match(/(?<!\r)\n/g) === null).toBe(isWindows)
      expect(script.includes('\r')).toBe(isWindows)
      const needed =
        'lib/LICENSE-node LICENSE lib/app/dist/places.db lib/app/docs/start.md lib/app/package.json'
      for (const path of needed.split(' ')) expect([...files.keys()]).toContain(path)
    },
    limitMs,
  )

  it('has sums of all files, which the installers name, too', () => {
    const sums = run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: release })
    expect(sums.trim().split('\n')).toHaveLength(readdirSync(release).length - 1)
    const [formula, manifest] = ['prospect.rb', 'prospect.json'].map((name) => readFileSync(at(name), 'utf8'))
    for (const platform of 'linux-x64 linux-arm64 darwin-arm64 darwin-x64'.split(' ')) {
      const name = `prospect-${version}-${platform}.tar.gz`
      expect(formula).toMatch(new RegExp(`/${name}"\\n\\s+sha256 "${sha256(at(name))}"`))
      expect(readFileSync(at('install.sh'), 'utf8')).toContain(sha256(at(name)))
    }
    const name = `prospect-${version}-win-x64.zip`
    expect(JSON.parse(manifest ?? '')).toMatchObject({
      version,
      architecture: { '64bit': { url: expect.stringContaining(name), hash: sha256(at(name)) } },
      extract_dir: `prospect-${version}-win-x64`,
      bin: 'bin\\prospect.cmd',
    })
  })

  it('lists every package of the program and each Node in a CycloneDX bill of materials', () => {
    const { bomFormat, components } = JSON.parse(
      readFileSync(at(`prospect-${version}.cdx.json`), 'utf8'),
    ) as {
      bomFormat: string
      components: { name: string; version: string }[]
    }
    expect(bomFormat).toBe('CycloneDX')
    const named = new Set(components.map((each) => `${each.name}@${each.version}`))
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean; devOptional?: boolean; version: string }>
    }
    const wanted = Object.entries(packages)
      .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
      .map(([path, each]) => `${path.split('node_modules/').at(-1)}@${each.version}`)
    expect(wanted.filter((each) => !named.has(each))).toEqual([])
    expect([...named].filter((each) => /^(vitest|typescript|esbuild)@/.test(each))).toEqual([])
    expect(components.filter(({ name }) => /^node-(bin-)?(linux|darwin|win)-/.test(name))).toHaveLength(5)
  })
})

describe('deploy', () => {
  it('has a compose file whose services are two servers, a worker and the database that they share', () => {
    const { services } = parseYaml(readFileSync(join(root, 'deploy/docker-compose.yml'), 'utf8'), {
      merge: true,
    }) as { services: Record<string, { environment: Record<string, string>; command?: string[] }> }
    expect(Object.keys(services)).toEqual(['postgres', 'api-1', 'api-2', 'worker'])
    const { postgres: _, ...ours } = services
    for (const { environment } of Object.values(ours))
      expect(environment.PROSPECT_DATABASE_URL).toMatch(/^postgres:\/\/.*@postgres\/prospect$/)
    expect(services.worker?.command).toEqual(['worker'])
  })

  it.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)(
    'has units that systemd accepts',
    () => {
      const copies = newFolder()
      onTestFinished(() => copies.remove())
      const units = readdirSync(join(root, 'deploy')).filter((name) => /\.(service|timer)$/.test(name))
      expect(units).toHaveLength(4)
      // It refuses programs and users that this machine lacks.
      for (const name of units) {
        const text = readFileSync(join(root, 'deploy', name), 'utf8')
        const here = text.replaceAll('/usr/bin/prospect', '/bin/true').replace(/^User=.*/m, 'User=root')
        writeFileSync(copies.at(name), here)
      }
      const { status, stderr } = spawnSync(
        'systemd-analyze',
        ['verify', '--man=no', ...units.map((name) => copies.at(name))],
        { encoding: 'utf8' },
      )
      expect([stderr.split('\n').filter((line) => line.includes(copies.path)), status]).toEqual([[], 0])
    },
  )
})

const canMount =
  isLong &&
  process.platform === 'linux' &&
  process.arch === 'x64' &&
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'true']).status === 0

/** A root of its own over the files of this machine, without Node. What is written stays apart, in memory. */
async function newRoot() {
  const place = newFolder()
  const script = `set -e
    mount -t tmpfs tmpfs "$1"; mkdir "$1/upper" "$1/work" "$1/root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
    mount -t proc proc "$1/root/proc"; mount --bind /dev "$1/root/dev"
    for folder in download older; do mkdir "$1/root/$folder"; done
    mount --bind "$2" "$1/root/download"; mount --bind "$3" "$1/root/older"
    for name in node npm npx; do rm -f "$1/root/usr/bin/$name" "$1/root/usr/local/bin/$name" "$1/root/bin/$name"; done
    echo ready; exec sleep infinity`
  const holder = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', place.path, release, makeOlder()])
  const children: ChildProcess[] = []
  onTestFinished(() => {
    for (const child of [...children, holder]) child.kill('SIGKILL')
    place.remove()
  })
  await new Promise<void>((resolve, reject) => {
    holder.stdout.once('data', () => resolve())
    holder.stderr.once('data', (text: Buffer) => reject(new Error(text.toString())))
  })
  const enter = (words: readonly string[]) => {
    const env = [
      'env',
      '-i',
      'HOME=/home/ada',
      'PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin',
      'LC_ALL=C.UTF-8',
    ]
    const inside = [`--target=${holder.pid}`, '--mount', 'chroot', join(place.path, 'root'), ...env]
    return [
      ...inside,
      'sh',
      '-c',
      'mkdir -p /home/ada/work && cd /home/ada/work && exec "$@"',
      'sh',
      ...words,
    ]
  }
  return {
    run: (words: readonly string[], expected?: number[]) =>
      run('nsenter', enter(words), expected ? { expected } : {}),
    start: (words: readonly string[]) => {
      const child = spawn('nsenter', enter(words))
      children.push(child)
      return child
    },
    write: (path: string, contents: string | Uint8Array) => {
      const encoded = Buffer.from(contents).toString('base64')
      run('nsenter', enter(['sh', '-c', `echo ${encoded} | base64 -d > '${path}'`]))
    },
    /** Every path that differs from the machine, with what a link leads to. */
    written: () => {
      const shown = 'cd "$0/upper" && find . -printf "%P %l\\n" | sort'
      return run('nsenter', [`--target=${holder.pid}`, '--mount', 'sh', '-c', shown, place.path]).split('\n')
    },
  }
}

type Root = Awaited<ReturnType<typeof newRoot>>

/** A way to install: each takes the version in the root from the folder where its file was downloaded. */
interface Way {
  readonly how: string
  readonly command: string
  install(on: Root, from: string): void
  uninstall(on: Root): void
}

const archive = `prospect-${version}-linux-x64.tar.gz`
const ways: Record<string, Way> = {
  'an archive': {
    how: 'from an archive, in /opt/prospect',
    command: '/opt/prospect/bin/prospect',
    install: (on, from) => {
      const script =
        'rm -rf /opt/prospect && mkdir -p /opt/prospect && tar -xzf "$0" -C /opt/prospect --strip-components 1'
      on.run([
        'sh',
        '-c',
        script,
        `${from}/${from === '/older' ? archive.replace(version, olderVersion) : archive}`,
      ])
    },
    uninstall: (on) => on.run(['rm', '-r', '/opt/prospect']),
  },
  'the .deb': {
    how: 'from the .deb package, in /usr/lib/prospect',
    command: 'prospect',
    install: (on, from) => {
      on.run([
        'dpkg',
        '--install',
        `${from}/prospect_${from === '/older' ? olderVersion : version}_amd64.deb`,
      ])
    },
    uninstall: (on) => on.run(['dpkg', '--purge', 'prospect']),
  },
  'install.sh': {
    how: 'with install.sh, in /home/ada/.local/lib/prospect',
    command: '/home/ada/.local/bin/prospect',
    install: (on, from) => {
      on.run(['sh', `${from}/install.sh`])
    },
    uninstall: (on) => {
      const told = on.run(['sh', '/download/install.sh', '--uninstall'])
      expect(told).toContain('Your settings and data stay')
    },
  },
}

/** Makes the files of an older version of the machine's own platform, with a man page and a file that went. */
function makeOlder(): string {
  const to = join(folder.path, 'older')
  if (existsSync(to)) return to
  mkdirSync(join(to, 'tree'), { recursive: true })
  const [name, older] = [version, olderVersion].map((each) => `prospect-${each}-linux-x64`) as [
    string,
    string,
  ]
  const restamp = (app: string) => {
    const manifest = readFileSync(join(app, 'package.json'), 'utf8')
    writeFileSync(
      join(app, 'package.json'),
      manifest.replace(`"version": "${version}"`, `"version": "${olderVersion}"`),
    )
    writeFileSync(join(app, 'dist/gone.txt'), '')
  }
  run('tar', ['-xzf', at(archive), '-C', join(to, 'tree')])
  run('mv', [join(to, 'tree', name), join(to, 'tree', older)])
  restamp(join(to, 'tree', older, 'lib/app'))
  writeFileSync(join(to, 'tree', older, 'share/man/man1/prospect-gone.1.gz'), '')
  run('tar', ['-cf', join(to, 'plain.tar'), '-C', join(to, 'tree'), older])
  run('sh', ['-c', 'gzip -1 < "$0" > "$1"', join(to, 'plain.tar'), join(to, `${older}.tar.gz`)])
  const script = readFileSync(at('install.sh'), 'utf8')
    .replaceAll(version, olderVersion)
    .replace(sha256(at(archive)), sha256(join(to, `${older}.tar.gz`)))
  writeFileSync(join(to, 'install.sh'), script)
  const tree = join(to, 'deb')
  run('dpkg-deb', ['--raw-extract', at(`prospect_${version}_amd64.deb`), tree])
  restamp(join(tree, 'usr/lib/prospect/lib/app'))
  const control = readFileSync(join(tree, 'DEBIAN/control'), 'utf8')
  writeFileSync(
    join(tree, 'DEBIAN/control'),
    control.replace(`Version: ${version}`, `Version: ${olderVersion}`),
  )
  run('dpkg-deb', ['-Znone', '--build', tree, join(to, `prospect_${olderVersion}_amd64.deb`)])
  for (const each of ['tree', 'deb', 'plain.tar']) rmSync(join(to, each), { recursive: true })
  return to
}

describe.skipIf(!canMount)('a release in a root without Node', () => {
  it.each(Object.entries(ways))(
    'is installed from %s, used, put over an older one with data, and removed without a trace',
    async (_, { how, command, install, uninstall }) => {
      const on = await newRoot()
      expect(on.run(['sh', '-c', 'command -v node npm || true'])).toBe('')
      const before = on.written()
      const prospect = (line: string, expected?: number[]) => on.run([command, ...line.split(' ')], expected)

      install(on, '/older')
      expect(prospect('--version')).toMatch(new RegExp(`^${olderVersion}\nInstalled ${how}\n$`))
      prospect('data sample')
      prospect('accounts enrich --domain acme-robotics.example')
      const { credits: left } = JSON.parse(prospect('credits --json')) as { credits: { enrichment: number } }

      install(on, '/download')
      expect(prospect('--version')).toMatch(new RegExp(`^${version}\nInstalled ${how}\n$`))
      expect(on.written().filter((path) => path.includes('gone'))).toEqual([])
      expect(JSON.parse(prospect('credits --json'))).toMatchObject({ credits: left })
      await useAll(on, command)

      uninstall(on)
      const isData =
        /^(home\/ada\/(work|\.config\/prospect|\.local\/share\/prospect|\.local\/state\/prospect)\b|home\/ada\/(\.config|\.local(\/share|\/state)?) |home )/
      // What dpkg and man-db write about all packages, and the clock of folders.
      const isOfSystem = /^(var\/(lib\/dpkg|log|cache)\b|(run|tmp|etc|var|var\/lib)\b)/
      const after = on.written().filter((path) => !before.includes(path))
      const traces = after.filter((path) => !isData.test(path) && !isOfSystem.test(path))
      // Folders of the machine are copied when something in them changes.
      expect(traces.filter((path) => !isFolderOfMachine(path))).toEqual([])
      expect(after.some((path) => isData.test(path))).toBe(true)
      const dpkg = on.run(['sh', '-c', 'dpkg -s prospect 2>/dev/null || true'])
      expect(dpkg).toBe('')
    },
    limitMs,
  )

  it(
    'is not installed by install.sh from a damaged archive, nor over another command, and then nothing is left',
    async () => {
      const on = await newRoot()
      on.run([
        'sh',
        '-c',
        `mkdir /damaged && cp /download/install.sh /damaged && head -c 1000000 /download/${archive} > /damaged/${archive}`,
      ])
      const attempt = (words: readonly string[]) =>
        on.run(['sh', '-c', '"$@" 2>&1', 'sh', 'sh', ...words], [1])
      const before = on.written()
      expect(attempt(['/damaged/install.sh'])).toMatch(
        /is damaged, or of another version.*Nothing was installed\.\n$/,
      )
      expect(on.written().filter((path) => path !== 'tmp ')).toEqual(before)
      on.run(['sh', '-c', 'mkdir -p /home/ada/.local/bin && echo other > /home/ada/.local/bin/prospect'])
      expect(attempt(['/download/install.sh'])).toContain('belongs to another installation')
      expect(on.run(['cat', '/home/ada/.local/bin/prospect'])).toBe('other\n')
      expect(attempt(['/download/install.sh', '--uninstall'])).toContain(
        'is not installed in /home/ada/.local/lib/prospect',
      )
    },
    limitMs,
  )
})

const isFolderOfMachine = (line: string) => {
  const path = join('/', line.replace(/ $/, ''))
  return existsSync(path) && lstatSync(path).isDirectory()
}

/** Uses what each installation has to have: files, workbooks, places, the dashboard, flows, agents, help of the shell. */
async function useAll(on: Root, command: string) {
  const home = command.replace(/\/?(bin\/)?prospect$/, '')
  const prospect = (words: readonly string[], expected?: number[]) => on.run([command, ...words], expected)
  for (const name of ['companies.csv', 'people.csv', 'flows/lookalikes.yaml', 'flows/sales-leads.yaml']) {
    on.run(['mkdir', '-p', dirname(`/home/ada/work/examples/${name}`)])
    on.write(`/home/ada/work/examples/${name}`, readFileSync(join(root, 'docs/examples', name)))
  }
  prospect(['accounts', 'enrich', '--csv', 'examples/companies.csv', '-o', 'enriched.csv'])
  expect(on.run(['cat', 'enriched.csv'])).toMatch(/Acme Robotics GmbH.*,found,/)
  on.write(
    '/home/ada/work/companies.xlsx',
    workbookOf({
      sheets: {
        Companies:
          '<row r="1"><c r="A1" t="inlineStr"><is><t>domain</t></is></c></row>' +
          '<row r="2"><c r="A2" t="inlineStr"><is><t>acme-robotics.example</t></is></c></row>',
      },
    }),
  )
  prospect(['accounts', 'enrich', '--csv', 'companies.xlsx', '-o', 'from-workbook.csv'])
  expect(on.run(['cat', 'from-workbook.csv'])).toContain('Acme Robotics GmbH')
  expect(prospect(['locations', 'find', '--name', 'Lyon', '--source', 'database'])).toContain('Lyon')

  prospect(['flow', 'run', 'examples/flows/sales-leads.yaml', '--yes'], [0, 11])
  expect(on.run(['sh', '-c', 'cat $(find . -name sales-leads.csv)']).split('\n').length).toBeGreaterThan(2)

  const served = on.start([command, 'dashboard', '--port', '0', '--no-open', '--json'])
  const { value } = await createInterface({ input: served.stdout })[Symbol.asyncIterator]().next()
  const { url, pid } = JSON.parse(value as string) as { url: string; pid: number }
  const page = await fetch(url, { redirect: 'manual' })
  expect([page.status < 400, pid > 0]).toEqual([true, true])
  const closed = new Promise((resolve) => served.once('close', resolve))
  process.kill(pid, 'SIGTERM')
  expect(await closed).toBe(0)

  const agent = on.start([command, 'mcp', '--root', '/home/ada/work'])
  const replies = createInterface({ input: agent.stdout })[Symbol.asyncIterator]()
  const ask = async (id: number, method: string, params: object) => {
    agent.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return JSON.parse((await replies.next()).value as string) as { result: object }
  }
  const clientInfo = { name: 'test', version: '1' }
  expect(
    await ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }),
  ).toMatchObject({
    result: { serverInfo: { version } },
  })
  agent.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  const tools = await ask(2, 'tools/list', {})
  expect(JSON.stringify(tools.result)).toContain('accounts_enrich')
  const documents = await ask(3, 'resources/list', {})
  expect(JSON.stringify(documents.result)).toContain('exit-codes')
  agent.stdin?.end()

  expect(prospect(['doctor', '--json'])).toContain('To upgrade: ')
  const place = command === 'prospect' ? '/usr/lib/prospect' : home.replace(/\.local$/, '.local/lib/prospect')
  const read = `process.stdout.write(['main', 'lookup', 'more'].map((name) => String(require('${place}/lib/app/bin/load.js')
    .load('${place}/lib/app/dist').part(name).script.cachedDataRejected)).join())`
  expect(on.run([`${place}/lib/node`, '--eval', read])).toBe('false,false,false')
  const share = command === 'prospect' ? '/usr/share' : join(dirname(dirname(command)), 'share')
  expect(on.run(['sh', '-c', `man -l ${share}/man/man1/prospect-accounts.1.gz`])).toContain(
    'prospect accounts enrich',
  )
  const completed = `PATH="${dirname(command)}:$PATH"; . ${share}/bash-completion/completions/prospect
    COMP_WORDS=(prospect acc) COMP_CWORD=1; _prospect; echo "\${COMPREPLY[@]}"`
  expect(on.run(['bash', '-c', completed]).split(' ')).toContain('accounts')
  for (const path of ['zsh', 'fish/vendor_completions.d/prospect.fish'])
    on.run(['test', '-e', `${share}/${path}`])
}
