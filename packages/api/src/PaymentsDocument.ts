/**
 * The OpenAPI document of `/v1` as integrators get it: with an example of every body, answer, error and event.
 *
 * Guarantees
 * - Each example was sent or answered by the service: `examples.json` is written, and compared, by a test of the server.
 * - An operation has an example of every code that it lists. An example of an answer is of the resource that its request makes.
 */
import { simulatedCharges, simulatedPayouts } from "@pix-payments/domain/SimulatedBank"
import recorded from "../examples.json" with { type: "json" }
import { openApiDocument, webhookBodies } from "./OpenApiDocument.ts"
import { PaymentsApi } from "./PaymentsApi.ts"

type Json = { [key: string]: unknown }

/** What the service was sent, what it answered, and what it delivered. */
export interface Examples {
  /** By operation. */
  readonly requests: Readonly<Record<string, unknown>>
  readonly answers: Readonly<Record<string, unknown>>
  /** By operation and code. */
  readonly errors: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** By code: the errors that are the same for every operation. */
  readonly commonErrors: Readonly<Record<string, unknown>>
  /** By resource. */
  readonly events: Readonly<Record<string, unknown>>
}

/** The document of `/v1`. */
export const paymentsDocument = (examples: Examples = recorded): Json => {
  const document = openApiDocument(PaymentsApi, webhookBodies)
  const info = objectAt(document, "info")
  info["description"] = [info["description"], aboutSimulatedBank].join("\n\n")
  const components = objectAt(document, "components")
  components["examples"] = Object.fromEntries(
    Object.entries(examples.commonErrors).map(([code, value]) => [code, { value }])
  )
  for (const operation of operationsOf(document["paths"])) {
    const id = String(operation["operationId"])
    show(operation["requestBody"], examples.requests[id])
    for (const parameter of Object.values(objectAt(operation, "parameters")) as ReadonlyArray<Json>)
      if (parameter["name"] === "Idempotency-Key") parameter["examples"] = { [EXAMPLE]: { value: "order-1001" } }
    for (const [status, response] of Object.entries(objectAt(operation, "responses"))) {
      if (Number(status) < 400) show(response, examples.answers[id])
      else listErrors(response, objectAt(components, "schemas"), examples, id)
    }
  }
  for (const response of Object.values(objectAt(components, "responses"))) {
    listErrors(response, objectAt(components, "schemas"), examples, "")
  }
  for (const [resource, path] of Object.entries(objectAt(document, "webhooks"))) {
    show(objectAt(path as Json, "post")["requestBody"], examples.events[resource])
  }
  return document
}

/** The operations of a document's paths. */
export const operationsOf = (paths: unknown): ReadonlyArray<Json> =>
  Object.values(paths as Json).flatMap((verbs) => Object.values(verbs as Json) as ReadonlyArray<Json>)

const mediaOf = (holder: unknown): Json => objectAt(objectAt(holder, "content"), "application/json")

/** In `examples`: pages show what is in `example` of a request only. */
const show = (holder: unknown, value: unknown): void => {
  if (value !== undefined) mediaOf(holder)["examples"] = { [EXAMPLE]: { value } }
}

const EXAMPLE = "example"

/** The example of a request, an answer or an event; `undefined` of an error, which has one for each code. */
export const exampleOf = (holder: unknown): unknown => objectAt(objectAt(mediaOf(holder), "examples"), EXAMPLE)["value"]

const listErrors = (response: unknown, schemas: Json, examples: Examples, id: string): void => {
  const media = mediaOf(response)
  const shown: Json = {}
  for (const code of codesOf(media, schemas)) {
    const value = examples.errors[id]?.[code]
    if (value !== undefined) shown[code] = { value }
    else if (code in examples.commonErrors) shown[code] = { $ref: `#/components/examples/${code}` }
  }
  if (Object.keys(shown).length > 0) media["examples"] = shown
}

/** The codes of a response's schema: of one error, or of one of several. */
export const codesOf = (media: Json, schemas: Json): ReadonlyArray<string> => {
  const schema = objectAt(media, "schema")
  const options = Array.isArray(schema["oneOf"]) ? (schema["oneOf"] as ReadonlyArray<Json>) : [schema]
  return options.flatMap(({ $ref }) => {
    const { properties } = objectAt(schemas, String($ref).replace(/.*\//, ""))
    const codes = objectAt(objectAt(properties, "code"), "enum")
    return Object.values(codes).map(String)
  })
}

const aboutSimulatedBank = [
  "## Simulated bank",
  "With the simulated bank, values of a request choose what happens. Any other charge waits for its payment (`pix pay CHARGE`, or the dashboard); any other payout completes.",
  [
    ["where", "value", "what happens"],
    ["---", "---", "---"],
    ...Object.values(simulatedCharges).map(({ effect, email }) => [
      "`customer.email` of a charge",
      `\`${email}\``,
      effect
    ]),
    ...Object.values(simulatedPayouts).map(({ effect, pixKey }) => ["`pix_key` of a payout", `\`${pixKey}\``, effect])
  ]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n")
].join("\n\n")

const objectAt = (holder: unknown, name: string): Json => {
  const value = (holder as Json | undefined)?.[name]
  return typeof value === "object" && value !== null ? (value as Json) : {}
}
