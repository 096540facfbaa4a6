/** A receiver on a fixed port, which can go away and come back. */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import * as Http from "node:http"

export const localReceiver = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const ids: Array<string> = []
      let cuts = 0
      let server: Http.Server | undefined
      const open = async () => {
        server = Http.createServer((request, response) => {
          request.on("error", () => {})
          response.on("error", () => {})
          request.resume()
          request.on("end", () => {
            ids.push(String(request.headers["webhook-id"]))
            if (cuts > 0) {
              cuts -= 1
              request.socket.destroy()
            } else response.end("ok")
          })
        }).listen(port, "127.0.0.1")
        await once(server, "listening")
      }
      const close = async () => {
        const closing = server
        server = undefined
        if (closing === undefined) return
        const closed = once(closing, "close")
        closing.close()
        closing.closeAllConnections()
        await closed
      }
      await open()
      return {
        url: `http://127.0.0.1:${port}/webhooks`,
        /** The webhook ids of every request, in order of arrival. */
        ids,
        open: Effect.promise(open),
        close: Effect.promise(close),
        /** Cuts the connection of this many next requests, after they have arrived. */
        cutNext: (count: number) => {
          cuts = count
        }
      }
    }),
    ({ close }) => close
  )
