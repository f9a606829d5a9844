#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const argv = process.argv.slice(2)

if (argv[0] === '--version' || argv[0] === '-V') {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  process.stdout.write(`${JSON.parse(manifest).version}\n`)
} else {
  process.umask(0o077)
  process.on('uncaughtException', giveUp)
  try {
    const { load } = await import('./load.js')
    const { main } = load(fileURLToPath(new URL('../dist', import.meta.url)))
    const { stdin, stdout, stderr, env } = process
    process.exitCode = await main(argv, { stdin, stdout, stderr, env, cwd: process.cwd(), signals: process })
  } catch (error) {
    giveUp(error)
  }
}

/** For what the program itself could not catch: one sentence, never a stack trace. */
function giveUp(error) {
  const isUnbuilt = error?.code === 'ENOENT' && String(error.path).endsWith('main.cjs')
  const text = isUnbuilt
    ? 'prospect is not built yet. Run: npm run build'
    : `This is a bug in prospect: ${error?.message}. Please report it on the issues page of its repository.`
  process.stderr.write(`${text.replaceAll(process.env.PROSPECT_API_KEY || /$^/g, '[key]')}\n`)
  process.exit(1)
}
