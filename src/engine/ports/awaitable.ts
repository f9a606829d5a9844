/** A value, or a promise of one: SQLite answers at once, PostgreSQL later, and the rules do not care. */
export type Awaitable<T> = T | Promise<T>
