/** Returns the version in package.json, which the build inserts here. */
export async function version(): Promise<string> {
  const { default: manifest } = await import('../../../package.json', { with: { type: 'json' } })
  return manifest.version
}
