/** Statements in a file of their own, which the build and the tests import as text. */
declare module '*.sql' {
  const text: string
  export default text
}

/** Local parts of mailboxes that belong to a role. */
declare module 'role-based-email-addresses' {
  const names: readonly string[]
  export default names
}
