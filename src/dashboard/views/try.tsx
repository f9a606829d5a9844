import { randomUUID } from 'node:crypto'
import { type Shape, shapeOf } from '../../api/areas/shapes.js'
import { type Input, isOk } from '../../api/calls/caller.js'
import { ApiError, errors, failureOf, refusalOf } from '../../api/calls/errors.js'
import { isPriced, pathParameters } from '../../api/operations/facts.js'
import { operationOn } from '../../api/operations/plans.js'
import { areaOf, commandOf, flagOf, type Operation, operations } from '../../api/operations/table.js'
import { withOwnWebhook } from '../../api/validation/own-webhook.js'
import { validate } from '../../api/validation/validate.js'
import { toPrintableJson } from '../../api/values/json.js'
import { type DryRun, dryRun } from '../../engine/credits/cost.js'
import {
  ActionButton,
  count,
  Empty,
  Facts,
  Form,
  RequestControl,
  readRequest,
  requestFields,
  Section,
} from '../page/elements.js'
import { type DashboardPorts, engineOf, type Fields, type Html, type Page, type View } from '../page/view.js'

/** Any operation as a form: what it would send and cost, the same as `curl` and as a command, and the reply. */
export const tryIt: View = {
  name: 'try',
  title: 'Try it',
  render: async (page) => {
    const texts = Object.fromEntries(page.query)
    const chosen = findOperation(texts.operation)
    return (
      <>
        <Section title="Operation">
          <Form label="Choose">
            <label>
              Operation
              <select name="operation">
                {[...new Set(operations().map(({ id }) => areaOf(id)))].map((area) => (
                  <optgroup label={area}>
                    {operations()
                      .filter(({ id }) => areaOf(id) === area)
                      .map((row) => (
                        <option value={row.id} selected={row.id === chosen?.id}>
                          {commandOf(row.id)}: {row.summary}
                        </option>
                      ))}
                  </optgroup>
                ))}
              </select>
            </label>
          </Form>
          {!chosen && <Empty>Choose an operation. Nothing is sent before you have seen its price.</Empty>}
        </Section>
        {chosen && (await formOf(chosen, texts, page))}
      </>
    )
  },
  actions: {
    send: async (ports, fields) => {
      const { row, input, request } = await read(fields, ports)
      if (!isPriced(row)) return call(ports, row, input)
      return {
        message: `${row.method} ${request.path} can cost ${priceOf(request)}. Send it?`,
        // The same key for every click: the request is paid for once.
        confirm: {
          action: 'pay',
          fields: { ...fields, idempotency_key: randomUUID() },
          label: `Send and pay ${priceOf(request)}`,
        },
      }
    },
    pay: async (ports, fields) => {
      const { row, input } = await read(fields, ports)
      if (!fields.idempotency_key)
        throw new ApiError('bad_request', { reason: 'The price was not confirmed' })
      return call(ports, row, input, fields.idempotency_key)
    },
  },
}

const findOperation = (id: string | undefined): Operation | undefined =>
  operations().find((one) => one.id === id)

async function read(fields: Fields, ports: DashboardPorts) {
  const chosen = findOperation(fields.operation)
  if (!chosen) throw new ApiError('not_found')
  // The prices of a server are its own, whatever its plan is called.
  const row = ports.target.isServer ? chosen : operationOn(chosen, await planHere(ports))
  const shape = await shapeOf(row.id)
  const input = withOwnWebhook(row.id, shape, readRequest(shape, fields))
  return { row, shape, input, request: dryRun(row, shape, input) }
}

const planHere = async (ports: DashboardPorts): Promise<string> =>
  (await (await engineOf(ports)).status()).plan

const priceOf = ({ price }: DryRun): string =>
  price.max === null ? 'credits for each record found' : `at most ${count(price.max, 'credit')}`

async function call(ports: DashboardPorts, row: Operation, input: Input, idempotencyKey?: string) {
  const reply = await ports.call(row.id, input, idempotencyKey)
  const detail = toPrintableJson(reply.body, 2)
  if (isOk(reply)) {
    const again =
      reply.replayed === undefined ? '' : ' The same request was answered before and is not charged again.'
    return { message: `${reply.status}: ${count(reply.credits, 'credit')} charged.${again}`, detail }
  }
  const { text, means } = failureOf(reply.status, reply.body)
  const hint = means === undefined ? '' : errors[means].hint
  return { message: `Refused with ${reply.status}: ${text.replace(/\.$/, '')}. ${hint}`, detail }
}

async function formOf(row: Operation, texts: Fields, { ports, isReadOnly }: Page): Promise<Html> {
  const shape = await shapeOf(row.id)
  const isShown = texts.show !== undefined
  return (
    <>
      <Section title={row.summary}>
        <Form
          look="fields"
          fields={{ operation: row.id, show: '1' }}
          label="Show the request and its price"
          primary
        >
          {requestFields(shape).map((field) => (
            <RequestControl field={field} value={texts[field.name]} showsName />
          ))}
        </Form>
      </Section>
      {isShown && (await requestOf(texts, ports, isReadOnly))}
    </>
  )
}

async function requestOf(texts: Fields, ports: DashboardPorts, isReadOnly: boolean): Promise<Html> {
  const { row, shape, input, request } = await read(texts, ports)
  const refusal = refusalOf(() => validate(row.id, shape, input))
  return (
    <Section title="Request">
      <Facts
        facts={{
          Request: (
            <code>
              {request.method} {request.path}
            </code>
          ),
          Price: isPriced(row) ? `${priceOf(request)}; nothing found costs nothing` : 'no credits',
        }}
      />
      {refusal !== undefined && <p class="refusal">It would be refused: {refusal.message}.</p>}
      {request.body !== null && code('Body', toPrintableJson(request.body, 2))}
      {code('As a command', shellCommandOf(row, shape, input, texts))}
      {code('With curl', curlOf(request, ports.apiUrl()))}
      <p class="empty">
        The key is read from PROSPECT_API_KEY in your shell.{' '}
        {ports.apiUrl() === ports.target.name ? (
          `It is the one that ${ports.target.shown} has given you.`
        ) : (
          <>
            Create one under{' '}
            <a href="/dashboard/engine">{ports.target.isServer ? 'Members and keys' : 'Engine'}</a>.
          </>
        )}
      </p>
      {!isReadOnly && (
        <ActionButton
          action="try/send"
          fields={texts}
          label={isPriced(row) ? `Send for ${priceOf(request)}…` : 'Send'}
          primary
        />
      )}
      {!isReadOnly && code('Reply', 'Nothing was sent yet.', JSON.stringify(texts))}
    </Section>
  )
}

/** With `replyTo`, the request whose reply the script shows here until another one is on the page. */
const code = (label: string, text: string, replyTo?: string) => (
  <section class="scroll" aria-label={label} tabindex={0}>
    <h3>{label}</h3>
    <pre data-key={replyTo} data-reply={replyTo === undefined ? undefined : ''}>
      {text}
    </pre>
  </section>
)

const quote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** Returns the command that sends the same request. It waits for results itself where no webhook is given. */
function shellCommandOf(row: Operation, shape: Shape, input: Input, texts: Fields): string {
  const inPath = pathParameters(row)
  const options = requestFields(shape).flatMap(({ name, kind }) => {
    const value = input[name]
    const isOurs = name === 'webhook_url' && !texts.webhook_url
    if (value === undefined || inPath.includes(name) || isOurs) return []
    const flag = flagOf(name)
    if (kind.type === 'boolean') return [value === false ? `--no-${flag}` : `--${flag}`]
    return (Array.isArray(value) ? value : [value]).map((one: unknown) => optionOf(flag, one))
  })
  const words = inPath.map((name) => quote(String(input[name] ?? name.toUpperCase())))
  const flag = row.flag === undefined ? [] : [`--${row.flag}`]
  return ['prospect', row.command, ...words, ...flag, ...options].join(' ')
}

function optionOf(flag: string, value: unknown): string {
  const text = typeof value === 'object' ? toPrintableJson(value) : String(value)
  return text.startsWith('-') ? `--${flag}=${quote(text)}` : `--${flag} ${quote(text)}`
}

function curlOf({ method, path, body }: DryRun, baseUrl: string): string {
  const verb = method === 'GET' ? '' : `-X ${method} `
  const sent =
    body === null ? [] : ["-H 'Content-Type: application/json'", `-d ${quote(toPrintableJson(body))}`]
  return [`curl -sS ${verb}${quote(baseUrl + path)}`, '-H "X-API-KEY: $PROSPECT_API_KEY"', ...sent].join(
    ' \\\n  ',
  )
}
