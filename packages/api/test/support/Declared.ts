/** The operations that an API declares. */
import type { Scope } from "@pix-payments/domain/Scope"
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Schema from "effect/Schema"
import { Access } from "../../src/operator/Access.ts"
import { RequiredScopes } from "../../src/Security.ts"

export interface Declared {
  readonly verb: string
  readonly path: string
  readonly name: string
  readonly group: string
  readonly scopes: ReadonlyArray<Scope>
  readonly access: Access | undefined
  readonly headers: ReadonlyArray<string>
  readonly middleware: ReadonlySet<unknown>
}

export const declaredIn = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<Declared> => {
  const declared: Array<Declared> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, middleware }) => {
      declared.push({
        verb: endpoint.method,
        path: endpoint.path.replace(/:(\w+)/g, "{$1}").replace(/(?<=.)\/$/, ""),
        name: endpoint.identifier,
        group: group.identifier,
        scopes: Context.get(endpoint.annotations, RequiredScopes),
        access: Context.get(endpoint.annotations, Access),
        headers: headerNames(endpoint.headers),
        middleware
      })
    }
  })
  return declared
}

const headerNames = (headers: Schema.Constraint | undefined): ReadonlyArray<string> =>
  headers === undefined ? [] : Object.keys(Schema.toJsonSchemaDocument(headers).schema["properties"] ?? {})
