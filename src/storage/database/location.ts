/** Whether a database is on a server, by its address. */
export const isPostgres = (location: string): boolean => /^postgres(?:ql)?:/.test(location)
