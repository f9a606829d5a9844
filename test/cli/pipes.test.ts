import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { constants as system } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ends, practiceMachine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { launch, prospect } from '../support/processes.js'
import { until } from '../support/until.js'

let children: ReturnType<typeof launch>[]
const here = perTest(practiceMachine)
beforeEach(() => {
  children = []
  execFileSync('mkfifo', [at('pipe')])
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
})

const at = (name: string): string => here.path(name)

/** Starts the built program. */
function start(line: string) {
  const child = launch(prospect, line.split(' '), here.home, { PROSPECT_HOME: here.home })
  children.push(child)
  return child
}

/** Sends a signal to a program; returns the exit code that a shell would show. */
async function end(child: ReturnType<typeof launch>, signal: 'SIGTERM' | 'SIGINT'): Promise<number> {
  child.kill(signal)
  const { exitCode, signal: killedBy } = await child
  return exitCode ?? 128 + (killedBy ? system.signals[killedBy as 'SIGTERM'] : 0)
}

/** What makes a row long, so that few of them fill a pipe. */
const note = 'x'.repeat(1_000)

/** Writes a file of companies that the catalogue knows. */
async function companies(count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, row) => `Company ${row},company-${row}.example,${note}`)
  writeFileSync(at('in.csv'), `name,domain,description\n${lines.join('\n')}\n`)
  await here.run('data import companies in.csv')
  await here.run('engine credits set 100000')
}

const charged = async (): Promise<number> => 100_000 - (await here.balance())

/** Resolves when a process, this one by default, has the pipe open. */
const opened = (pid: number | undefined = process.pid): Promise<void> =>
  until(() => {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).some((name) => linkOf(join(folder, name)) === realpathSync(at('pipe')))
  })

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** Resolves when a batch has read its file. It opens its outputs next. */
const planned = (child: ReturnType<typeof launch>): Promise<unknown> => once(child.stderr, 'data')

const batch = 'accounts enrich --csv in.csv -o'
const enrich = (outputs: string) => start(`${batch} ${outputs}`)

describe('a named pipe without a reader', () => {
  it.each([
    ['SIGTERM', 143, 'pipe'],
    ['SIGINT', 130, 'pipe'],
    ['SIGTERM', 143, 'out.csv --rejects pipe'],
  ] as const)(
    'lets %s end a batch with exit code %d before anything is paid (-o %s)',
    async (signal, code, files) => {
      await companies(3)
      const child = enrich(files)
      await planned(child)
      expect(await end(child, signal)).toBe(code)
      expect(await charged()).toBe(0)
      expect(existsSync(at('out.csv.partial'))).toBe(false)
    },
  )

  it('gets the whole output when the reader comes late', async () => {
    const rows = tries(150, 5_000)
    await companies(rows)
    const child = enrich('pipe --summary-json summary.json')
    await planned(child)
    const { stdout } = await execa('cat', [at('pipe')])
    expect([(await child).exitCode, stdout.split('\n').length, await charged()]).toEqual([0, rows + 1, rows])
  })

  it('lets a signal end a run whose reader reads no more; resuming it loses and repays nothing', async () => {
    const rows = tries(300, 5_000)
    await companies(rows)
    const stopped = here.run(`${batch} pipe`)
    const reader = await open(at('pipe'), 'r')
    await until(async () => (await charged()) > 0)
    here.signals.emit('SIGTERM')
    expect((await stopped).code).toBe(143)
    await reader.close()
    expect((await here.run(`${batch} out.csv`)).code).toBe(0)
    expect(readFileSync(at('out.csv'), 'utf8').split('\n')).toHaveLength(rows + 2)
    expect(await charged()).toBe(rows)
  })

  it('lets a signal end a batch that has only its summary left to write', async () => {
    await companies(3)
    const child = enrich('out.csv --summary-json pipe')
    await until(() => existsSync(at('out.csv')))
    expect(await end(child, 'SIGTERM')).toBe(143)
    expect(await charged()).toBe(3)
  })

  it('lets a signal end a single call before it is sent, and takes its reply when the reader comes late', async () => {
    await companies(1)
    const call = 'accounts enrich --domain company-0.example -o pipe'
    const stopped = here.run(call)
    await until(() => here.signals.listenerCount('SIGTERM') > 0)
    here.signals.emit('SIGTERM')
    expect((await stopped).code).toBe(143)
    expect(await charged()).toBe(0)
    const [{ code }, { stdout }] = await Promise.all([here.run(call), execa('cat', [at('pipe')])])
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { domain: 'company-0.example' }])
  })

  it('takes the records of a job that is waited for', async () => {
    await companies(3)
    const call = 'accounts search --keyword Company --no-live --limit 2 --wait -o pipe'
    const [{ code }, { stdout }] = await Promise.all([here.run(call), execa('cat', [at('pipe')])])
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.any(Array)])
  })
})

describe('stdout that is closed early', () => {
  const head = async (words: string) => {
    const line = `"$@" ${words} | head -2 >shown; echo "\${PIPESTATUS[0]}"`
    const { stdout, stderr } = await execa('bash', ['-c', line, 'bash', process.execPath, prospect], {
      cwd: here.home,
      env: { PROSPECT_HOME: here.home },
      reject: false,
    })
    return { code: Number(stdout), stderr }
  }

  it('ends a run with 141 after every paid answer is recorded, so that resuming it pays nothing twice', async () => {
    const rows = tries(300, 20_000)
    await companies(rows)
    const { code, stderr } = await head('accounts enrich --csv in.csv')
    const [, id = ''] = /prospect runs resume ([\w-]+)/.exec(stderr) ?? []
    expect([code, stderr]).toEqual([141, expect.stringContaining('The reader of the output has left.')])
    const [run] = await here.json<{ done: number; credits: number }[]>('runs list')
    const spent = await charged()
    expect(run).toMatchObject({ done: spent, credits: spent })
    expect((await here.run(`runs resume ${id} -o out.csv`)).code).toBe(0)
    expect([await charged(), readFileSync(at('out.csv'), 'utf8').split('\n').length]).toEqual([
      rows,
      rows + 2,
    ])
    // Nothing is spent when a finished run is written again.
    expect(await head('accounts enrich --csv in.csv')).toMatchObject({ code: 0 })
  })

  it('ends a listing with 0', async () => {
    await companies(tries(300, 20_000))
    expect(await head('data export companies --format csv')).toEqual({ code: 0, stderr: '' })
  })
})

describe('a named pipe without a writer', () => {
  const commands = [
    'listen --port 0 --secret-file pipe',
    'serve --port 0 --upstream http://localhost:9/api/v2 --api-key-file pipe',
    'accounts search --input pipe',
  ]

  const itOnLinux = it.runIf(process.platform === 'linux')

  // A thread that waited in the system would keep the process alive.
  itOnLinux('lets SIGTERM end the process of an import', async () => {
    const child = start('data import companies pipe')
    await opened(child.pid)
    expect(await end(child, 'SIGTERM')).toBe(143)
  })

  itOnLinux.each(commands)('lets SIGTERM end %s', async (line) => {
    const stopped = here.run(line)
    await opened()
    here.signals.emit('SIGTERM')
    expect((await stopped).code).toBe(143)
  })

  it.each([
    ['', 'What was imported is kept.'],
    ['--dry-run', 'Nothing was imported.'],
  ])('lets SIGTERM end an import whose writer is idle, with the options "%s"', async (options, hint) => {
    const stopped = here.run(`data import companies pipe ${options}`)
    const writer = await open(at('pipe'), 'w')
    await writer.write('name,domain\nA,a.example\n')
    await opened()
    here.signals.emit('SIGTERM')
    const { code, stderr } = await stopped
    await writer.close()
    expect([code, stderr]).toEqual([143, expect.stringContaining(hint)])
  })

  it('is read to its end when the writer comes late, and pauses', async () => {
    const reading = here.run('data import companies pipe --json')
    const writer = await open(at('pipe'), 'w')
    const [head, ...rows] = [
      'name,domain',
      ...Array.from({ length: tries(1_000, 9_000) }, (_, row) => `C ${row},c-${row}.example`),
    ]
    await writer.write(`${head}\n`)
    await writer.writeFile(rows.join('\n'))
    await writer.close()
    expect((await reading).json).toMatchObject({ added: tries(1_000, 9_000) })
  })

  it('lets SIGTERM end an import from an idle pipe', async () => {
    const child = execa(process.execPath, [prospect, 'data', 'import', 'companies', '-'], {
      cwd: here.home,
      env: { PROSPECT_HOME: here.home },
      reject: false,
      stdin: 'pipe',
    })
    children.push(child as unknown as ReturnType<typeof launch>)
    child.stdin.write('name,domain\n')
    await until(
      () => existsSync(at('state.db')) || existsSync(at('engine.db')) || existsSync(at('catalogue.db')),
    )
    expect(await end(child as unknown as ReturnType<typeof launch>, 'SIGTERM')).toBe(143)
  })

  it('is refused as a CSV file', async () => {
    await ends(here.run('accounts enrich --csv pipe'), 2, '(in a command, --csv -)')
  })
})
