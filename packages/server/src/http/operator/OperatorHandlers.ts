/** Shared by the handlers of all operator groups. */
import type { OperatorApi } from "@pix-payments/api/OperatorApi"
import type { CurrentOperator, Operator } from "@pix-payments/api/Security"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { NotFoundError } from "../../base/Errors.ts"
import type { GroupHandlers } from "../pipeline/CompiledApi.ts"

type Groups = (typeof OperatorApi)["groups"]

/** The handlers of a group. They run with the current operator. */
export type OperatorHandlers<Group extends keyof Groups> = GroupHandlers<Groups[Group], Operator, CurrentOperator>

/** The id in the path. One that is not a UUID is an unknown id (OPR-10). */
export const knownId = ({ id }: { readonly id: string }): Effect.Effect<string, NotFoundError> =>
  isUuid(id) ? Effect.succeed(id) : Effect.fail(new NotFoundError())

/** Whose share of the listener's places a request takes. */
export const shareOf = ({ id }: Operator): string => id ?? "installation"
