/** Shared by the handlers of all operator groups. */
import type { OperatorApi } from "@pix-payments/api/OperatorApi"
import type { CurrentOperator, Operator } from "@pix-payments/api/Security"
import { personalDataFor } from "@pix-payments/domain/Operator"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { NotFoundError } from "../../base/Errors.ts"
import type { Sum, WalkedPage } from "../../database/statements/Paging.ts"
import type { GroupHandlers } from "../pipeline/CompiledApi.ts"

type Groups = (typeof OperatorApi)["groups"]

/** The handlers of a group. They run with the current operator. */
export type OperatorHandlers<Group extends keyof Groups> = GroupHandlers<Groups[Group], Operator, CurrentOperator>

/** The id in the path. One that is not a UUID is an unknown id (OPR-10). */
export const knownId = ({ id }: { readonly id: string }): Effect.Effect<string, NotFoundError> =>
  isUuid(id) ? Effect.succeed(id) : Effect.fail(new NotFoundError())

/** Whose share of the listener's places a request takes. */
export const shareOf = ({ id }: Operator): string => id ?? "installation"

/** Whether a filter asks for what the operator sees masked. It matches nothing then, known or not (OPR-290). */
export const isHidden = ({ role }: Operator, value: string | undefined): boolean =>
  value !== undefined && personalDataFor[role] !== "clear"

export const NO_PAGE: WalkedPage<never> = { rows: [], next: undefined, lookedAt: 0 }
export const NOTHING: Effect.Effect<Sum> = Effect.succeed({
  count: 0,
  amount: 0,
  states: [],
  lookedAt: 0,
  isAtLeast: false
})
