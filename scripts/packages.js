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

/** How esbuild loads the statements of the databases, which are files of their own. */
export const sqlAsText = { '.sql': 'text' }
