/** The largest body of an operation, where it is not the listener's limit. The server reads it here. */
import * as Context from "effect/Context"

/** Bytes. */
export const BodyLimit = Context.Reference<number | undefined>("@pix-payments/api/BodyLimit", {
  defaultValue: () => undefined
})
