import type { Command } from 'commander'
import type { CommandEnvironment } from '../options/command-environment.js'

/** A hand-written command: its code, which is loaded when it is used. Its line of help is in `command-texts.json`. */
export interface Handwritten {
  /** Its heading in help. */
  readonly group: 'machine' | 'data' | 'engine' | 'servers'
  readonly load: () => Promise<(environment: CommandEnvironment) => Command>
}

/** The commands that are not derived from the operation table, in the order of help. */
export const handwritten: Readonly<Record<string, Handwritten>> = {
  init: { group: 'machine', load: async () => (await import('../commands/setup/init.js')).initCommand },
  login: { group: 'machine', load: async () => (await import('../commands/setup/login.js')).loginCommand },
  logout: { group: 'machine', load: async () => (await import('../commands/setup/login.js')).logoutCommand },
  engine: { group: 'engine', load: async () => (await import('../commands/engine/engine.js')).engineCommand },
  data: { group: 'data', load: async () => (await import('../commands/data/data.js')).dataCommand },
  industries: {
    group: 'data',
    load: async () => (await import('../commands/data/industries.js')).industriesCommand,
  },
  config: { group: 'machine', load: async () => (await import('../commands/setup/config.js')).configCommand },
  profiles: {
    group: 'machine',
    load: async () => (await import('../commands/setup/profiles.js')).profilesCommand,
  },
  ledger: {
    group: 'machine',
    load: async () => (await import('../commands/ledger/ledger.js')).ledgerCommand,
  },
  serve: { group: 'servers', load: async () => (await import('../commands/serve/serve.js')).serveCommand },
  dashboard: {
    group: 'servers',
    load: async () => (await import('../commands/serve/dashboard.js')).dashboardCommand,
  },
  worker: { group: 'servers', load: async () => (await import('../commands/serve/worker.js')).workerCommand },
  listen: {
    group: 'servers',
    load: async () => (await import('../commands/listen/listen.js')).listenCommand,
  },
  runs: { group: 'data', load: async () => (await import('../commands/runs/runs.js')).runsCommand },
  events: {
    group: 'servers',
    load: async () => (await import('../commands/events/events.js')).eventsCommand,
  },
  limits: {
    group: 'machine',
    load: async () => (await import('../commands/limits/limits.js')).limitsCommand,
  },
  doctor: {
    group: 'machine',
    load: async () => (await import('../commands/doctor/doctor.js')).doctorCommand,
  },
  api: { group: 'machine', load: async () => (await import('../commands/api/api.js')).apiCommand },
  openapi: { group: 'machine', load: async () => (await import('../commands/api/api.js')).openapiCommand },
  completion: {
    group: 'machine',
    load: async () => (await import('../commands/completion/completion.js')).completionCommand,
  },
}
