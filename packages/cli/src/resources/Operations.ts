/**
 * The operations of `OperatorApi`, as commands need them: names, parameters and fields. CLI-16.
 *
 * Guarantee: a new operation of the declaration becomes a command without a change here.
 */
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { type Field, fieldsOf } from "./Fields.ts"

export interface Operation {
  /** As in the declaration: `chargeActions.refund`. */
  readonly id: string
  /** The words of its command: `charges`, `refund`. */
  readonly resource: string
  readonly name: string
  readonly method: string
  /** The template: `/operator/v1/charges/:id/refund`. */
  readonly path: string
  /** What the id in the path is the id of. */
  readonly idOf: string | undefined
  readonly summary: string
  readonly description: string | undefined
  readonly query: ReadonlyArray<Field>
  /** Undefined if the operation has no body. */
  readonly body: ReadonlyArray<Field> | undefined
  /** A list in pages. */
  readonly isPaged: boolean
  /** Takes an idempotency key. */
  readonly isKeyed: boolean
}

/**
 * Operations that are no commands: signing in is `pix login`, events are `pix listen`, and files and closes have commands by
 * themselves.
 */
const omitted =
  /^(?:signIn\.|session\.(?:end|code)$|events\.|bankStatements\.import$|\w+Books\.(?:statement|closes)$|closes\.)/

/** Where the group's name is not the resource's. */
const resourceNames: Readonly<Record<string, string>> = {
  accountBooks: "accounts",
  bankStatements: "statements",
  checkoutCharges: "charges",
  connectionBooks: "connections",
  operatorTokens: "tokens",
  requests: "logs",
  webhookEndpoints: "webhooks"
}

const operationNames: Readonly<Record<string, string>> = { retrieve: "get" }

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** `deliveries` to `delivery`. */
const singular = (name: string): string => name.replace(/ies$/, "y").replace(/s$/, "")

/** The resource and the name of a command: those of a simulated report come from its path. */
const commandOf = (group: string, endpoint: string, path: string): readonly [string, string] => {
  const [, kind = "", action = ""] = /\/simulator\/(\w+)\/:id\/([\w-]+)$/.exec(path) ?? []
  if (kind !== "") return ["simulator", `${singular(kind)}-${action}`]
  const plain = group.replace(/Actions$/, "")
  const plural = group.endsWith("Actions") && !plain.endsWith("s") ? plain.replace(/y$/, "ie") + "s" : plain
  return [resourceNames[plural] ?? kebab(plural), operationNames[endpoint] ?? kebab(endpoint)]
}

const annotationOf = (annotations: Context.Context<never>, key: Context.Key<never, string>): string | undefined =>
  Option.getOrUndefined(Context.getOption(annotations as Context.Context<unknown>, key as Context.Key<unknown, string>))

const declared = (): ReadonlyArray<Operation> => {
  const found: Array<Operation> = []
  HttpApi.reflect(OperatorApi as unknown as HttpApi.Top, {
    onGroup() {},
    onEndpoint({ endpoint, group }) {
      const id = `${group.identifier}.${endpoint.identifier}`
      if (omitted.test(id)) return
      const [resource, name] = commandOf(group.identifier, endpoint.identifier, endpoint.path)
      const [payload] = [...endpoint.payload.values()].flatMap(({ schemas }) => schemas)
      const query = endpoint.query === undefined ? [] : fieldsOf(group.identifier, endpoint.query as Schema.Top)
      const [, owner] = /([\w-]+)\/:id/.exec(endpoint.path) ?? []
      found.push({
        id,
        resource,
        name,
        method: endpoint.method,
        path: endpoint.path,
        idOf: owner === undefined ? undefined : singular(owner),
        summary: annotationOf(endpoint.annotations, OpenApi.Summary as never) ?? id,
        description: annotationOf(endpoint.annotations, OpenApi.Description as never),
        query,
        body: payload === undefined ? undefined : fieldsOf(group.identifier, payload),
        isPaged: query.some(({ name }) => name === "starting_after"),
        isKeyed:
          endpoint.headers !== undefined &&
          fieldsOf(group.identifier, endpoint.headers as Schema.Top).some(({ name }) => name === "idempotency-key")
      })
    }
  })
  return found
}

/** Every operation that is a command. */
export const operations: ReadonlyArray<Operation> = declared()

/** What a resource is, where the declaration does not say it for all of its operations. */
const descriptions: Readonly<Record<string, string>> = {
  audit: "What operators changed.",
  installation: "The settings of the installation.",
  ledger: "Every movement of money, and its check.",
  logs: "The request log of `/v1`.",
  simulator: "Reports of the simulated acquirer, as a real one would make them.",
  stats: "Counts, volume and the backlog of deliveries.",
  webhooks: "Webhook endpoints of applications."
}

/** What a resource is. */
export const descriptionOf = (resource: string): string => {
  let text = descriptions[resource]
  if (text !== undefined) return text
  HttpApi.reflect(OperatorApi as unknown as HttpApi.Top, {
    onGroup({ group }) {
      const [first] = Object.values(group.endpoints)
      if (first === undefined || commandOf(group.identifier, first.identifier, first.path)[0] !== resource) return
      text ??= annotationOf(group.annotations, OpenApi.Description as never)
    },
    onEndpoint() {}
  })
  return text ?? operations.find((operation) => operation.resource === resource)?.summary ?? resource
}
