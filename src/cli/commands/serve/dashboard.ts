import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '../../../api/calls/errors.js'
import { refuse } from '../../../http/answer.js'
import type { Listening } from '../../../http/listen.js'
import { writeTo } from '../../../runs/output/writer.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { prepareHome, writePrivate } from '../../context/home.js'
import { aborted, interruptible } from '../../context/io.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { engineOption } from '../../options/databases.js'
import { type OptionsOf, optionRows, repeated } from '../../options/values.js'
import { exposureOptions, openDashboard, readExposure } from '../dashboard/open.js'
import { listenOptions, startListening } from './http-server.js'

const defaultPort = 4011
const defaultApiPort = 4010

export const dashboardCommand: CommandFactory = ({ command }) =>
  command('dashboard', 'See credits, runs, jobs, deliveries and events in the browser')
    .withOptions(dashboardOptions)
    .run(serveDashboard)

const dashboardOptions = optionRows({
  ...listenOptions(defaultPort),
  allowHost: ['<name>', 'another host name that browsers use (repeatable)', repeated],
  ...engineOption,
  ...exposureOptions,
  noOpen: ['', 'print the link only, and open no browser'],
})

async function serveDashboard(
  outer: Context,
  { options }: Invocation<OptionsOf<typeof dashboardOptions>>,
): Promise<number> {
  const { allowHost = [], database = outer.home.engine, open, ...choices } = options
  const isReadOnly = readExposure(choices)
  const context = outer.withDatabase(database)
  let listening: Listening | undefined
  const local = context.withGlobals({ local: true })
  const caller = await local.caller()
  const setup = {
    ...{ isReadOnly, origin: () => listening?.origin ?? '' },
    // Where prospect serve listens unless told otherwise.
    apiUrl: () => `http://127.0.0.1:${defaultApiPort}/api/v2`,
    source: () => local.source(),
  }
  const dashboard = await openDashboard(context, caller, setup)
  const answer = async (request: Request) => dashboard.handle(request) ?? refuse(new ApiError('not_found'))
  await interruptible(context.streams, async (signal) => {
    const { isPage } = dashboard
    const setup = { handler: answer, allowHosts: allowHost, isPage, defaultPort }
    listening = await startListening(context, choices, setup)
    try {
      const url = listening.origin + dashboard.makeLink()
      await writeTo(context.streams.stdout, `${firstLine(url, outer.globals)}\n`)
      context.notify('Serving the dashboard. Ctrl-C ends it.')
      if (open && context.streams.stdout.isTTY) await openBrowser(context, url)
      await aborted(signal)
    } finally {
      dashboard.close()
      await listening.close()
    }
  })
  return 0
}

const firstLine = (url: string, { json, format }: GlobalOptions): string =>
  json || format === 'json' ? JSON.stringify({ url, pid: process.pid }) : url

/** Others can read the arguments of the browser's process, so that these name a private file which leads to the link. */
async function openBrowser(context: Context, url: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  prepareHome(context.home)
  const file = join(context.home.folder, 'dashboard.html')
  const page = `<!doctype html><meta http-equiv="refresh" content="0; url=${url}"><a href="${url}">prospect dashboard</a>\n`
  writePrivate(file, page, context.ids.uuid())
  context.onClose(() => rm(file, { force: true }))
  const [program, ...args] = browserCommand(process.platform)
  const child = spawn(program, [...args, file], { detached: true, stdio: 'ignore' })
  // Without a browser the printed link is enough.
  child.on('error', () => {})
  child.unref()
}

function browserCommand(platform: NodeJS.Platform): [program: string, ...args: string[]] {
  if (platform === 'darwin') return ['open']
  return platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
}
