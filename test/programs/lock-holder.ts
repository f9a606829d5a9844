import { takeLock } from '../../src/runs/records.js'

/** Holds the lock of a file until it is killed. */
const lock = takeLock(process.argv[2] ?? '')
process.stdout.write(lock ? 'held\n' : 'refused\n')
setInterval(() => {}, 1_000)
