import type { Html, View } from './view.js'

/** A page without any data: the script loads what it shows once the browser is signed in. */
export const Shell = ({ views }: { readonly views: readonly View[] }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>Prospect</title>
      <link rel="icon" href="/dashboard/assets/icon.svg" />
      <link rel="stylesheet" href="/dashboard/assets/style.css" />
      <script type="module" src="/dashboard/assets/page.js" />
    </head>
    <body>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/dashboard">
          prospect
        </a>
        <nav aria-label="Views">
          {views.map(({ name, title }) => (
            <a href={pathOf(name)}>{title}</a>
          ))}
        </nav>
        <span id="connection" class="connection" role="status" />
        <button id="theme" type="button" class="quiet">
          Theme
        </button>
      </header>
      <main id="main" tabindex={-1} aria-busy="true">
        <noscript>The dashboard needs JavaScript. The commands show the same: prospect --help</noscript>
      </main>
      <div id="messages" role="status" aria-live="polite" />
      <dialog id="question" aria-labelledby="question-text">
        <form method="dialog">
          <p id="question-text" />
          <menu>
            <button type="submit" value="no">
              Cancel
            </button>
            <button type="submit" value="yes" class="primary" id="question-yes" />
          </menu>
        </form>
      </dialog>
    </body>
  </html>
)

export function pathOf(
  name: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [[key, String(value)] as [string, string]],
  )
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return `/dashboard${name === '' ? '' : `/${name}`}${search}`
}

/** What the page shows below its header. */
export const Content = ({
  title,
  workspace,
  isReadOnly,
  body,
}: {
  readonly title: string
  readonly workspace: string
  readonly isReadOnly: boolean
  readonly body: Html
}) => (
  <>
    <div class="heading">
      <h1 tabindex={-1}>{title}</h1>
      <p>
        Workspace {workspace}
        {isReadOnly && ' · read-only'}
      </p>
    </div>
    {body}
  </>
)
