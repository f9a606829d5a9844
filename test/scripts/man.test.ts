import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { command } from '../support/command.js'
import { newFolder } from '../support/new-folder.js'

type Pages = Readonly<Record<string, string>>
const { exitRows, manPages } = (await import(new URL('../../scripts/man.js', import.meta.url).href)) as {
  exitRows: () => Promise<unknown[]>
  manPages: (map: unknown[], version: string, exits: unknown[]) => Pages
}
const map = async () => JSON.parse((await command('commands --json')).stdout)

describe('man pages', () => {
  it('are the ones that package.json installs', async () => {
    const names = Object.keys(manPages(await map(), '1.0.0', await exitRows()))
    expect(names.map((name) => `dist/man/${name}`).sort()).toEqual([...manifest.man].sort())
  })

  it.skipIf(process.platform === 'win32')('are installed from a clone that is built', async () => {
    const prefix = newFolder()
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const argv = ['install', '--global', '--offline', '--no-audit', '--no-fund', '--prefix', prefix.path, '.']
    await execa('npm', argv, { cwd: root })
    const installed = await Promise.all(
      manifest.man.map((page) => readFile(prefix.at(`share/man/man1/${basename(page)}`), 'utf8')),
    )
    prefix.remove()
    expect(installed.filter((text) => text.startsWith('.TH PROSPECT'))).toHaveLength(manifest.man.length)
  })

  it('have every command with its options, and every exit code', async () => {
    const commands = await map()
    const pages = manPages(commands, '1.0.0', await exitRows())
    const text = Object.values(pages).join('').replaceAll('\\-', '-')
    for (const { command: words, flag } of commands)
      expect(text).toContain(`.SS prospect ${[words, flag].filter(Boolean).join(' ')}\n`)
    for (const option of ['--csv <file>', '--max-credits <n>', '--profile <name>'])
      expect(text).toContain(`\\fB${option}\\fR`)
    expect(text).toContain('\\fB16\\fR')
  })

  it('have no instructions but their own', async () => {
    const [first, ...rest] = await map()
    const hostile = { ...first, summary: ".so /etc/passwd \\fB 'x' é\n.br" }
    const pages = manPages([hostile, ...rest], '1.0.0', [])
    for (const line of Object.values(pages).flatMap((page) => page.split('\n')))
      if (/^[.']/.test(line)) expect(line).toMatch(/^\.(?:TH|SH|SS|TP|IP|B|I)\b/)
    expect(pages['prospect-accounts.1']).toContain('\\&.so /etc/passwd \\efB')
  })
})
