/** Keys that are pressed while a command runs on a terminal. */
import * as Effect from "effect/Effect"

/** Calls `onKey` for each key until the scope closes. Without a terminal there are none. */
export const keys = (onKey: (key: string) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { stdin } = process
      if (stdin.isTTY !== true) return () => {}
      const onData = (data: Buffer) => {
        for (const key of data.toString()) {
          // In raw mode the terminal sends no signal.
          if (key === "\u0003") process.kill(process.pid, "SIGINT")
          else onKey(key)
        }
      }
      stdin.setRawMode(true)
      stdin.on("data", onData)
      stdin.resume()
      return () => {
        stdin.off("data", onData)
        stdin.setRawMode(false)
        stdin.pause()
      }
    }),
    (restore) => Effect.sync(restore)
  )
