/** Installs the packed package for all users of a machine, with the npm that users have. */
import { mkdirSync, readdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { killWhen, serve, start, succeed } from './machine.js'

/** What an outer npm passes on, and what would change how a package is installed: users have neither. */
const ofOuterNpm =
  /^(INIT_CWD|NODE_OPTIONS|PROSPECT_.*|npm_(?!config_).*|npm_config_(global|prefix|local_prefix|global_prefix|dry_run|json|silent|loglevel|ignore_scripts|allow_scripts|dangerously_.*))$/i

/**
 * Installs a tarball into a folder with a Node and an npm. Returns ways to run the installed command there. Throws when
 * npm fails, or did not run the install script of a package.
 */
export async function install(node, { npm, tarball, folder }) {
  const [prefix, cwd] = [join(folder, 'prefix'), join(folder, 'work')]
  mkdirSync(cwd)
  const inherited = Object.entries(process.env).filter(([name]) => !ofOuterNpm.test(name))
  const env = {
    ...Object.fromEntries(inherited),
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    PROSPECT_HOME: join(folder, 'home'),
  }
  const options = { cwd, env }
  const args = [npm, 'install', '--global', '--prefix', prefix, '--prefer-offline', tarball]
  const { code, stdout, stderr } = await start(node, args, options).ended
  const output = `${stdout}\n${stderr}`.trim()
  if (code !== 0) throw new Error(`npm install --global failed: ${output}`)
  const blocked = blockedScripts(output)
  const compiled = readdirSync(prefix, { recursive: true }).filter((path) => path.endsWith('config.gypi'))
  if (compiled.length > 0) throw new Error(`npm compiled a package: ${compiled.join(', ')}`)
  if (blocked.length > 0) throw new Error(`npm ran no install script of ${blocked.join(', ')}`)
  return machine(node, prefix, options)
}

/** Returns the packages that npm names as having install scripts it did not run. */
function blockedScripts(output) {
  const named = [...output.matchAll(/install-scripts +(\S+@\S+) \(/gm)].map(([, name]) => name)
  if (named.length === 0 && /scripts blocked/.test(output)) return [`a package: ${output}`]
  return named
}

/** The installed command on a machine: its home, its folder and its environment. */
async function machine(node, prefix, { cwd, env }) {
  const isWindows = process.platform === 'win32'
  const place = join(prefix, isWindows ? '' : 'lib', 'node_modules', 'prospect-cli')
  const command = isWindows ? [node, join(place, 'bin', 'prospect.js')] : [join(prefix, 'bin', 'prospect')]
  const version = (await succeed(node, ['--print', 'process.versions.node'], { cwd, env })).trim()
  const [program, ...first] = command
  const withEnv = (more) => ({ cwd, env: { ...env, ...more } })
  const prospect = (args, more) => succeed(program, [...first, ...args], withEnv(more))
  return {
    version,
    place,
    cwd,
    prospect,
    json: async (...args) => JSON.parse(await prospect([...args, '--json'])),
    serve: (...args) => serve(program, [...first, ...args, '--json'], withEnv()),
    killWhen: (isDue, ...args) => killWhen(isDue, program, [...first, ...args], withEnv()),
    /** Runs a program text with this Node, and returns what it prints. */
    evaluate: (text) => succeed(node, ['--eval', text], withEnv()),
  }
}
