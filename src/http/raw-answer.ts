import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError, type ErrorCode, errorBody } from '../api/calls/errors.js'
import { safeHeaders } from './answer.js'

const lingerMs = 500

/** Ends a request that never reaches the handler, and its connection with it. */
export function refuseRequest(outgoing: ServerResponse, error: ApiError): void {
  const body = JSON.stringify(errorBody(error))
  const length = Buffer.byteLength(body)
  outgoing.writeHead(error.status, { ...safeHeaders, connection: 'close', 'content-length': length })
  outgoing.end(body)
}

/** Ends a connection on which no request could be read; what still arrives is let go by for a moment. */
export function refuseConnection(socket: Duplex, error: ApiError): void {
  if (socket.destroyed) return
  if (socket.writable) socket.end(rawAnswer(error))
  socket.resume()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

/** The error that node's parser means by its code. */
export function parserError(code: string | undefined): ApiError {
  const known: Record<string, ErrorCode> = {
    HPE_HEADER_OVERFLOW: 'headers_too_large',
    ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  }
  const name = known[code ?? '']
  return name ? new ApiError(name) : new ApiError('bad_request', { reason: 'The request is not valid HTTP' })
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function rawAnswer(error: ApiError): string {
  const body = JSON.stringify(errorBody(error))
  const headers = { ...safeHeaders, connection: 'close', 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${reasons[error.status] ?? ''}\r\n${lines.join('')}\r\n${body}`
}
