/**
 * Where the listeners of this process can be reached, once they can.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export class ListenAddresses extends Context.Service<ListenAddresses, { public: string; operator: string }>()(
  "@pix-payments/server/ListenAddresses"
) {
  static readonly layer = Layer.sync(ListenAddresses, () => ({ public: "", operator: "" }))
}
