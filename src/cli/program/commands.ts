import type { Command } from 'commander'
import type { CommandEnvironment } from '../options/command-environment.js'

/** A hand-written command: its line of help, and its code, which is loaded when it is used. */
export interface Handwritten {
  readonly summary: string
  /** Its heading in help. */
  readonly group: 'machine' | 'data' | 'engine' | 'servers'
  readonly load: () => Promise<(environment: CommandEnvironment) => Command>
}

/** The commands that are not derived from the operation table, in the order of help. */
export const handwritten: Readonly<Record<string, Handwritten>> = {
  init: {
    summary: 'Create a local workspace with a member, a key and credits',
    group: 'machine',
    load: async () => (await import('../commands/setup/init.js')).initCommand,
  },
  login: {
    summary: 'Store the API key of a server',
    group: 'machine',
    load: async () => (await import('../commands/setup/login.js')).loginCommand,
  },
  logout: {
    summary: 'Forget the stored API key of a server',
    group: 'machine',
    load: async () => (await import('../commands/setup/login.js')).logoutCommand,
  },
  engine: {
    summary: 'The local workspace: plan, credits, keys, clock, ledger, jobs',
    group: 'engine',
    load: async () => (await import('../commands/engine/engine.js')).engineCommand,
  },
  data: {
    summary: 'The local catalogue: import, sample, stats, export, forget, purge',
    group: 'data',
    load: async () => (await import('../commands/data/data.js')).dataCommand,
  },
  industries: {
    summary: 'Industries by name',
    group: 'data',
    load: async () => (await import('../commands/data/industries.js')).industriesCommand,
  },
  config: {
    summary: 'Settings of this machine',
    group: 'machine',
    load: async () => (await import('../commands/setup/config.js')).configCommand,
  },
  profiles: {
    summary: 'Named sets of settings',
    group: 'machine',
    load: async () => (await import('../commands/setup/profiles.js')).profilesCommand,
  },
  ledger: {
    summary: 'What the commands of this machine spent, on any target',
    group: 'machine',
    load: async () => (await import('../commands/ledger/ledger.js')).ledgerCommand,
  },
  serve: {
    summary: 'Serve the API over HTTP on this machine',
    group: 'servers',
    load: async () => (await import('../commands/serve/serve.js')).serveCommand,
  },
  dashboard: {
    summary: 'Look at everything in the browser',
    group: 'servers',
    load: async () => (await import('../commands/serve/dashboard.js')).dashboardCommand,
  },
  worker: {
    summary: 'Do accepted work and deliver it, beside or without a server',
    group: 'servers',
    load: async () => (await import('../commands/serve/worker.js')).workerCommand,
  },
  listen: {
    summary: 'Receive webhook deliveries on this machine',
    group: 'servers',
    load: async () => (await import('../commands/listen/listen.js')).listenCommand,
  },
  runs: {
    summary: 'Batches: list, show, resume, export, forget',
    group: 'data',
    load: async () => (await import('../commands/runs/runs.js')).runsCommand,
  },
  events: {
    summary: 'Received events: list, show, send again',
    group: 'servers',
    load: async () => (await import('../commands/events/events.js')).eventsCommand,
  },
  limits: {
    summary: 'What is left of credits, quotas and requests, and when it resets',
    group: 'machine',
    load: async () => (await import('../commands/limits/limits.js')).limitsCommand,
  },
  doctor: {
    summary: 'Look for what is wrong on this machine, and say what to do',
    group: 'machine',
    load: async () => (await import('../commands/doctor/doctor.js')).doctorCommand,
  },
  api: {
    summary: 'Call any path of the API',
    group: 'machine',
    load: async () => (await import('../commands/api/api.js')).apiCommand,
  },
  openapi: {
    summary: 'Print the OpenAPI document',
    group: 'machine',
    load: async () => (await import('../commands/api/api.js')).openapiCommand,
  },
  completion: {
    summary: 'Print a completion script for your shell',
    group: 'machine',
    load: async () => (await import('../commands/completion/completion.js')).completionCommand,
  },
}
