/**
 * The operator token: `OPERATOR_TOKEN`, or one that the first start generates.
 *
 * Guarantees:
 * - A generated token is in a file that only its owner can read, and nowhere else. Every process of that `DATA_DIR` accepts it.
 * - The comparison takes constant time.
 *
 * Rules: OPR-2, OPR-3.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { join } from "node:path"
import { generatedSecret } from "../../../base/GeneratedSecret.ts"
import { Settings } from "../../../base/Settings.ts"

export class OperatorToken extends Context.Service<
  OperatorToken,
  {
    readonly accepts: (token: string) => boolean
    readonly token: Redacted.Redacted<string>
    /** The file of a generated token. */
    readonly file: string | undefined
  }
>()("@pix-payments/server/OperatorToken") {
  static readonly layer = Layer.effect(
    OperatorToken,
    Effect.gen(function* () {
      const { dataDir, operatorToken } = yield* Settings
      if (Option.isSome(operatorToken)) return accepting(operatorToken.value, undefined)
      const file = join(dataDir, FILE)
      const generated = yield* Effect.tryPromise({
        try: () => generatedSecret(dataDir, FILE, () => randomBytes(24).toString("base64url")),
        catch: () =>
          new OperatorTokenError({ message: `${file} cannot be read or created. Set OPERATOR_TOKEN or DATA_DIR.` })
      })
      return accepting(Redacted.make(generated), file)
    })
  )
}

export class OperatorTokenError extends Schema.TaggedError<OperatorTokenError>()("OperatorTokenError", {
  message: Schema.String
}) {}

const FILE = "operator.token"

const accepting = (token: Redacted.Redacted<string>, file: string | undefined) => {
  const hash = hashOf(Redacted.value(token))
  return OperatorToken.of({ token, file, accepts: (given) => timingSafeEqual(hashOf(given), hash) })
}

const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest()
