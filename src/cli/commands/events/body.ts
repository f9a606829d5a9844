import { parseExact } from '../../../api/exact-json.js'
/** The body of a delivery as a value; it was JSON when it was taken. */
export const bodyOf = (body: string): unknown => parseExact(body.replace(/^\ufeff/, ''))
