import { createHash } from 'node:crypto'

const local = 'local'

/** Returns the name that an engine is recorded under. It follows from its first workspace, so that it moves along. */
export const engineName = (firstWorkspace: { readonly id: string; readonly createdAt: number }): string =>
  `${local} ${createHash('sha256')
    .update(JSON.stringify([firstWorkspace.id, firstWorkspace.createdAt]))
    .digest('hex')
    .slice(0, 8)}`

/** Whether a recorded name is that of an engine, and not of a server. */
export const isEngineName = (name: string): boolean => name.startsWith(`${local} `)

/** Returns a recorded name as it is printed. */
export const shownTarget = (name: string): string => (isEngineName(name) ? local : name)
