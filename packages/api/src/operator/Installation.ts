/** The settings of the installation, and its brakes: OPR-120. */
import { FourEyes, Timezone } from "@pix-payments/domain/Installation"
import { open } from "@pix-payments/domain/OpenEnum"
import { decoder } from "@pix-payments/domain/Request"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Name } from "./Accounts.ts"
import { waiting } from "./Approvals.ts"

/** The settings of the installation. */
export const Installation = Schema.Struct({
  object: Schema.Literal("installation"),
  name: Schema.String.annotate({ description: "How the dashboard calls this installation." }),
  payouts_paused: Schema.Boolean.annotateKey({
    description: "True while payouts of every account can be created and approved, but are not sent."
  }),
  charges_paused: Schema.Boolean.annotateKey({ description: "True while no charge of any account can be created." }),
  four_eyes: open(FourEyes).annotate({
    description: "Whether a second operator approves. `auto`: on for good once two active operators could approve."
  }),
  four_eyes_on: Schema.Boolean.annotateKey({ description: "Whether a second operator has to approve now." }),
  cell: Schema.NullOr(Schema.String).annotateKey({
    description: "The cell of several installations that this one is, as `CELL` names it. Null: there is one."
  }),
  outward: open(Schema.Literals(["on", "off", "unconfirmed"])).annotate({
    description:
      "`off` (`OUTWARD=off`), `unconfirmed` (the database is a copy): this server calls nobody, and answers callbacks and creations of `/v1` with 503."
  }),
  timezone: Schema.String.annotate({
    description: "The time zone of days in figures, statements and closes. It is fixed with the first close."
  }),
  system_identifier_changed: Schema.Boolean.annotateKey({
    description: "True where the database is in another cluster than the one that was confirmed last."
  })
}).annotate({ identifier: "Installation" })
export type Installation = typeof Installation.Type

/** The body of `PATCH /installation`. */
export const UpdateInstallation = Schema.Struct({
  name: Schema.optionalKey(Name),
  payouts_paused: Schema.optionalKey(Schema.Boolean),
  charges_paused: Schema.optionalKey(Schema.Boolean),
  four_eyes: Schema.optionalKey(FourEyes),
  timezone: Schema.optionalKey(Timezone)
}).annotate({ identifier: "UpdateInstallation" })
export type UpdateInstallation = typeof UpdateInstallation.Type

export const decodeUpdateInstallation = decoder(UpdateInstallation)

export class InstallationGroup extends HttpApiGroup.make("installation")
  .add(
    HttpApiEndpoint.get("retrieve", "/", { success: Installation })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "Get the settings of the installation"),
    HttpApiEndpoint.patch("update", "/", {
      payload: UpdateInstallation,
      success: [Installation, waiting],
      error: [ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["admin"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Change the settings of the installation, stop or release payouts and charges")
      .annotate(
        OpenApi.Description,
        "A brake takes effect with the next statement of every server process. What the acquirer already has is followed to its end."
      ),
    HttpApiEndpoint.post("confirmOutward", "/confirm-outward", {
      success: [Installation, waiting],
      error: InvalidState
    })
      .annotate(Access, { roles: ["admin"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Confirm that a copied database calls others")
      .annotate(
        OpenApi.Description,
        "After a copy or restore into another database cluster. Every server process begins to order, submit, sweep and deliver within seconds."
      )
  )
  .prefix("/operator/v1/installation")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
