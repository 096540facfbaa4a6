/** The terminal: what is one, how wide it is, and text that may be written to it. */
import { isRightToLeft, legible, visible } from "@pix-payments/domain/Text"
import * as Effect from "effect/Effect"

/** Whether people read standard output. Tables and colour are for them. */
export const isTerminal = (): boolean => process.stdout.isTTY === true

/** Whether a question can be asked and answered. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

export const write = (text: string): void => void process.stdout.write(text)

/**
 * Writes text, and waits until the operating system has it: the reader gets it also if this process is killed then.
 *
 * A failed write ends the process: `main.ts`.
 */
export const written = (text: string): Effect.Effect<void> =>
  Effect.callback((resume) => {
    process.stdout.write(text, (error) => {
      if (!error) resume(Effect.void)
    })
  })

/** Waits while the reader of standard output is slower than what was written. */
export const drained: Effect.Effect<void> = Effect.callback((resume) => {
  const { stdout } = process
  const done = () => resume(Effect.void)
  if (!stdout.writableNeedDrain) return done()
  stdout.once("drain", done)
  return Effect.sync(() => stdout.off("drain", done))
})

/** For people only: progress, notices, errors. They may quote text of others. */
export const notice = (text: string): void => void process.stderr.write(`${text.split("\n").map(line).join("\n")}\n`)

/** Replaces the line of progress. Writes nothing where nobody reads it. */
export const progress = (text: string): void => {
  if (process.stderr.isTTY === true) process.stderr.write(`\r\u001b[K${text}`)
}

/** Shows for how long work has been going on, once that is more than a second. */
export const withTime = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      let seconds = 0
      const timer = setInterval(() => progress(`Waiting for the service: ${++seconds} s`), 1000)
      return () => {
        clearInterval(timer)
        if (seconds > 0) progress("")
      }
    }),
    () => work,
    (end) => Effect.sync(end)
  )

const hasColour = (stream: NodeJS.WriteStream): boolean =>
  stream.isTTY === true && (process.env["NO_COLOR"] ?? "") === "" && process.env["TERM"] !== "dumb"

const styled =
  (code: number) =>
  (text: string): string =>
    hasColour(process.stdout) ? `\u001b[${code}m${text}\u001b[0m` : text

export const bold = styled(1)
export const dim = styled(2)
export const red = styled(31)
export const green = styled(32)
export const yellow = styled(33)

/**
 * Text of others without characters that command the terminal, are invisible or change the order of the text around them.
 * Letters that are written from right to left stay within their text.
 */
export const printable = (text: string): string => isolated(legible(text))

/** A line that is composed already: its spaces stay. */
export const line = (text: string): string => isolated(visible(text))

const isolated = (plain: string): string => (isRightToLeft(plain) ? `\u2068${plain}\u2069` : plain)

/** JSON with those characters escaped: `JSON.stringify` escapes only a part of them. */
export const jsonOf = (value: unknown, indent?: number): string => escaped(JSON.stringify(value, undefined, indent))

/** The text of JSON, or of its lines, with those characters escaped. It means the same. */
export const escaped = (json: string): string =>
  json.replaceAll(/[\u007f-\u009f\p{Zl}\p{Zp}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
    ).join("")
  )
