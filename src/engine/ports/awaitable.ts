/** A value or a promise of it: SQLite returns at once, PostgreSQL later, and the rules work with both. */
export type Awaitable<T> = T | Promise<T>
