/** Statements in a file of their own, which the build and the tests import as text. */
declare module '*.sql' {
  const text: string
  export default text
}
