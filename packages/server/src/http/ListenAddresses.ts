/**
 * Where the listeners of this process can be reached, once they can.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export class Listening extends Context.Service<Listening, { public: string; operator: string }>()(
  "@pix-payments/server/Listening"
) {
  static readonly layer = Layer.sync(Listening, () => ({ public: "", operator: "" }))
}
