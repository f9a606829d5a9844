/** The least that an HTTP server can do: answers every request with the body in `BODY`. Prints its port. */
import { createServer } from 'node:http'

const body = process.env.BODY ?? '{}'
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
const server = createServer((_request, response) => response.writeHead(200, headers).end(body))

server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
process.once('SIGTERM', () => process.exit(0))
