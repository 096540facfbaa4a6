/**
 * Whether a replayed creation is the one that was sent; what both clients check.
 *
 * Guarantees: amount, reference, key type, key and documents are compared as the domain normalises them. What the answer
 * does not show is not compared, nor is a document that was not sent: the service may come to fill it in.
 *
 * Why here: the service answers a repeated key with what is stored under it, whatever the body says (payments-api-v1.md
 * "Idempotency"). Only the sender knows what it meant.
 */

/** The params that differ from what came back, by name. */
export const differences = (sent: unknown, came: unknown): ReadonlyArray<string> => {
  const [params, stored] = [flat(sent), flat(came)]
  const normal = (name: string, value: unknown): unknown => {
    if (typeof value !== "string" || name === "reference") return value
    // As `parseDocument` and `parsePixKey` of the domain decode what passes them.
    const isDocument = name !== "pix_key" || /^(cpf|cnpj)$/.test(`${params["pix_key_type"]}`)
    return isDocument ? value.replace(/[.\-/ ]/g, "").toUpperCase() : value.toLowerCase()
  }
  return COMPARED.filter((name) => {
    const one = normal(name, params[name] ?? (name === "reference" ? null : undefined))
    const other = normal(name, stored[name])
    return one !== undefined && other !== undefined && one !== other
  })
}

/** The refusal of a charge that failed at its creation, as its first answer had it; `undefined` of any other. */
export const refusedCharge = (came: unknown): object | undefined => {
  const { failure_reason, id, object, pix, status } = Object(came)
  // One that failed later had been shown to a payer first.
  return object === "charge" && status === "failed" && !Object(pix).br_code
    ? { code: "ACQUIRER_REJECTED", message: failure_reason, charge_id: id }
    : undefined
}

const COMPARED = ["amount", "reference", "customer.document", "pix_key_type", "pix_key", "recipient_document"]

/** Params and resources under the names of params. */
const flat = (value: unknown): Readonly<Record<string, unknown>> => {
  const { customer, recipient, ...rest } = Object(value)
  return { "customer.document": customer?.document, recipient_document: recipient?.document, ...rest, ...recipient }
}
