import { ApiError, isCode, Payments, UsageError } from "@pix-payments/client"
import type { Field, Form, Solution } from "../graders/read-reasons.ts"

const create = ({ apiKey, url }: Parameters<Solution>[0], form: Form, idempotencyKey = form.attempt) => {
  const { cents, document, email, name } = form
  const payments = new Payments({ baseUrl: url, apiKey, maxRetries: 0 })
  return payments.charges.create({ amount: cents, customer: { name, email, document } }, { idempotencyKey })
}

/** The service's names of the form's fields. */
const names: Readonly<Record<string, Field>> = {
  amount: "cents",
  "customer.name": "name",
  "customer.email": "email",
  "customer.document": "document"
}

const every = Object.values(names)

/** The client says the same of what it does not send: its message begins with the field. */
const fieldsOf = (error: unknown): ReadonlyArray<Field> => {
  if (isCode(error, "AMOUNT_BELOW_MINIMUM")) return ["cents"]
  const named = isCode(error, "VALIDATION_ERROR")
    ? (error.details ?? [])
    : error instanceof UsageError
      ? Object.keys(names).filter((name) => error.message.includes(`${name} must`))
      : []
  return named.flatMap((name) => names[name] ?? [])
}

/** What each failure means; `undefined` for the default. */
const placeWith =
  (meaning: (error: unknown) => Awaited<ReturnType<Solution>> | undefined): Solution =>
  async (access, form) => {
    try {
      return { chargeId: (await create(access, form)).id }
    } catch (error) {
      const meant = meaning(error)
      if (meant !== undefined) return meant
      if (isCode(error, "ACQUIRER_REJECTED")) return "bank refused"
      const fields = fieldsOf(error)
      return fields.length > 0 ? { fields } : "try again"
    }
  }

const isInvalid = (error: unknown): boolean => fieldsOf(error).length > 0

export const right: Solution = placeWith(() => undefined)

export const wrong: Readonly<Record<string, Solution>> = {
  // Every failure is tried three times.
  "repeats what cannot succeed": async (access, form) => {
    for (let left = 2; left > 0; left--) {
      const answer = await right(access, form)
      if (typeof answer === "object" && "chargeId" in answer) return answer
    }
    return right(access, form)
  },

  // Something is wrong.
  "does not say which field is wrong": placeWith((error) => (isInvalid(error) ? "try again" : undefined)),

  // The first reason of several.
  "says one of two mistakes": placeWith((error) =>
    isInvalid(error) ? { fields: fieldsOf(error).slice(0, 1) } : undefined
  ),

  // Check all that you have typed.
  "blames a field that is right": placeWith((error) => (isInvalid(error) ? { fields: every } : undefined)),

  // Every failure is the customer's.
  "blames the customer for an outage": placeWith((error) =>
    error instanceof ApiError && error.status === 503 ? { fields: every } : undefined
  ),

  // A new key for each click.
  "makes two charges of one form": async (access, form) => {
    const checked = await right(access, form)
    if (typeof checked !== "object" || !("chargeId" in checked)) return checked
    return { chargeId: (await create(access, form, crypto.randomUUID())).id }
  }
}
