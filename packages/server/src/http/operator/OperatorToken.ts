/**
 * The operator's token: `OPERATOR_TOKEN`, or one made on the first start.
 *
 * Guarantees: a generated token is told once, to whoever made the first start; the database keeps its SHA-256,
 * so that every process accepts it; the comparison takes the same time whatever is sent.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { Settings } from "../../Settings.ts"

export class OperatorToken extends Context.Service<
  OperatorToken,
  {
    readonly accepts: (token: string) => boolean
    /** The token itself, where this start knows it: it is set, or was made just now. */
    readonly known: Option.Option<Redacted.Redacted<string>>
  }
>()("@pix-payments/server/OperatorToken") {
  static readonly layer = Layer.effect(
    OperatorToken,
    Effect.gen(function* () {
      const { operatorToken } = yield* Settings
      if (Option.isSome(operatorToken)) return accepting(hashOf(Redacted.value(operatorToken.value)), operatorToken)
      const sql = yield* SqlClient
      const made = randomBytes(24).toString("base64url")
      const inserted = yield* sql`INSERT INTO installation (name, value)
        VALUES ('operator_token', ${hashOf(made).toString("hex")}) ON CONFLICT DO NOTHING RETURNING name`
      if (inserted.length > 0) return accepting(hashOf(made), Option.some(Redacted.make(made)))
      const [row] = yield* sql<{ value: string }>`SELECT value FROM installation WHERE name = 'operator_token'`
      return accepting(Buffer.from(row?.value ?? "", "hex"), Option.none())
    })
  )
}

const accepting = (hash: Buffer, known: Option.Option<Redacted.Redacted<string>>) =>
  OperatorToken.of({
    known,
    accepts: (token) => hash.length === 32 && timingSafeEqual(hashOf(token), hash)
  })

const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest()
