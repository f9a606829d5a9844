import type { Admin } from '../../engine/admin/admin.js'
import type { AsyncJob, ListedCompany } from '../../engine/ports/ports.js'
import type { GlobalOptions, StreamsContext, TargetContext } from '../context/context.js'
import { grouped } from '../output/text.js'

const pageRows = 1_000
/** Companies named one by one; the others are counted. */
const mostNamed = 10

/** Tells which companies of a list nobody knows; `lineOf` gives the line of the file that each came from. */
export async function unresolved(
  context: StreamsContext & TargetContext,
  job: AsyncJob,
  globals: GlobalOptions,
  lineOf: (ordinal: number) => number | undefined = () => undefined,
): Promise<void> {
  const named: string[] = []
  let count = 0
  for await (const { company, ordinal, accountId } of listed(await context.admin(globals), job)) {
    if (accountId !== null) continue
    count++
    const line = lineOf(ordinal)
    const name = company.name ?? company.domain ?? company.url ?? `company ${ordinal}`
    if (named.length < mostNamed) named.push(line === undefined ? name : `${name} (line ${line})`)
  }
  if (count === 0) return
  const more = count > named.length ? ` and ${grouped(count - named.length)} more` : ''
  const of = `${grouped(count)} of ${grouped(job.expected)} ${job.expected === 1 ? 'company' : 'companies'}`
  context.notify(`${of} could not be resolved: ${named.join(', ')}${more}.`, globals)
}

async function* listed(admin: Admin, { id }: AsyncJob): AsyncGenerator<ListedCompany> {
  for (let after = 0; ; ) {
    const page = await admin.listed(id, after, pageRows)
    yield* page
    if (page.length < pageRows) return
    after = page.at(-1)?.ordinal ?? after
  }
}
