/** Connections to providers: OPR-60 to OPR-67. */
import {
  ConnectionKind,
  ConnectionProfile,
  ConnectionState,
  ExceptionRule
} from "@pix-payments/domain/AcquirerConnection"
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"

import { normalPixKey } from "@pix-payments/domain/PixKey"
import { decoder, nullable } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import { personal } from "@pix-payments/domain/PersonalData"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Name } from "./Accounts.ts"
import { waiting } from "./Approvals.ts"
import { byId, Id, StatementAccount, StatementAccountInput } from "./Fields.ts"

const PixKey = text(1, 77).check(
  Schema.makeFilter((key: string) => normalPixKey(key) !== undefined, { expected: "a Pix key" })
)

const HttpsUrl = text(1, 500).check(
  Schema.makeFilter((url: string) => URL.canParse(url) && new URL(url).protocol === "https:", {
    expected: "an https URL"
  })
)

/** Where the provider is, instead of where its profile says. */
const ConnectionSettings = Schema.Struct({
  base_url: nullable(HttpsUrl),
  token_url: nullable(HttpsUrl)
}).annotate({ identifier: "ConnectionSettings" })

const Pem = text(1, 32_768)

/** The credentials at the provider. No answer contains them. */
const ConnectionCredentials = Schema.Struct({
  client_id: Schema.optionalKey(text(1, 255)),
  client_secret: Schema.optionalKey(text(1, 1024)),
  certificate: Schema.optionalKey(Pem).annotateKey({ description: "PEM, with the certificates of its issuers." }),
  private_key: Schema.optionalKey(Pem).annotateKey({ description: "PEM, not encrypted." }),
  pkcs12: Schema.optionalKey(Pem).annotateKey({ description: "Base64, instead of certificate and private key." }),
  passphrase: Schema.optionalKey(text(0, 255)).annotateKey({ description: "Of the PKCS#12 file." }),
  ca: Schema.optionalKey(Pem).annotateKey({
    description: "PEM of the authorities to trust instead of the system's."
  }),
  developer_key: Schema.optionalKey(text(1, 255)).annotateKey({ description: "Banco do Brasil's `gw-dev-app-key`." }),
  current_account: Schema.optionalKey(text(1, 32)).annotateKey({ description: "Inter's `x-conta-corrente`." })
}).annotate({ identifier: "ConnectionCredentials" })

/** A connection to a provider. */
export const Connection = Schema.Struct({
  id: Id,
  object: Schema.Literal("connection"),
  name: Schema.String,
  kind: ConnectionKind,
  profile: Schema.NullOr(Schema.String).annotateKey({ description: "The provider; null for the simulator." }),
  settings: Schema.Struct({ base_url: Schema.NullOr(Schema.String), token_url: Schema.NullOr(Schema.String) }),
  pix_key: Schema.NullOr(Schema.String.annotate(personal("pix_key"))).annotateKey({
    description: "The receiving key."
  }),
  statement_account: Schema.NullOr(StatementAccount).annotateKey({
    description: "The bank account that its statements in OFX are of; null: `000` and the connection's id."
  }),
  exception_rule: ExceptionRule,
  paused: Schema.Boolean.annotateKey({ description: "While true, nothing is sent to the provider." }),
  payouts_paused: Schema.Boolean.annotateKey({
    description: "While true, payouts are accepted and approved, and not sent. What was sent is followed to its end."
  }),
  charges_paused: Schema.Boolean.annotateKey({
    description: "While true, accounts of this connection create no charge: `ACCOUNT_INACTIVE`."
  }),
  is_default: Schema.Boolean.annotateKey({ description: "Whether accounts without a connection use this one." }),
  pays_out: Schema.Boolean.annotateKey({ description: "Whether its provider sends payouts." }),
  state: ConnectionState,
  problem: Schema.NullOr(Schema.String).annotateKey({ description: "Why it cannot be opened." }),
  certificate_expires_at: Schema.NullOr(Instant),
  webhook_registered: Schema.Boolean,
  foreign_entries: Schema.Int.annotateKey({
    description: "Entries of other Pix keys of the client in the last sweep that met one. They are left alone."
  }),
  foreign_at: Schema.NullOr(Instant).annotateKey({ description: "When that was." }),
  unreadable_entries: Schema.Int.annotateKey({
    description: "Entries of its lists that could not be read: open exceptions of kind `unreadable`."
  }),
  unreadable_since: Schema.NullOr(Instant).annotateKey({ description: "When the oldest of them arrived." }),
  checked_at: Schema.NullOr(Instant),
  created_at: Instant
}).annotate({ identifier: "Connection" })
export type Connection = typeof Connection.Type

/** The body of `POST /connections`. */
export const CreateConnection = Schema.Struct({
  name: Name,
  kind: Schema.Literal("api-pix"),
  profile: ConnectionProfile,
  settings: nullable(ConnectionSettings),
  credentials: ConnectionCredentials,
  pix_key: PixKey,
  exception_rule: nullable(ExceptionRule),
  paused: nullable(Schema.Boolean),
  payouts_paused: nullable(Schema.Boolean),
  charges_paused: nullable(Schema.Boolean),
  is_default: nullable(Schema.Boolean)
}).annotate({ identifier: "CreateConnection" })

/** The body of `PATCH /connections/{id}`. */
export const UpdateConnection = Schema.Struct({
  name: Schema.optionalKey(Name),
  settings: Schema.optionalKey(ConnectionSettings),
  credentials: Schema.optionalKey(ConnectionCredentials),
  pix_key: Schema.optionalKey(PixKey),
  statement_account: Schema.optionalKey(Schema.NullOr(StatementAccountInput)),
  exception_rule: Schema.optionalKey(ExceptionRule),
  paused: Schema.optionalKey(Schema.Boolean),
  payouts_paused: Schema.optionalKey(Schema.Boolean),
  charges_paused: Schema.optionalKey(Schema.Boolean),
  is_default: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateConnection" })

/** The body of `POST /connections/{id}/register-webhook`. */
export const RegisterWebhook = Schema.Struct({
  url: HttpsUrl.annotateKey({ description: "Where the provider reaches the listener of webhooks, without a path." }),
  mtls: nullable(Schema.Boolean).annotateKey({
    description:
      "False where nothing checks the provider's certificate: its callbacks are then known by the secret and its addresses, and Efí is asked not to demand mutual TLS. Otherwise a callback without a certificate is refused."
  })
}).annotate({ identifier: "RegisterWebhook" })

/** What a check tried, and what it found. */
export const ConnectionCheck = Schema.Struct({
  object: Schema.Literal("connection_check"),
  connection_id: Id,
  ok: Schema.Boolean,
  steps: Schema.Array(
    Schema.Struct({
      step: Schema.Literals(["certificate", "token", "scopes", "clock", "pix_key", "webhook", "answers"]),
      ok: Schema.Boolean,
      detail: Schema.String.annotateKey({ description: "What was found, in plain words." })
    })
  )
}).annotate({ identifier: "ConnectionCheck" })
export type ConnectionCheck = typeof ConnectionCheck.Type

export const decodeCreateConnection = decoder(CreateConnection)

export const decodeUpdateConnection = decoder(UpdateConnection)

export const decodeRegisterWebhook = decoder(RegisterWebhook)

const admins = { roles: ["admin"], accounts: "installation" } as const

export class ConnectionsGroup extends HttpApiGroup.make("connections")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery, success: listOf(Connection), error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "List connections to providers, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: Connection, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Get a connection with its state")
  )
  .prefix("/operator/v1/connections")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Connections to providers, through which charges and payouts go.") {}

export class ConnectionActionsGroup extends HttpApiGroup.make("connectionActions")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateConnection,
      success: [Connection.pipe(HttpApiSchema.status(201)), waiting],
      error: [InvalidState, ValidationError]
    })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Connect to a provider")
      .annotate(
        OpenApi.Description,
        "Certificate and key are checked against each other; nothing is sent to the provider. Credentials are encrypted and never returned. With four eyes it is 202, and another operator approves."
      ),
    HttpApiEndpoint.patch("update", "/:id", {
      params: byId,
      payload: UpdateConnection,
      success: [Connection, waiting],
      error: [NotFound, InvalidState, ValidationError]
    })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Change, pause or resume a connection, or rotate its credentials")
      .annotate(
        OpenApi.Description,
        "Credentials that are left out stay. A new certificate replaces the old one. Calls in flight end on the old credentials. With four eyes any change but that of `paused`, `payouts_paused` and `charges_paused` is 202."
      ),
    HttpApiEndpoint.post("check", "/:id/check", {
      params: byId,
      success: ConnectionCheck,
      error: [NotFound, InvalidState]
    })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Try a connection")
      .annotate(
        OpenApi.Description,
        "Checks the certificate, gets a token, compares scopes and clocks, emits a charge of one cent and removes it, and looks for the webhook. A step that depends on one that failed is left out."
      ),
    HttpApiEndpoint.post("registerWebhook", "/:id/register-webhook", {
      params: byId,
      payload: RegisterWebhook,
      success: [ConnectionCheck, waiting],
      error: [NotFound, InvalidState, ValidationError]
    })
      .annotate(Access, admins)
      .annotate(OpenApi.Summary, "Register the connection's webhook at the provider")
  )
  .prefix("/operator/v1/connections")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
