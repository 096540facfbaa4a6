/**
 * The vectors of `vectors.json`, with types: documents, BR codes and signatures that every implementation of them has
 * to agree on. Tests of other packages import this module.
 */
import * as Schema from "effect/Schema"
import { DocumentType } from "../src/DocumentField.ts"

const Fields = Schema.Struct({
  payloadUrl: Schema.optionalKey(Schema.String),
  pixKey: Schema.optionalKey(Schema.String),
  recurrenceUrl: Schema.optionalKey(Schema.String),
  amount: Schema.optionalKey(Schema.Int),
  merchantName: Schema.String,
  merchantCity: Schema.String,
  postalCode: Schema.optionalKey(Schema.String),
  txid: Schema.optionalKey(Schema.String),
  singleUse: Schema.Boolean
})

const Signed = Schema.Struct({
  name: Schema.String,
  secret: Schema.String,
  body: Schema.String,
  header: Schema.String
})

const Vectors = Schema.Struct({
  documents: Schema.Struct({
    valid: Schema.Array(
      Schema.Struct({ input: Schema.String, type: DocumentType, value: Schema.String, masked: Schema.String })
    ),
    invalid: Schema.Array(Schema.Struct({ input: Schema.String, why: Schema.String }))
  }),
  brCodes: Schema.Struct({
    valid: Schema.Array(Schema.Struct({ source: Schema.String, text: Schema.String, fields: Fields })),
    broken: Schema.Array(
      Schema.Struct({ source: Schema.String, text: Schema.String, reason: Schema.Literals(["structure", "checksum"]) })
    )
  }),
  signatures: Schema.Struct({
    /** Headers as they are made. */
    valid: Schema.Array(Signed),
    /** Valid headers that the service does not produce. */
    accepted: Schema.Array(Signed),
    refused: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        secrets: Schema.Array(Schema.String),
        body: Schema.String,
        header: Schema.NullOr(Schema.String),
        reason: Schema.String
      })
    )
  }),
  /** Signatures of Standard Webhooks, made by other code than ours. */
  attempts: Schema.Struct({
    valid: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        secret: Schema.String,
        id: Schema.String,
        timestamp: Schema.String,
        body: Schema.String,
        signature: Schema.String
      })
    )
  })
})

// The cast keeps the compiler from resolving the file: a composite project takes JSON only from its own list.
const file: unknown = await import("./vectors.json" as string, { with: { type: "json" } })

export const vectors = Schema.decodeUnknownSync(Schema.Struct({ default: Vectors }))(file, {
  onExcessProperty: "ignore"
}).default
