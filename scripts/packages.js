/** Packages that few commands need, or that are not JavaScript alone: loaded from node_modules when they are used. */
export const external = [
  'better-sqlite3',
  'pg',
  'conf',
  'ora',
  '@inquirer/prompts',
  'undici',
  'jq-web',
  '@marcbachmann/cel-js',
  '@modelcontextprotocol/server',
  'yaml',
  'cockatiel',
  'disposable-email-domains-js',
  'role-based-email-addresses',
]

/** Packages that a user does not have, and that few commands need: each is a file of its own. */
export const vendored = {}

/** How esbuild loads the statements of the databases, which are files of their own. */
export const sqlAsText = { '.sql': 'text' }
