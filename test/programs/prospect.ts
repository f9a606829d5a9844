import { main } from '../../src/cli/program/main.js'

/** The program as it is in the sources, as a process of its own. */
const { stdin, stdout, stderr, env } = process
process.exitCode = await main(process.argv.slice(2), {
  ...{ stdin, stdout, stderr, env },
  cwd: process.cwd(),
  signals: process,
})
