import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** Starts a server and waits for the first line it prints. */
export async function startServer(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    closed.then(() => Promise.reject(new Error(`node ${args.join(' ')} ended before it served`))),
  ])
  const stop = async () => {
    child.kill('SIGTERM')
    await closed
  }
  return { line, stop }
}
