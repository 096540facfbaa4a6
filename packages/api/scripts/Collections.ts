/**
 * Collections of `/v1` for Postman and Bruno, from its OpenAPI document.
 *
 * Guarantees
 * - Each operation is one request with the document's example, which expects the first status of its answers.
 * - The requests run in their order: a creation keeps its id for those that name it.
 */
import { exampleOf } from "../src/PaymentsDocument.ts"

type Json = { readonly [key: string]: unknown }

interface Call {
  readonly name: string
  readonly method: string
  /** `{{baseUrl}}/v1/charges/{{charge_id}}` */
  readonly url: string
  readonly isKeyed: boolean
  readonly query: ReadonlyArray<string>
  readonly body: string | undefined
  readonly status: string
  readonly answer: string | undefined
  /** The variable that keeps the id of what is made. */
  readonly keeps: string | undefined
  readonly about: string
}

/** Each operation as a request. */
const callsOf = (document: Json): ReadonlyArray<Call> =>
  Object.entries(document["paths"] as Json).flatMap(([path, verbs]) =>
    Object.entries(verbs as Readonly<Record<string, Json>>).map(([verb, operation]): Call => {
      const variable = `${path.split("/")[2]?.replace(/s$/, "")}_id`
      const parameters = (operation["parameters"] ?? []) as ReadonlyArray<Json>
      const [status = "", answer] = Object.entries(operation["responses"] as Readonly<Record<string, Json>>)[0] ?? []
      return {
        name: String(operation["summary"]),
        method: verb.toUpperCase(),
        url: `{{baseUrl}}${path.replace("{id}", `{{${variable}}}`)}`,
        isKeyed: parameters.some(({ name }) => name === "Idempotency-Key"),
        query: parameters.filter((parameter) => parameter["in"] === "query").map(({ name }) => String(name)),
        body: exampleText(operation["requestBody"]),
        status,
        answer: exampleText(answer),
        keeps: status === "201" ? variable : undefined,
        about: String(operation["description"])
      }
    })
  )

const exampleText = (holder: unknown): string | undefined => {
  const example = exampleOf(holder)
  return example === undefined ? undefined : JSON.stringify(example, null, 2)
}

const titleOf = (document: Json): string => String((document["info"] as Json)["title"])

/** The collection in Postman's format 2.1. */
export const postmanCollection = (document: Json): string => {
  const collection = {
    info: {
      name: titleOf(document),
      description: "Set `baseUrl` and `apiKey`.",
      schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
    },
    auth: {
      type: "apikey",
      apikey: Object.entries({ key: "x-api-key", value: "{{apiKey}}", in: "header" }).map(([key, value]) => ({
        key,
        value,
        type: "string"
      }))
    },
    variable: [
      { key: "baseUrl", value: "http://127.0.0.1:3000" },
      { key: "apiKey", value: "" }
    ],
    item: callsOf(document).map(postmanItem)
  }
  return `${JSON.stringify(collection, null, 2)}\n`
}

const postmanItem = (call: Call) => {
  const [host = "", ...path] = call.url.split("/")
  const request = {
    method: call.method,
    header: [
      ...(call.isKeyed ? [{ key: "Idempotency-Key", value: "{{$guid}}" }] : []),
      ...(call.body === undefined ? [] : [{ key: "Content-Type", value: "application/json" }])
    ],
    url: {
      raw: call.url,
      host: [host],
      path,
      query: call.query.map((key) => ({ key, value: "", disabled: true }))
    },
    ...(call.body === undefined
      ? {}
      : { body: { mode: "raw", raw: call.body, options: { raw: { language: "json" } } } }),
    description: call.about
  }
  const kept = `pm.collectionVariables.set("${call.keeps}", pm.response.json().id)`
  const script = [
    `pm.test("status ${call.status}", () => pm.response.to.have.status(${call.status}))`,
    ...(call.keeps === undefined ? [] : [kept])
  ]
  return {
    name: call.name,
    request,
    event: [{ listen: "test", script: { type: "text/javascript", exec: script } }],
    response:
      call.answer === undefined
        ? []
        : [
            {
              name: call.status,
              originalRequest: request,
              code: Number(call.status),
              header: [{ key: "Content-Type", value: "application/json" }],
              body: call.answer
            }
          ]
  }
}

/** The files of a collection of Bruno, by name. */
export const brunoCollection = (document: Json): Readonly<Record<string, string>> => ({
  "bruno.json": `${JSON.stringify({ version: "1", name: titleOf(document), type: "collection" }, null, 2)}\n`,
  "collection.bru": blocks([
    block("auth", ["mode: apikey"]),
    block("auth:apikey", ["key: x-api-key", "value: {{apiKey}}", "placement: header"])
  ]),
  "environments/local.bru": blocks([block("vars", ["baseUrl: http://127.0.0.1:3000", "apiKey: "])]),
  ...Object.fromEntries(
    callsOf(document).map((call, index) => {
      const number = String(index + 1).padStart(2, "0")
      return [`${number} ${call.name.replaceAll(/[^\w -]/g, "")}.bru`, brunoRequest(call, index + 1)]
    })
  )
})

const brunoRequest = (call: Call, position: number): string =>
  blocks([
    block("meta", [`name: ${call.name}`, "type: http", `seq: ${position}`]),
    block(call.method.toLowerCase(), [
      `url: ${call.url}`,
      `body: ${call.body === undefined ? "none" : "json"}`,
      "auth: inherit"
    ]),
    ...(call.query.length === 0
      ? []
      : [
          block(
            "params:query",
            call.query.map((name) => `~${name}: `)
          )
        ]),
    ...(call.isKeyed ? [block("headers", ["Idempotency-Key: {{$guid}}"])] : []),
    ...(call.body === undefined ? [] : [block("body:json", call.body.split("\n"))]),
    ...(call.keeps === undefined ? [] : [block("vars:post-response", [`${call.keeps}: res.body.id`])]),
    block("assert", [`res.status: eq ${call.status}`]),
    block("docs", call.about.split("\n"))
  ])

const block = (name: string, lines: ReadonlyArray<string>): string =>
  [`${name} {`, ...lines.map((line) => (line === "" ? "" : `  ${line}`)), "}"].join("\n")

const blocks = (all: ReadonlyArray<string>): string => `${all.join("\n\n")}\n`
