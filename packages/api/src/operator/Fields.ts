/** Fields and parameters that several resources of the operator interface share. */
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"

export const Id = Schema.String.annotate({ format: "uuid" })

export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const byId = { id: Schema.String.annotate({ format: "uuid" }) }

/** The query of a resource with personal data. */
export const revealQuery = {
  reveal: Schema.optionalKey(Schema.Literals(["true", "false"])).annotateKey({
    description:
      "`true` shows personal data that the role sees masked, and is recorded in the audit log. Not for viewers."
  })
}

export const idFilter = Schema.optionalKey(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }))

export const textFilter = Schema.optionalKey(text(1, 255))

/** Marks the body of an operation as optional. */
export const optionalBody = (operation: Record<string, unknown>) => ({
  ...operation,
  requestBody: { ...Object(operation["requestBody"]), required: false }
})
