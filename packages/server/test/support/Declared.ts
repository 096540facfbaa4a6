/**
 * Every route of both listeners, read from the declarations, so that tests include new ones.
 */
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { RequiredScopes } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"

export interface DeclaredRoute {
  readonly method: string
  /** `/v1/charges/{id}` */
  readonly template: string
  readonly takesId: boolean
  readonly takesBody: boolean
  readonly scopes: ReadonlyArray<string>
  readonly endpoint: HttpApiEndpoint.Top
}

const routesOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<DeclaredRoute> => {
  const routes: Array<DeclaredRoute> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) =>
      routes.push({
        method: endpoint.method,
        template: endpoint.path.replace(/\/$/, "").replace(/:([A-Za-z_]+)/g, "{$1}"),
        takesId: endpoint.path.includes(":id"),
        takesBody: endpoint.payload.size > 0,
        scopes: Context.get(endpoint.annotations, RequiredScopes),
        endpoint
      })
  })
  return routes
}

export const paymentsRoutes = routesOf(PaymentsApi)
export const operatorRoutes = routesOf(OperatorApi)

/** A UUID that names nothing. */
export const unknownId = "01a1fd37-d21e-717f-8451-d23f26a8797f"

export const pathWith = ({ template }: DeclaredRoute, id: string): string => template.replace("{id}", id)

/** The resource in the path of a route: `charges`, `accounts` and so on. */
export const kindOf = ({ template }: DeclaredRoute): string => /\/([a-z-]+)\/\{id\}/.exec(template)?.[1] ?? ""
