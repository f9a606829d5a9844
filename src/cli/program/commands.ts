import type { Command } from 'commander'
import type { CommandEnvironment } from '../options/command-environment.js'

/** A hand-written command: its heading in help, and its code, which is loaded when it is used. */
export type Handwritten = readonly [
  heading: 'lookups' | 'machine' | 'local' | 'servers',
  load: () => Promise<(environment: CommandEnvironment) => Command>,
]

/** The commands that are not derived from the operation table, in the order of help. Their texts are in `command-texts.json`. */
export const handwritten: Readonly<Record<string, Handwritten>> = {
  init: ['machine', async () => (await import('../commands/setup/login.js')).initCommand],
  login: ['machine', async () => (await import('../commands/setup/login.js')).loginCommand],
  logout: ['machine', async () => (await import('../commands/setup/login.js')).logoutCommand],
  engine: ['local', async () => (await import('../commands/engine/workspace.js')).engineCommand],
  data: ['local', async () => (await import('../commands/data/data.js')).dataCommand],
  industries: ['local', async () => (await import('../commands/data/data.js')).industriesCommand],
  config: ['machine', async () => (await import('../commands/setup/profiles.js')).configCommand],
  profiles: ['machine', async () => (await import('../commands/setup/profiles.js')).profilesCommand],
  providers: ['local', async () => (await import('../commands/providers/providers.js')).providersCommand],
  ledger: ['machine', async () => (await import('../commands/ledger/ledger.js')).ledgerCommand],
  serve: ['servers', async () => (await import('../commands/serve/serve.js')).serveCommand],
  dashboard: ['servers', async () => (await import('../commands/serve/dashboard.js')).dashboardCommand],
  worker: ['servers', async () => (await import('../commands/serve/serve.js')).workerCommand],
  mcp: ['servers', async () => (await import('../commands/mcp/mcp.js')).mcpCommand],
  listen: ['servers', async () => (await import('../commands/listen/listen.js')).listenCommand],
  match: ['lookups', async () => (await import('../commands/match/match.js')).matchCommand],
  suppress: ['lookups', async () => (await import('../commands/suppress/suppress.js')).suppressCommand],
  runs: ['lookups', async () => (await import('../commands/runs/runs.js')).runsCommand],
  flow: ['lookups', async () => (await import('../commands/flow/flow.js')).flowCommand],
  events: ['servers', async () => (await import('../commands/events/events.js')).eventsCommand],
  limits: ['machine', async () => (await import('../commands/limits/limits.js')).limitsCommand],
  doctor: ['machine', async () => (await import('../commands/doctor/doctor.js')).doctorCommand],
  api: ['machine', async () => (await import('../commands/api/api.js')).apiCommand],
  openapi: ['machine', async () => (await import('../commands/api/api.js')).openapiCommand],
  completion: [
    'machine',
    async () => (await import('../commands/completion/completion.js')).completionCommand,
  ],
}
