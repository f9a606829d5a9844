import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '../support/effort.js'
import { makeFolder } from '../support/new-folder.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

/** A project of somebody else, in which the packed package is installed. */
let project = ''
let files: readonly string[] = []

/** Compiles what is in the project; answers what the compiler complains about. */
function compiled(): readonly string[] {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', project], {
    encoding: 'utf8',
    cwd: project,
  })
  return stdout.split('\n').filter((line) => line !== '')
}

function run(program: string, ...argv: string[]) {
  const env = { PATH: process.env.PATH ?? '', PROSPECT_HOME: join(project, 'home') }
  return spawnSync(process.execPath, [program, ...argv], { encoding: 'utf8', cwd: project, env })
}

describe.runIf(isLong)('the packed package', () => {
  beforeAll(() => {
    project = makeFolder()
    const packed = execFileSync(
      'npm',
      ['pack', '--ignore-scripts', '--json', '--pack-destination', project],
      {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
    const modules = join(project, 'node_modules')
    const installed = join(modules, 'prospect-cli')
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components', '1'])
    files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    // What npm would fetch is here already: the packages that the manifest names, and no others.
    for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
      mkdirSync(dirname(join(modules, name)), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction')
    }
    mkdirSync(join(modules, '.bin'))
    symlinkSync(join(installed, 'bin', 'prospect.js'), join(modules, '.bin', 'prospect'))
    writeFileSync(join(project, 'package.json'), '{ "type": "module", "private": true }')
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      types: ['node'],
      target: 'ES2023',
      lib: ['ES2023'],
      module: 'NodeNext',
      moduleResolution: 'NodeNext',
    }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  })
  afterAll(() => rmSync(project, { recursive: true, force: true }))

  it('contains the program, the library, its declarations and the documents, and no sources', () => {
    for (const file of 'bin/prospect.js dist/main.cjs dist/index.js dist/types/index.d.ts README.md'.split(
      ' ',
    ))
      expect(files).toContain(file)
    expect(files.filter((file) => /^(?:src|test|scripts|node_modules)\b/.test(file))).toEqual([])
  })

  it('provides types for a program that uses it, down to the fields of each operation, and runs it', () => {
    cpSync(join(root, 'test', 'library', 'program.ts.txt'), join(project, 'program.ts'))
    expect(compiled()).toEqual([])
    const { stdout, stderr, status } = run('program.js')
    expect([status, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'Known',
      direct: 200,
      found: [200, 'known.example', 1],
      missed: [404, 'No company found'],
      total: 0,
      place: 'Lyon',
      valid: false,
      credits: { credits: { enrichment: 998 } },
    })
  })

  it('gives a program what commands do to files, lists and flows, in a home of its own, with types', () => {
    cpSync(join(root, 'test', 'library', 'home-program.ts.txt'), join(project, 'home-program.ts'))
    expect(compiled()).toEqual([])
    const env = { PATH: process.env.PATH ?? '', PROSPECT_HOME: join(project, 'library-home') }
    const command = join('node_modules', '.bin', 'prospect')
    const filled = spawnSync(process.execPath, [command, 'data', 'sample'], { cwd: project, env })
    expect(filled.status).toBe(0)
    const { stdout, stderr, status } = run('home-program.js')
    expect([status, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      most: 2,
      statuses: ['found', 'not_found'],
      email: 'risky',
      match: ['yes', 'no'],
      added: 1,
      suppressed: true,
      vendors: true,
      refused: 2,
      spent: true,
    })
  })

  it('rejects unknown fields and operations at compile time, and reading a refusal as a success', () => {
    const lines = [
      "import { openEngine } from 'prospect-cli'",
      'const { caller } = await openEngine()',
      "await caller.call('accounts.enrich', { domain: 7 })",
      "await caller.call('accounts.enrich', { domian: 'x' })",
      "await caller.call('accounts.enrch', {})",
      "const { body } = await caller.call('account.show', {})",
      'export const { account } = body',
    ]
    writeFileSync(join(project, 'wrong.ts'), lines.join('\n'))
    try {
      const complaints = compiled().filter((each) => /^\S/.test(each))
      const places = complaints.map((each) => each.slice(0, each.indexOf(':')).replace(/\((\d+),.*/, ' $1'))
      expect(places).toEqual(['wrong.ts 3', 'wrong.ts 4', 'wrong.ts 5', 'wrong.ts 7'])
    } finally {
      rmSync(join(project, 'wrong.ts'))
    }
  })

  it('has a command that works without the repository', () => {
    const command = join('node_modules', '.bin', 'prospect')
    expect(run(command, '--version').stdout).toContain(`${manifest.version}\nInstalled with npm, in `)
    expect(run(command, 'data', 'sample').status).toBe(0)
    const enriched = run(command, 'accounts', 'enrich', '--domain', 'acme-robotics.example', '--json')
    expect([enriched.status, JSON.parse(enriched.stdout)]).toMatchObject([
      0,
      { domain: 'acme-robotics.example' },
    ])
    writeFileSync(join(project, 'in.csv'), 'domain\nacme-robotics.example\nnobody.example\n')
    expect(run(command, 'accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv').status).toBe(0)
    expect(readFileSync(join(project, 'out.csv'), 'utf8')).toContain('not_found')
    expect(run(command, 'locations', 'find', '--name', 'Lyon', '--source', 'database').stdout).toContain(
      'Lyon',
    )
    expect(run(command, 'data', 'import', 'companies', 'in.csv').status).toBe(0)
    expect(run(command, 'openapi').status).toBe(0)
    expect(run(command, 'doctor', '--json').stdout).toContain('"ok"')
  })
})
