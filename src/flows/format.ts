import * as z from 'zod'
import { shapeOf } from '../api/areas/shapes.js'
import { type OperationId, operations } from '../api/operations/table.js'
import { orByName } from '../api/schemas/enumerations.js'
import { durationPattern, toMs, unitMs } from '../api/values/duration.js'
import { isObject } from '../api/values/objects.js'
import { crmKinds, pushModes } from '../crm/connector.js'
import { type CrmName, crmNames } from '../runs/output/crm-names.js'

const text = () => z.string().min(1)
const texts = () => z.array(text()).min(1)

const address = () => z.url({ protocol: /^https?$/ })

const map = () =>
  z
    .record(z.string(), z.string())
    .optional()
    .describe('Which column fills a field: domain: Website, or none does: domain: ""')
const headers = () =>
  z.record(z.string(), text()).optional().describe('Names of environment variables with headers')

/** The number of a row, which a program gets with it. An answer that has it is the answer to that row. */
export const rowNumberField = '_row'

/** The operation that stands for a step that is no lookup: one that costs nothing. */
export const standInId: OperationId = 'accounts.count_profiles'

/** Whether a timer can be set for a duration: none lasts longer than 24 days. */
const isTimeout = (duration: string): boolean => {
  const ms = toMs(duration)
  return ms >= 1 && ms <= 24 * unitMs.d
}

/** Returns what each CRM is in a flow, by its name. */
const byCrm = <S extends z.ZodType>(schema: S) =>
  Object.fromEntries(crmNames.map((crm) => [crm, z.strictObject({ [crm]: schema })])) as {
    readonly [C in CrmName]: z.ZodObject<{ readonly [K in C]: S }>
  }

/** Kinds of input, by the key that chooses them. */
export const inputKinds = {
  csv: z.strictObject({
    csv: text().describe('A CSV file; its path is relative to the flow'),
    map: map(),
    encoding: text().optional().describe('The encoding (default: detected)'),
    delimiter: text().optional().describe('The delimiter (default: detected)'),
  }),
  xlsx: z.strictObject({
    xlsx: text().describe('A workbook'),
    sheet: text().optional().describe('The sheet (default: the first one)'),
    map: map(),
  }),
  list: z.strictObject({ list: text().describe('The name of a list of companies in the workspace') }),
  ...byCrm(z.enum(crmKinds).describe('What was read last of the account of this CRM that is connected')),
  flow: z.strictObject({ flow: text().describe('Another flow, whose output file is read') }),
  provider: z.strictObject({
    provider: text().describe('A data vendor of your own, whose search brings the rows'),
    query: z
      .record(z.string(), z.union([text(), z.number(), z.boolean(), z.array(z.union([text(), z.number()]))]))
      .optional()
      .describe('What is searched for, by the names in its file'),
    limit: z.int().min(1).max(100_000).describe('The most records'),
  }),
  search_url: z.strictObject({
    search_url: z.url().describe('The URL of a search for companies or people'),
    limit: z.int().positive().optional().describe('The most records'),
  }),
}

const onlyIf = () => text().optional().describe('A condition in CEL: other rows pass by this step')

/** Where a request goes, by its method. */
const requestTo = (what: string, to: z.ZodType<string>) => ({
  post: to.optional().describe(`Where ${what}, with POST`),
  put: to.optional().describe(`Where ${what}, with PUT`),
  patch: to.optional().describe(`Where ${what}, with PATCH`),
})

/** The address of one row, which may have fields of it, but not in its host: only a known one gets the rows. */
const addressOfRow = () =>
  address().refine(
    (url) => /^[^{}]*$|^https?:\/\/[^/?#{}]+[/?#]/i.test(url),
    'may have {field} only behind its host',
  )
const addressOfRows = () =>
  address().refine((url) => !url.includes('{'), 'must be the same for all rows: {field} is for a step')

/** The methods of the requests of a flow. */
export const httpMethods = ['post', 'put', 'patch'] as const

const hasOneMethod = (http: Readonly<Record<string, unknown>>): boolean =>
  httpMethods.filter((method) => http[method] !== undefined).length === 1
const oneMethod = 'must have one of post, put and patch'

/** Returns the address that a request goes to, whatever its method. */
export const addressIn = (
  http: Readonly<Partial<Record<(typeof httpMethods)[number], string | undefined>>>,
) => httpMethods.map((method) => http[method]).find((url) => url !== undefined) ?? ''

/** Returns the fields that stand in braces in a text, or in the texts of a body. */
export function bracedFields(template: unknown): readonly string[] {
  if (typeof template === 'string') return [...template.matchAll(bracedField)].map(([, path = '']) => path)
  return isObject(template) || Array.isArray(template) ? Object.values(template).flatMap(bracedFields) : []
}

export const bracedField = /\{([^{}]+)\}/g

/** Where the answer to a request with several rows has the answer to each: `body.results[index]`. */
export const itemPath = /^body((?:\.[\w-]+)*)\[index\]$/

/** What an answer of an address means for a row. */
export const httpOutcomes = ['ok', 'keep', 'drop', 'failed', 'again'] as const

/** Names of fields that a flow computes: conditions and expressions read them as they are. */
const computedName = /^(?!(?:input|company|true|false|null|in)$)[A-Za-z_]\w*$/

/** Kinds of steps that are no lookups, by the key that chooses them. */
export const stepKinds = {
  keep: z.strictObject({ keep: text().describe('A condition in CEL: other rows leave the flow') }),
  set: z.strictObject({
    set: z
      .record(
        z.string().regex(computedName, 'must be a name of letters, digits and _, and not input or company'),
        z.union([text(), z.number(), z.boolean()], 'must be an expression in CEL, such as "headcount * 2"'),
      )
      .refine((fields) => Object.keys(fields).length > 0, 'must name a field')
      .describe('Fields of the row, by the expressions in CEL that compute them'),
    only_if: onlyIf(),
  }),
  limit: z.strictObject({ limit: z.int().positive().describe('The most rows that go on') }),
  sort: z.strictObject({
    sort: z
      .union([text(), texts()])
      .describe('Fields that rows are sorted by, such as headcount desc; the first decides'),
  }),
  distinct: z.strictObject({
    distinct: z
      .union([text(), texts()])
      .describe('Fields: of rows with the same values in them, the first goes on'),
  }),
  command: z.strictObject({
    command: z
      .array(text(), 'must be a list of the program and its arguments, such as [node, score.js]')
      .min(1)
      .describe('A program and its arguments: a row of JSON in, an object of JSON out'),
    fields: z
      .array(
        text().refine((name) => name !== rowNumberField, `cannot be ${rowNumberField}, the number of a row`),
        'must be a list of names, such as [score]',
      )
      .min(1)
      .describe('The fields that it answers'),
    timeout: z
      .string('must be a duration such as 30s or 10m')
      .regex(durationPattern, 'must be a duration such as 30s or 10m')
      .refine(isTimeout, 'must be between 1ms and 24d')
      .optional()
      .describe('How long it may take for an answer (default: 60s)'),
    log: z
      .boolean()
      .optional()
      .describe('Show lines that are no answers on stderr, instead of ending the step'),
    only_if: onlyIf(),
  }),
  http: z.strictObject({
    http: z
      .strictObject({
        ...requestTo('rows are sent; {field} is a field of the row', addressOfRow()),
        headers: headers(),
        body: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('The body; {field} is a field of the row'),
        rows: z
          .int()
          .min(2)
          .max(1_000)
          .optional()
          .describe('Rows of a request, as {"rows": […]} (default: one)'),
        item: text()
          .regex(itemPath, 'must be a path to a list of the answer, such as body.results[index]')
          .optional()
          .describe('Where the answer to several rows has that to each, such as body.results[index]'),
        outcomes: z
          .array(
            z.strictObject({
              when: text().describe('A condition in CEL on status, headers, body and item'),
              is: z
                .enum(httpOutcomes)
                .describe('ok and keep let the row go on, drop takes it out, again sends it again later'),
            }),
          )
          .min(1)
          .optional()
          .describe('What an answer means: the first that fits decides'),
        result: z
          .record(z.string(), text())
          .optional()
          .describe('The fields of the row, by their paths in the answer'),
        per_second: z.number().positive().optional().describe('The most requests a second (default: 10)'),
      })
      .refine(hasOneMethod, oneMethod)
      .refine(({ item, rows }) => item === undefined || rows !== undefined, {
        error: 'needs rows beside it',
        path: ['item'],
      })
      .refine(({ rows, ...http }) => rows === undefined || !addressIn(http).includes('{'), {
        error: 'cannot stand beside an address with a {field}: each row has one of its own',
        path: ['rows'],
      }),
    only_if: onlyIf(),
  }),
}

/** What stands beside a lookup. */
export const lookupExtras = z.strictObject({
  with: z
    .record(z.string(), text())
    .optional()
    .describe('Fields of the request, by the fields of rows that fill them'),
  only_if: onlyIf(),
})

const columns = () => texts().optional().describe('The columns, in this order (default: all)')
const layout = () => text().optional().describe('The system whose import reads the file')

/** What a push does, beside its rows. */
export const crmSettings = () =>
  z.strictObject({
    mode: z.enum(pushModes).optional().describe('What is written (default: fill)'),
    map: z
      .record(z.string(), text())
      .optional()
      .describe('Properties of the CRM, by the fields of rows that fill them'),
    values: z
      .record(z.string(), z.record(z.string(), z.string()))
      .optional()
      .describe('By property, what stands for a value that is none of its options'),
    fields: texts().optional().describe('The properties that records get that are there'),
    owner: text().optional().describe('The address of who owns new records'),
    unknown: z
      .boolean()
      .optional()
      .describe('Whether companies are created of which only the domain is known (default: not by a flow)'),
    max_creates: z.int().nonnegative().optional().describe('The most records that are created'),
  })

export type CrmSettings = z.output<ReturnType<typeof crmSettings>>

/** Kinds of outputs, by the key that chooses them. */
export const outputKinds = {
  ...byCrm(crmSettings().describe('The account of this CRM that is connected')),
  csv: z.strictObject({ csv: text().describe('A CSV file'), columns: columns(), layout: layout() }),
  xlsx: z.strictObject({ xlsx: text().describe('A workbook'), columns: columns(), layout: layout() }),
  ndjson: z.strictObject({
    ndjson: text().describe('A file with an object of JSON a line'),
    columns: columns(),
  }),
  json: z.strictObject({ json: text().describe('A file with a list of JSON'), columns: columns() }),
  list: z.strictObject({ list: text().describe('The name of a new list of companies in the workspace') }),
  http: z.strictObject({
    http: z
      .strictObject({
        ...requestTo('the rows are sent, as {"rows": […]}', addressOfRows()),
        headers: headers(),
        rows: z.int().positive().max(1_000).optional().describe('Rows of a request (default: 100)'),
      })
      .refine(hasOneMethod, oneMethod),
    columns: columns(),
  }),
}

/** The parts of a flow beside its input, steps and outputs. */
export const flowFields = {
  name: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .describe('The name of the flow: letters, digits, dots, - and _'),
  skip_known: z
    .union([text(), texts()])
    .optional()
    .describe('Lists whose companies and people leave the flow'),
  since: z.literal('last_run').optional().describe('Only rows that the last finished run did not have'),
  budget: z
    .strictObject({
      credits: z.int().nonnegative().optional().describe('The most credits that a run of the flow may spend'),
      per_day: z
        .int()
        .nonnegative()
        .optional()
        .describe('The most credits that the profile may spend a day (UTC)'),
    })
    .optional()
    .describe('What may be spent'),
}

/** Operations that look a row up, by their ids. */
export const lookupIds: readonly string[] = operations().flatMap(({ id, batch }) =>
  batch && batch.into === undefined ? [id] : [],
)

/** Operations whose result can be the input of a flow: imports by filters. */
export const searchIds: readonly string[] = operations().flatMap(({ id, starts, filters }) =>
  starts === 'import' && filters && id !== 'leads.search' ? [id] : [],
)

/** Fields of a request that a flow gives itself. */
export const ownFields: readonly string[] = ['streaming', 'custom', 'scale']

export async function flowJsonSchema(): Promise<object> {
  const requestOf = async (id: string) => {
    const { input } = await shapeOf(id as OperationId)
    const fields = Object.entries(input.shape).filter(([name]) => !ownFields.includes(name))
    return z.strictObject(Object.fromEntries(fields) as z.ZodRawShape).partial()
  }
  const lookups = await Promise.all(
    lookupIds.map(async (id) => lookupExtras.extend({ [id]: z.union([z.null(), await requestOf(id)]) })),
  )
  const searches = await Promise.all(
    searchIds.map(async (id) => z.strictObject({ [id]: await requestOf(id) })),
  )
  const output = z.union(Object.values(outputKinds))
  const schema = z.strictObject({
    ...flowFields,
    input: z.union([...Object.values(inputKinds), ...searches]).describe('Where rows come from'),
    steps: z.array(z.union([z.enum(lookupIds as [string]), ...Object.values(stepKinds), ...lookups])),
    output: z.union([output, z.array(output).min(1)]).describe('Where rows go'),
  })
  return {
    ...z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
      reused: 'ref',
      override: ({ jsonSchema }) => {
        if (jsonSchema.description) jsonSchema.description = orByName(jsonSchema.description)
      },
    }),
    title: 'A flow of prospect',
  }
}
