import { RegExpRouter } from 'hono/router/reg-exp-router'

/** Path parameters of a request, decoded. */
export type Params = Readonly<Record<string, string>>

/** Answers a request to one method of one path. */
export type Answer = (request: Request, params: Params) => Promise<Response>

/** One method of a path; the path has `{name}` for its parameters. */
export interface Route {
  readonly method: string
  readonly path: string
  readonly answer: Answer
}

/** What a path offers. */
export interface Place {
  readonly answers: ReadonlyMap<string, Answer>
  readonly params: Params
}

type Answers = Map<string, Answer>

/** Makes the function that finds what a path offers; a path without parameters wins over one with them. */
export function router(routes: readonly Route[]): (path: string) => Place | undefined {
  const plain = new Map<string, Place>()
  const patterns = new RegExpRouter<Answers>()
  for (const [path, answers] of byPath(routes)) {
    if (path.includes('{')) patterns.add('ALL', path.replace(/\{(\w+)\}/g, ':$1'), answers)
    else plain.set(path, { answers, params: {} })
  }
  return (path) => plain.get(path) ?? match(patterns, path)
}

function byPath(routes: readonly Route[]): Map<string, Answers> {
  const paths = new Map<string, Answers>()
  for (const { method, path, answer } of routes) {
    paths.set(path, (paths.get(path) ?? new Map<string, Answer>()).set(method, answer))
  }
  return paths
}

function match(patterns: RegExpRouter<Answers>, path: string): Place | undefined {
  const [found, stash] = patterns.match('ALL', path)
  const first = found[0]
  return first && { answers: first[0], params: paramsOf(first[1], stash ?? []) }
}

function paramsOf(places: Readonly<Record<string, string | number>>, stash: readonly string[]): Params {
  return Object.fromEntries(
    Object.entries(places).map(([name, place]) => [
      name,
      decoded(typeof place === 'number' ? (stash[place] ?? '') : place),
    ]),
  )
}

function decoded(raw: string): string {
  try {
    return decodeURIComponent(raw)
  } catch {
    return raw
  }
}
