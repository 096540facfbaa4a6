/**
 * The Effect client of `/v1`, derived from the declaration: `client.charges.create(...)`.
 *
 * Guarantees: routes, types and errors are those of `PaymentsApi` and of nothing else. Unknown fields, enum
 * values and events of later releases decode as generic cases.
 */
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { Authentication } from "@pix-payments/api/Security"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

export interface Options {
  /** The service's address, what stands before `/v1`: `https://pix.example.com`. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted<string>
}

/** The operations of `/v1`, by group and name. Lengths are code points, amounts cents, instants ISO 8601 in UTC. */
export class PaymentsClient extends Context.Service<PaymentsClient, HttpApiClient.ForApi<typeof PaymentsApi>>()(
  "@pix-payments/client/PaymentsClient"
) {
  static readonly layer = ({ apiKey, baseUrl }: Options): Layer.Layer<PaymentsClient> =>
    Layer.effect(PaymentsClient, HttpApiClient.make(PaymentsApi, { baseUrl })).pipe(
      Layer.provide([
        HttpApiMiddleware.layerClient(Authentication, ({ next, request }) =>
          next(HttpClientRequest.setHeader(request, "x-api-key", Redacted.value(apiKey)))
        ),
        FetchHttpClient.layer
      ])
    )

  /** From `PAYMENTS_URL` and `PAYMENTS_API_KEY`. */
  static readonly layerConfig: Layer.Layer<PaymentsClient, Config.ConfigError> = Layer.unwrap(
    Effect.map(
      Config.all({ baseUrl: Config.String("PAYMENTS_URL"), apiKey: Config.Redacted("PAYMENTS_API_KEY") }),
      PaymentsClient.layer
    )
  )
}
