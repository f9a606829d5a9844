/** The version in package.json; the build puts it in place of the import. */
export async function version(): Promise<string> {
  const { default: manifest } = await import('../../../package.json', { with: { type: 'json' } })
  return manifest.version
}
