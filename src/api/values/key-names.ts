/** What the names of keys begin with that belong to a workspace of this machine. */
export const localPrefix = 'local:'

/** Returns the name under which the key of a workspace of this machine is stored. */
export const localOrigin = (workspaceId: string): string => `${localPrefix}${workspaceId}`

/** Returns the name under which the key of a data vendor is stored. */
export const providerKeyName = (workspaceId: string, provider: string): string =>
  `${localOrigin(workspaceId)} provider ${provider}`

/** Returns the name under which the secret is stored that a data vendor signs its webhooks with. */
export const webhookSecretName = (keyName: string): string => `${keyName} webhook`
