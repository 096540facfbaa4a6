/**
 * The URLs of the listeners of this process, empty until they listen.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export class ListenAddresses extends Context.Service<
  ListenAddresses,
  { public: string; operator: string; acquirer: string }
>()("@pix-payments/server/ListenAddresses") {
  static readonly layer = Layer.sync(ListenAddresses, () => ({ public: "", operator: "", acquirer: "" }))
}
