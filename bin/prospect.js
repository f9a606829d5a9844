#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const argv = process.argv.slice(2)

if (argv[0] === '--version' || argv[0] === '-V') {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  process.stdout.write(`${JSON.parse(manifest).version}\n`)
} else {
  process.umask(0o077)
  const { load } = await import('./load.js')
  const { main } = load(fileURLToPath(new URL('../dist', import.meta.url)))
  const { stdin, stdout, stderr, env } = process
  process.exitCode = await main(argv, { stdin, stdout, stderr, env, cwd: process.cwd(), signals: process })
}
