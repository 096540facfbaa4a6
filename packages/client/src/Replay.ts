/**
 * Checks whether a replayed creation is the one that was sent. Used by both clients.
 *
 * Guarantees: amount, reference, Pix key type, Pix key and documents are compared after the domain's normalisation. A field
 * that the response lacks is not compared, nor a document that was not sent, because the service may fill it in.
 *
 * Why: the service answers a repeated key with the stored resource, whatever the body says (IDEM-4). Only the sender knows
 * what it meant to create.
 */

/** The names of the params that differ from the stored resource. */
export const replayDifferences = (params: unknown, stored: unknown): ReadonlyArray<string> => {
  const [sent, received] = [flatten(params), flatten(stored)]
  const normalize = (name: string, value: unknown): unknown => {
    if (typeof value !== "string" || name === "reference") return value
    // Same result as the domain's `parseDocument` and `parsePixKey` for valid values.
    const isDocument = name !== "pix_key" || /^(cpf|cnpj)$/.test(`${sent["pix_key_type"]}`)
    return isDocument ? value.replace(/[.\-/ ]/g, "").toUpperCase() : value.toLowerCase()
  }
  return COMPARED.filter((name) => {
    const ours = normalize(name, sent[name] ?? (name === "reference" ? null : undefined))
    const theirs = normalize(name, received[name])
    return ours !== undefined && theirs !== undefined && ours !== theirs
  })
}

/**
 * The error body that the acquirer's rejection had, if the replayed resource is a charge that was rejected at creation
 * (CHG-3, IDEM-6); else `undefined`.
 */
export const acquirerRejection = (stored: unknown): object | undefined => {
  const { failure_reason, id, object, pix, status } = Object(stored)
  // A charge that failed later has a BR code.
  return object === "charge" && status === "failed" && !Object(pix).br_code
    ? { code: "ACQUIRER_REJECTED", message: failure_reason, charge_id: id }
    : undefined
}

const COMPARED = ["amount", "reference", "customer.document", "pix_key_type", "pix_key", "recipient_document"]

/** Params and resources with the names of params. */
const flatten = (value: unknown): Readonly<Record<string, unknown>> => {
  const { customer, recipient, ...rest } = Object(value)
  return { "customer.document": customer?.document, recipient_document: recipient?.document, ...rest, ...recipient }
}
