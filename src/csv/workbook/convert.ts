import { existsSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Details, interrupted, type LocalCode, Refusal, systemCode } from '../../api/calls/errors.js'
import { isWorkbook } from '../encoding.js'
import { unpack } from '../packed.js'
import type { UncalculatedColumn } from '../uncalculated.js'
import type { ChosenSheet, ReadTask } from './read.js'
import type { WriteTask } from './write.js'

/** What the process for workbooks does. */
export type ConversionTask = ReadTask | WriteTask

/** How it ends: done, with what is wrong with the file, or with an error of the system. */
export type ConversionResult =
  | { readonly done: true; readonly chosen?: ChosenSheet }
  | { readonly refusal: LocalCode; readonly details: Details }
  | { readonly message: string; readonly code: string | undefined }

/** A sheet as CSV, or what a packed file has. */
export interface ConvertedFile {
  readonly copy: FileHandle
  /** Of a packed file, the copy is as somebody wrote it: its encoding and delimiter are recognised. */
  readonly isSheet: boolean
  readonly uncalculated: readonly UncalculatedColumn[]
}

/** Does what `RunPorts` says; it also throws a Refusal when the signal aborts. `onSheet` is told which of several sheets is read. */
export async function convertFile(
  path: string,
  sheet: string | undefined,
  openCopy: () => Promise<FileHandle>,
  signal?: AbortSignal,
  onSheet?: (chosen: ChosenSheet) => void,
): Promise<ConvertedFile | undefined> {
  const unpacked = await unpack(path, openCopy, signal)
  if (unpacked) return { copy: unpacked, isSheet: false, uncalculated: [] }
  if (!(await isWorkbook(path))) return undefined
  const copy = await openCopy()
  const chosen = await convertWorkbook({ workbook: path, sheet, csv: copy.fd }, signal).catch(
    (error: unknown) => {
      if (systemCode(error) === undefined) throw error
      throw new Refusal('workbook.unreadable', { path, cause: error })
    },
  )
  if (chosen && sheet === undefined && chosen.others.length > 0) onSheet?.(chosen)
  return { copy, isSheet: true, uncalculated: chosen?.uncalculated ?? [] }
}

/** Keeps a conversion below 450 MB, with what is outside of the heap. */
const heapMiB = 192

/** The variables that node itself may need; the others can hold keys. */
const environment = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot', 'TMPDIR', 'TEMP']

/** The descriptor that a child process has for the file that it writes, after its standard streams and the channel. */
const copyInChild = 4

/**
 * Converts a workbook to CSV or back, in a process of its own: it takes much memory for a short time, and what is in a
 * workbook can make it take more than there is (decision 14). It ends with this process, and when the signal aborts.
 * Throws a Refusal for a file that cannot be converted.
 */
export async function convertWorkbook(
  task: ConversionTask,
  signal?: AbortSignal,
): Promise<ChosenSheet | undefined> {
  const { fork } = await import('node:child_process')
  const { env } = process
  const isReading = 'workbook' in task
  const child = fork(findProgram(), [], {
    execArgv: [`--max-old-space-size=${heapMiB}`, '--max-semi-space-size=8'],
    env: Object.fromEntries(environment.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', ...(isReading ? [task.csv] : [])],
    serialization: 'advanced',
  })
  const kill = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', kill)
  const result = await new Promise<ConversionResult>((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', (code, killedBy) =>
      reject(
        signal?.aborted
          ? interrupted(signal, 'converting')
          : new Refusal(codeOfEnd(code, killedBy), { how: killedBy ?? code }),
      ),
    )
    // It ended already where sending fails.
    child.send(isReading ? { ...task, csv: copyInChild } : task, () => {})
  }).finally(() => signal?.removeEventListener('abort', kill))
  child.disconnect()
  if ('refusal' in result) throw new Refusal(result.refusal, result.details)
  if ('message' in result) throw Object.assign(new Error(result.message), { code: result.code })
  return result.chosen
}

/** Returns why a process ended without a result. */
function codeOfEnd(code: number | null, signal: string | null): LocalCode {
  // V8 aborts when its heap is full, and the system kills.
  if (signal === 'SIGABRT' || signal === 'SIGKILL' || code === 134) return 'workbook.memory'
  return signal === 'SIGTERM' ? 'workbook.interrupted' : 'workbook.ended'
}

/** Returns the path of the built program: beside the command line, above the library's chunks, or below the sources. */
function findProgram(): string {
  const paths = ['./workbook.cjs', '../workbook.cjs', '../../../dist/workbook.cjs'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  const program = paths.find((path) => existsSync(path))
  if (program === undefined) throw new Error('dist/workbook.cjs is missing. Run: npm run build')
  return program
}
