import { type Access, customer, demand, type World } from "../World.ts"

export interface Form {
  readonly attempt: string
  readonly cents: number
  readonly name: string
  readonly email: string
  readonly document: string
}

export type Field = "cents" | "name" | "email" | "document"

export type Solution = (
  access: Access,
  form: Form
) => Promise<{ readonly chargeId: string } | { readonly fields: ReadonlyArray<Field> } | "try again" | "bank refused">

export const grade = async ({ access, payments, wire }: World, solution: Solution): Promise<void> => {
  const form = { attempt: "form-0001", cents: 1990, ...customer }
  const sent = () => wire.seen.filter(({ method }) => method === "POST").length
  const fieldsOf = (answer: Awaited<ReturnType<Solution>>) =>
    typeof answer === "object" && "fields" in answer ? answer.fields.toSorted().join() : ""

  const fields = fieldsOf(await solution(access, { ...form, name: "", email: "ana" }))
  demand(sent() <= 1, "repeats what cannot succeed")
  demand(fields !== "", "does not say which field is wrong")
  demand(fields.includes("email") && fields.includes("name"), "says one of two mistakes")
  demand(fields === "email,name", "blames a field that is right")
  demand(
    fieldsOf(await solution(access, { ...form, cents: 19 })) === "cents",
    "does not say that the amount is too low"
  )
  const document = await solution(access, { ...form, document: "529.982.247-26" })
  demand(fieldsOf(document) === "document", "does not say that the document is wrong")

  const refused = await solution(access, { ...form, attempt: "form-0002", email: "refuse@simulator.test" })
  demand(refused === "bank refused", "does not say that the bank refused")

  const forwarding = wire.answer
  wire.answer = async () => ({ status: 503, body: JSON.stringify({ error: { code: "SERVICE_UNAVAILABLE" } }) })
  const down = await solution(access, { ...form, attempt: "form-0003" }).catch(() => undefined)
  demand(down === "try again", "blames the customer for an outage")
  wire.answer = forwarding

  const [one, other] = [await solution(access, form), await solution(access, form)]
  demand(typeof one === "object" && "chargeId" in one, "refuses a form that is right")
  const created = (await payments.charges.list()).data.filter(({ status }) => status === "pending")
  demand(created.length === 1 && JSON.stringify(one) === JSON.stringify(other), "makes two charges of one form")
}
