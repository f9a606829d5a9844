import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { sample, tries } from '../support/effort.js'
import { oldNodeClone, oldVersion, root } from '../support/older-node.js'
import { until } from '../support/until.js'

const here = perTest(oldNodeClone)
const running: ChildProcess[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

const runtime = `require(${JSON.stringify(`${root}bin/runtime.js`)})`
const relaunchOf = (program: string) => `${runtime}.relaunch(${program})`

/** Runs code in a child of `relaunch`, as `bin/prospect.js` runs the program. */
function relaunched(code: string) {
  here.write('child.cjs', code)
  return started(['-e', relaunchOf("process.execPath, ['child.cjs']")])
}

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: Buffer
  readonly stderr: string
}

/** Starts an older Node. `line` resolves with the first line of stdout; `ended` when all its streams are closed. */
function started(argv: readonly string[]) {
  const child = spawn(process.execPath, [...here.asOld, ...argv], { cwd: here.folder, env: here.env })
  running.push(child)
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
  const line = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout.push(chunk)
      if (!chunk.includes('\n')) return
      const text = Buffer.concat(stdout).toString()
      resolve(text.slice(0, text.indexOf('\n')))
    })
    child.on('close', () => reject(new Error(`ended: ${Buffer.concat(stderr).toString()}`)))
  })
  line.catch(() => {})
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) =>
      resolve({ code, signal, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() }),
    )
  })
  return { child, line, ended }
}

/** A busy machine may miss a time limit once, but not repeatedly. */
const hurried = { retry: 3 }

/** Starts `prospect serve`; resolves when it listens. */
async function served() {
  const server = started(['bin/prospect.js', 'serve', '--port', '0', '--json'])
  const { pid } = JSON.parse(await server.line) as { pid: number }
  expect(pid).not.toBe(server.child.pid)
  return { ...server, pid }
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('bin/prospect.js on an older Node', () => {
  it('runs the program with the downloaded Node, with the same streams and exit codes', async () => {
    here.write('own.csv', 'name,domain\nSole Ltd,sole.example\n')
    const before = ['init --yes', 'data import companies own.csv']
    for (const line of before) await here.run('bin/prospect.js', ...line.split(' '))
    const lines = ['--version', 'credits --json', 'accounts enrich --domain nobody.example']
    const [version, credits, nobody] = await Promise.all(
      lines.map((line) => here.run('bin/prospect.js', ...line.split(' '))),
    )
    const manifest = JSON.parse(readFileSync(here.path('package.json'), 'utf8')) as { version: string }
    expect(version).toMatchObject({ exitCode: 0, stderr: '' })
    expect(version?.stdout.split('\n')[0]).toBe(manifest.version)
    expect(JSON.parse(credits?.stdout ?? '')).toMatchObject({ credits: { enrichment: 1_000 } })
    expect(nobody).toMatchObject({ exitCode: 9, stderr: expect.stringContaining('No company found') })
    expect(here.starts()).toHaveLength(before.length + lines.length)
  })

  it.each([['only the parent gets'], ['both processes get']])(
    'shuts the server down with exit 0 when %s SIGTERM',
    async (who) => {
      const { child, ended, pid } = await served()
      if (who.startsWith('both')) process.kill(pid, 'SIGTERM')
      child.kill('SIGTERM')
      expect(await ended).toMatchObject({ code: 0, signal: null })
      expect(isRunning(pid)).toBe(false)
    },
  )

  it('leaves no child running a second after the parent was killed', hurried, async () => {
    const { child, ended } = await served()
    const began = performance.now()
    child.kill('SIGKILL')
    await ended
    expect(performance.now() - began).toBeLessThan(1_000)
  })

  it('says which Node it needs when none was downloaded', async () => {
    rmSync(here.path('.node'), { recursive: true })
    const needed = `prospect needs Node 22 (from 22.22.2), 24, or 26 and newer, and this is Node ${oldVersion}`
    const inClone = await here.run('bin/prospect.js', 'credits')
    expect(inClone).toMatchObject({ exitCode: 2, stdout: '' })
    expect(inClone.stderr).toBe(`${needed}: run npm run quickstart, which downloads one into this folder.`)
    rmSync(here.path('scripts'), { recursive: true })
    const installed = await here.run('bin/prospect.js', 'credits')
    expect(installed).toMatchObject({ exitCode: 2, stdout: '', stderr: `${needed}: install a newer Node.` })
  })

  it('says which Node it needs when the downloaded one is too old itself', async () => {
    here.writeShell('.node/bin/node', `echo start >> starts\nexec '${here.path('machine', 'node')}' "$@"`)
    const { exitCode, stdout, stderr } = await here.run('bin/prospect.js', 'credits')
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`and this is Node ${oldVersion}`)
    expect(here.starts()).toEqual(['start'])
  })

  it('says that the downloaded Node cannot be started', async () => {
    here.write('.node/bin/node', '')
    rmSync(here.path('.node/bin/node'))
    here.write('.node/bin/node', 'for another machine')
    const { exitCode, stderr } = await here.run('bin/prospect.js', 'credits')
    expect([exitCode, stderr.split('\n').length]).toEqual([2, 1])
    expect(stderr).toContain('cannot be started')
  })
})

describe('a relaunched program', () => {
  it('passes binary input and output of any length through the relaunch', async () => {
    const { child, ended } = relaunched(
      "process.stdin.pipe(process.stdout); process.stdin.once('end', () => process.stderr.write('read'))",
    )
    const bytes = randomBytes(tries(500_000, 3_000_000))
    child.stdin?.end(bytes)
    const { code, stdout, stderr } = await ended
    expect([code, stdout.equals(bytes), stderr]).toEqual([0, true, 'read'])
  })

  it.each(sample([0, 1, 2, 9, 13, 141, 255], 7, 3))(
    'exits with the exit code %i of the relaunched program',
    async (code) => {
      expect((await relaunched(`process.exit(${code})`).ended).code).toBe(code)
    },
  )

  it.each(sample(['SIGKILL', 'SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGSEGV'] as const, 3))(
    'ends by %s when the relaunched program does',
    async (signal) => {
      const { ended } = relaunched(`process.kill(process.pid, '${signal}'); setTimeout(() => {}, 60_000)`)
      expect(await ended).toMatchObject({ code: null, signal })
    },
  )

  it('exits with 128 plus the signal number when the parent cannot end by that signal', async () => {
    here.writeShell('child', 'trap - PIPE; kill -PIPE $$')
    const { code } = await started(['-e', relaunchOf("'/bin/sh', ['child']")]).ended
    expect(code).toBe(128 + constants.signals.SIGPIPE)
  })

  it('forwards SIGTERM and SIGHUP to the relaunched program', async () => {
    for (const signal of sample(['SIGTERM', 'SIGHUP'] as const, 2, 1)) {
      const { child, line, ended } = relaunched(
        `process.on('${signal}', () => process.exit(7)); console.log('ready'); setTimeout(() => {}, 60_000)`,
      )
      await line
      child.kill(signal)
      expect((await ended).code).toBe(7)
    }
  })

  it('ends the child within a second of its parent, even when it ignores SIGTERM', hurried, async () => {
    const { child, line, ended } = relaunched(
      `${runtime}.endWithParent()\n` +
        "process.on('SIGTERM', () => require('fs').writeFileSync('asked', ''))\n" +
        'console.log(); setInterval(() => {}, 1_000)',
    )
    await line
    const began = performance.now()
    child.kill('SIGKILL')
    await ended
    expect(performance.now() - began).toBeLessThan(1_000)
    expect(existsSync(here.path('asked'))).toBe(true)
  })

  it('hides the pipe to the parent from programs that the child starts', async () => {
    const { ended } = relaunched(`${runtime}.endWithParent(); console.log(process.env.PROSPECT_PARENT_PIPE)`)
    expect((await ended).stdout.toString()).toBe('undefined\n')
  })
})

/** A shell with job control in a pseudo-terminal of `script` (util-linux). */
function terminal() {
  const child = spawn('script', ['-qefc', 'bash --norc --noprofile -i', '/dev/null'], {
    cwd: here.folder,
    env: { ...here.env, PS1: '', TERM: 'dumb', HISTFILE: '' },
  })
  running.push(child)
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  return {
    type: (keys: string) => child.stdin.write(keys),
    /** Resolves with the match once the terminal shows it, and discards the text up to it. */
    shows: async (pattern: RegExp): Promise<string> => {
      await until(() => pattern.test(text))
      const found = pattern.exec(text)
      text = text.slice((found?.index ?? 0) + (found?.[0].length ?? 0))
      return found?.[1] ?? ''
    },
    ended: new Promise<void>((resolve) => child.on('close', () => resolve())),
  }
}

/** The state of a process by the kernel: `T` is stopped. */
const stateOf = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] ?? ''
const parentOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1])

describe.skipIf(process.platform !== 'linux')('a relaunched program in a terminal (needs Linux)', () => {
  it('suspends parent and child on Ctrl-Z, continues them with fg and shuts down on Ctrl-C', async () => {
    const { type, shows, ended } = terminal()
    type('node bin/prospect.js serve --port 0 --json\n')
    const opening = JSON.parse(await shows(/(\{"base_url".*\})/)) as { base_url: string; pid: number }
    const { pid } = opening
    const parent = parentOf(pid)
    const health = async () => (await fetch(`${new URL(opening.base_url).origin}/health`)).status
    expect(await health()).toBe(200)
    type('\u001a')
    await shows(/Stopped/)
    // The shell reports its own child; the kernel may stop the other one a moment later.
    await until(() => stateOf(pid) === 'T' && stateOf(parent) === 'T')
    type('fg\n')
    await until(() => stateOf(pid) !== 'T' && stateOf(parent) !== 'T')
    expect(await health()).toBe(200)
    type('\u0003')
    type('echo "exit code $?"\n')
    expect(await shows(/exit code (\d+)/)).toBe('0')
    expect([isRunning(pid), isRunning(parent)]).toEqual([false, false])
    type('exit\n')
    await ended
  })

  it('the shell sees a death by SIGINT when the program does not handle Ctrl-C', async () => {
    here.write('child.cjs', "console.log('ready'); setTimeout(() => {}, 60_000)")
    here.write('parent.cjs', relaunchOf("process.execPath, ['child.cjs']"))
    const { type, shows, ended } = terminal()
    type('node parent.cjs\n')
    await shows(/(ready)/)
    type('\u0003')
    type('echo "exit code $?"\n')
    expect(await shows(/exit code (\d+)/)).toBe('130')
    type('exit\n')
    await ended
  })
})
