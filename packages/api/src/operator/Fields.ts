/** Fields and parameters that several resources of the operator interface share. */
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"

export const Id = Schema.String.annotate({ format: "uuid" })

export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const byId = { id: Schema.String.annotate({ format: "uuid" }) }

export const idFilter = Schema.optionalKey(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }))

export const textFilter = Schema.optionalKey(text(1, 255))
