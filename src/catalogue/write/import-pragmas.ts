import type { Driver } from '../../storage/driver/connection.js'

/** Changes settings of a database, as its PRAGMAs take them; answers how to set them back. */
export async function changeSettings(
  driver: Driver,
  settings: Readonly<Record<string, number>>,
): Promise<() => Promise<void>> {
  const before = await driver.read(async (connection) => {
    const values: [string, number][] = []
    for (const name of Object.keys(settings)) {
      const value = await connection.get<Record<string, number>>(`PRAGMA ${name}`)
      values.push([name, value?.[name] ?? 0])
    }
    return values
  })
  const set = async (values: readonly (readonly [string, number])[]) => {
    for (const [name, value] of values) await driver.set(`${name} = ${value}`)
  }
  await set(Object.entries(settings))
  return () => set(before)
}
