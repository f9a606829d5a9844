/** Loaded before the program that is measured: tells its largest resident memory, in KiB, when it ends. */
import { writeSync } from 'node:fs'

process.once('exit', () => writeSync(3, String(process.resourceUsage().maxRSS)))
