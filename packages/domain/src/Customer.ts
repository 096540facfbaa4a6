/**
 * The payer of a charge: CHG-12.
 */
import * as Schema from "effect/Schema"
import { Document } from "./DocumentField.ts"
import { personal } from "./PersonalData.ts"
import { nullable } from "./Request.ts"
import { text, upTo } from "./Text.ts"

export const Email = Schema.String.check(
  upTo(254),
  Schema.makeFilter((value) => emailPattern.test(value), {
    expected: "a valid e-mail address",
    toJsonSchema: () => [{ format: "email" }, true]
  })
).annotate({ format: "email" })

/** A payer as a caller sends it. */
export const CustomerInput = Schema.Struct({
  name: text(1, 200),
  email: Email,
  document: Document.annotate({ description: "CPF or CNPJ, with or without mask." }),
  phone: nullable(text(0, 32))
})

/** A payer as the service shows it: the document without mask. */
export const Customer = Schema.Struct({
  name: Schema.String,
  email: Schema.String.annotate(personal("email")),
  document: Schema.String.annotate(personal("document"))
}).annotate({ identifier: "Customer" })
export type Customer = typeof Customer.Type

// The pattern of HTML's e-mail input, with a dot required in the domain.
const emailPattern =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$/
