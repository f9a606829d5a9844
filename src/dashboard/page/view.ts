import type { Child } from 'hono/jsx'
import type { DashboardPorts } from './ports.js'

/** What a view shows, as hono's JSX; every text in it is escaped. */
export type Html = Child

/** What a view is asked with. */
export interface Page {
  readonly ports: DashboardPorts
  /** The query of the address: filters, a position in a list, the id of what is shown whole. */
  readonly query: URLSearchParams
  /** Whether actions are refused, so that the view shows no buttons for them. */
  readonly isReadOnly: boolean
}

/** One view of the dashboard: reads what it shows and returns it as HTML. */
export interface View {
  /** The last part of its path: `runs` is served at `/dashboard/runs`; empty for the first view. */
  readonly name: string
  readonly title: string
  render(page: Page): Promise<Html>
  /** What its buttons and forms do, by the name in `<form data-action="VIEW/NAME">`. */
  readonly actions?: Readonly<Record<string, Action>>
}

export type Fields = Readonly<Record<string, string>>

/**
 * What a button or form does. A thrown refusal is shown with its hint; everything else is reported as a bug. A `Response`
 * is saved as a file.
 */
export type Action = (ports: DashboardPorts, fields: Fields) => Promise<ActionResult | Response>

/** What the page shows after an action; the view is read again in any case. */
export interface ActionResult {
  /** One sentence: what happened. */
  readonly message: string
  /** A text to copy that is shown once, such as a new key, or the reply of an operation. */
  readonly detail?: string
  /** Asks before another action of the same view is done: its name, its fields and the text of its button. */
  readonly confirm?: { readonly action: string; readonly fields: Fields; readonly label: string }
}
