/** The `Idempotency-Key` of an operator's creation, which may go without one (IDEM-10). */
import { IdempotencyKey } from "@pix-payments/domain/IdempotencyKey"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"

/** An empty header counts as missing (IDEM-1). */
export const optionalIdempotencyKey = {
  "idempotency-key": Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^(?:[!-~]{8,255})?$/u, { expected: "8 to 255 visible ASCII characters" })
    ).annotate({ description: "8 to 255 visible ASCII characters, unique per operation." })
  ).pipe(
    Schema.decodeTo(Schema.optionalKey(IdempotencyKey), {
      decode: SchemaGetter.transformOptional<string, string>((key) => Option.filter(key, (value) => value !== "")),
      encode: SchemaGetter.passthrough()
    })
  )
}
