import { digestOf } from '../api/values/digest.js'

/** The name under which the engine of this machine is printed. */
export const localName = 'local'

/** Returns the name that an engine is recorded under. It follows from its first workspace, so that it moves along. */
export const engineName = (firstWorkspace: { readonly id: string; readonly createdAt: number }): string =>
  `${localName} ${digestOf(JSON.stringify([firstWorkspace.id, firstWorkspace.createdAt]))
    .toString('hex')
    .slice(0, 8)}`

/** Whether a recorded name is that of an engine, and not of a server. */
export const isEngineName = (name: string): boolean => name.startsWith(`${localName} `)

/** Returns a recorded name as it is printed. */
export const shownTarget = (name: string): string => (isEngineName(name) ? localName : name)

/** Whether a recorded name is that of a server. */
export const isServerName = (name: string): boolean => shownTarget(name) !== localName

/** Returns what names the workspace of a server's key: nothing but the key says which one it is. */
export const toWorkspaceName = (key: string): string =>
  digestOf(`workspace ${key}`).toString('hex').slice(0, 16)
