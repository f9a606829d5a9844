import { setTimeout as pause } from 'node:timers/promises'
import { closeAfterTest, freePort } from '../../client/listeners.js'
import { type Given, type Line, type Machine, machine, wordsOf } from '../../support/command.js'

/** A machine that serves its engine on a free port, with the key of its workspace and what chooses them in a command. */
export type ServingMachine = Awaited<ReturnType<typeof servingWith>>

/** Asks a server, under a key where there is one. */
export async function ask(
  { baseUrl, key }: { readonly baseUrl: string; readonly key?: string },
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const sent = { 'content-type': 'application/json', ...(key && { 'x-api-key': key }), ...headers }
  const answer = await fetch(baseUrl + path, { headers: sent, ...request })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, json: <T>() => JSON.parse(text) as T }
}

/** Asks a server for a company. */
export const enrich = (
  server: Parameters<typeof ask>[0],
  domain: string,
  headers?: Parameters<typeof ask>[3],
) => ask(server, '/accounts/single_enrich', { domain }, headers)

/** Prepares a machine, and serves its engine from this process as `prospect serve` does. */
export const servingMachine = (prepare: (here: Machine) => unknown, ...options: string[]) =>
  servingWith({}, prepare, ...options)

/** Waits a twentieth of the time, so that retries of the server do not hold up a test. */
const sleep: NonNullable<Given['sleep']> = (ms, signal) => pause(ms / 20, undefined, signal && { signal })

/** Does the same with environment variables for the server. */
export async function servingWith(
  env: Record<string, string>,
  prepare: (here: Machine) => unknown,
  ...options: string[]
) {
  const here = machine()
  await prepare(here)
  const key = await here.newKey('me@localhost', { env })
  const { line: baseUrl, stop } = await here.start(['serve', '--port', '0', ...options], { env, sleep })
  const close = async () => {
    await stop()
    here.remove()
  }
  const own = { PROSPECT_BASE_URL: baseUrl, PROSPECT_API_KEY: key }
  return { machine: here, baseUrl, key, env: own, close }
}

const sellersCsv = (count: number): string =>
  [
    'first_name,last_name,title,network_profile_url,company_name,company_domain',
    ...Array.from(
      { length: count },
      (_, at) =>
        `Ann,Number${at},Head of Sales,https://www.network.example/in/ann-${at},Company ${at},company-${at}.example`,
    ),
  ].join('\n')

const companiesCsv = (count: number): string =>
  [
    'name,domain,industry,technologies',
    ...Array.from(
      { length: count },
      (_, at) => `Robots ${at},robots-${at}.example,Software Development,react`,
    ),
  ].join('\n')

/** Imports companies, and people in sales who each work at a different one. */
export async function filled(here: Machine, sellers: number, companies: number): Promise<void> {
  await here.fill('people', `${sellersCsv(sellers)}\n`)
  await here.fill('companies', `${companiesCsv(companies)}\n`)
}

/** A machine that serves people in sales and companies until the test is over. */
export const serves = async (sellers: number, companies: number, options: Line = '') =>
  closeAfterTest(await servingMachine((one) => filled(one, sellers, companies), ...wordsOf(options)))

/** A proxy in front of a server, with a key of that server, until the test is over. */
export const proxyOf = async (
  { baseUrl, key }: { readonly baseUrl: string; readonly key: string },
  options: Line = '',
  prepare: (here: Machine) => unknown = () => {},
  env: Record<string, string> = {},
) =>
  closeAfterTest(
    await servingWith({ PROSPECT_API_KEY: key, ...env }, prepare, '--upstream', baseUrl, ...wordsOf(options)),
  )

/** Options with which a proxy receives deliveries. */
export async function deliverable(): Promise<string> {
  const port = await freePort()
  return `--port ${port} --public-url http://127.0.0.1:${port}`
}
