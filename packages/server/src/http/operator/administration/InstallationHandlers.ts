/** The operator routes of the installation's settings. */
import { decodeUpdateInstallation, type Installation as Shown } from "@pix-payments/api/operator/Installation"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ApprovalRequest } from "../../../operators/approvals/ApprovalStore.ts"
import { Outward } from "../../../base/Outward.ts"
import { Settings } from "../../../base/Settings.ts"
import { AuditLog, changeOf } from "../../../operations/AuditLog.ts"
import { Installation, type InstallationChanges, type InstallationSettings } from "../../../operators/Installation.ts"
import { answer } from "../../pipeline/Answer.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { InvalidStateError } from "../../../base/Errors.ts"
import { invalidState, refusedAs } from "../../pipeline/WireTranslation.ts"
import { fourEyes } from "../approvals/FourEyes.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

export const installationHandlers = Effect.gen(function* () {
  const installation = yield* Installation
  const audit = yield* AuditLog
  const outward = yield* Outward
  const cell = Option.getOrNull((yield* Settings).cell)
  const toInstallation = (settings: InstallationSettings): Shown => ({
    object: "installation",
    ...settings,
    cell,
    outward: outward.state()
  })
  const { run } = yield* fourEyes

  const handlers: OperatorHandlers<"installation"> = {
    retrieve: () => Effect.map(installation.get, (settings) => answer(200, toInstallation(settings))),
    update: ({ body }) =>
      Effect.gen(function* () {
        const changes = yield* decodeBody(body, decodeUpdateInstallation)
        return yield* run(
          Effect.map(installation.getFor(changes), (before) => updateOf(before, changes)),
          Effect.map(
            installation.update(changes, (before) =>
              audit.record("installation.update", null, changeOf({ ...before }, changes))
            ),
            (settings) => ({ id: null, settings })
          ),
          ({ settings }) => answer(200, toInstallation(settings))
        )
      }).pipe(Effect.catchTags({ InvalidStateError: invalidState, RequestRefused: refusedAs("VALIDATION_ERROR") })),
    confirmOutward: () =>
      run(
        Effect.flatMap(installation.get, ({ system_identifier_changed: isChanged }) =>
          isChanged ? Effect.succeed(confirmation) : Effect.fail(new InvalidStateError({ status: "confirmed" }))
        ),
        Effect.map(
          installation.confirmOutward(audit.record("installation.confirm_outward", null, confirmed)),
          (settings) => ({ id: null, settings })
        ),
        ({ settings }) => answer(200, toInstallation(settings))
      ).pipe(Effect.catchTags({ InvalidStateError: invalidState }))
  }
  return handlers
})

const confirmation: ApprovalRequest = {
  action: "installation.confirm_outward",
  resourceId: null,
  accountId: null,
  concerns: null,
  request: {}
}

/** For the audit log. */
export const confirmed = { before: { system_identifier_changed: true }, after: { system_identifier_changed: false } }

/** What may switch four eyes off is approved by a second operator (OPR-112). */
const updateOf = (before: InstallationSettings, changes: InstallationChanges): ApprovalRequest | undefined =>
  changes.four_eyes === undefined || changes.four_eyes === "on" || changes.four_eyes === before.four_eyes
    ? undefined
    : {
        action: "installation.update",
        resourceId: null,
        accountId: null,
        concerns: null,
        request: { ...changes }
      }
