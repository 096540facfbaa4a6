/**
 * Compression of answers that are made for one caller. Pages, which are the same for all, are compressed once (`Pages.ts`).
 *
 * Guarantees:
 * - No answer waits for another: while `AT_ONCE` are compressed in this process, others are sent as they are.
 * - The event loop compresses nothing. Two of the four threads of libuv stay free.
 *
 * Measured: a list of 100 charges becomes 9 of 97 kB, for 0.4 ms of a thread. gzip's highest levels take twice that for a tenth less.
 */
import { gzip } from "node:zlib"

/** Smaller answers fit into three packets, and cost more than they save. */
export const MIN_COMPRESSED_BYTES = 4096

/** Calls `done` with the text as gzip, or with undefined where it is to be sent as it is: then at once. */
export type Compress = (text: string, done: (bytes: Buffer | undefined) => void) => void

/** Compresses this many texts at once. */
export const makeCompress = (atOnce: number): Compress => {
  let running = 0
  return (text, done) => {
    if (running >= atOnce) return done(undefined)
    running++
    gzip(text, { level: 1 }, (error, bytes) => {
      running--
      done(error === null ? bytes : undefined)
    })
  }
}

const AT_ONCE = 2

/** Shared by all listeners of the process, as the threads are. */
export const compress = makeCompress(AT_ONCE)
