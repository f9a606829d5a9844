import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../api/calls/errors.js'
import { refuseConnection } from './raw-answer.js'

const slowestBytesPerSecond = 1024
const patience = 3

interface Upload {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  bytes?: number
  strikes: number
}

/**
 * Closes connections whose request body trickles in: at three looks in a row, `everyMs` apart, less than
 * 1 KiB per second had come. Node's own limit is on the whole request only, which must be long enough for a
 * large body. Stops with the server.
 */
export function endSlowBodies(server: Server, everyMs: number): void {
  const uploads = new Map<Socket, Upload>()
  const least = (slowestBytesPerSecond * everyMs) / 1000
  const timer = setInterval(() => {
    for (const [socket, upload] of uploads) if (isStuck(socket, upload, least)) cut(socket, upload)
  }, everyMs).unref()
  server.on('connection', (socket) => socket.once('close', () => uploads.delete(socket)))
  server.on('request', (request, response) => {
    if (request.method === 'POST') uploads.set(request.socket, { request, response, strikes: 0 })
  })
  server.once('close', () => clearInterval(timer))
}

/** A body that waits to be read here is no fault of the client. */
function isStuck(socket: Socket, upload: Upload, least: number): boolean {
  if (upload.request.complete || upload.request.readableLength > 0) return false
  const grown = socket.bytesRead - (upload.bytes ?? 0)
  upload.strikes = upload.bytes !== undefined && grown < least ? upload.strikes + 1 : 0
  upload.bytes = socket.bytesRead
  return upload.strikes >= patience
}

function cut(socket: Socket, upload: Upload): void {
  if (upload.response.headersSent) socket.destroy()
  else refuseConnection(socket, new ApiError('request_timeout'))
}
