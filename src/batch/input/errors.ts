/** Columns that cannot be matched to the fields of an operation. */
export class MappingError extends Error {
  /** Exit code of a command that ends with it. */
  readonly exit = 2
  /** Fields of which one is needed and has no column; none where something else is wrong. */
  readonly needed: readonly string[]

  constructor(sentence: string, needed: readonly string[] = []) {
    super(sentence)
    this.name = 'MappingError'
    this.needed = needed
  }
}

/** An output that could not be written; `code` is the system's, such as `ENOSPC`. */
export class OutputError extends Error {
  /** Exit code of a command that ends with it. */
  readonly exit = 10
  readonly code: string | undefined

  constructor(sentence: string, code?: string) {
    super(sentence)
    this.name = 'OutputError'
    this.code = code
  }
}

const systemReasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be too large',
  EIO: 'the disk reports an error',
  EISDIR: 'it is a folder',
  EMFILE: 'too many files are open',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a folder',
  EPERM: 'the system does not permit it',
  EPIPE: 'the reader has closed it',
  EROFS: 'the disk is read-only',
}

/** The system's code of an error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}

/** What a system error means, in words. */
export function systemReason(error: unknown): string {
  const code = systemCode(error)
  if (code !== undefined) return `${systemReasons[code] ?? 'the system refused'} (${code})`
  return error instanceof Error ? error.message : String(error)
}
