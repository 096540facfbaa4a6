/** Shared by the handlers of all operator groups. */
import type { OperatorApi } from "@pix-payments/api/OperatorApi"
import type { CurrentOperator } from "@pix-payments/api/Security"
import { defaultLimit, pageOf } from "@pix-payments/domain/List"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { NotFoundError } from "../../Errors.ts"
import type { Page } from "../../sql/Paging.ts"
import type { Answer } from "../Answer.ts"
import type { GroupHandlers } from "../CompiledApi.ts"
import type { Operator } from "./TokenGuard.ts"

type Groups = (typeof OperatorApi)["groups"]

/** The handlers of a group. They run with the current operator. */
export type OperatorHandlers<Group extends keyof Groups> = GroupHandlers<Groups[Group], Operator, CurrentOperator>

/** The id in the path. One that is not a UUID is an unknown id (OPR-10). */
export const knownId = ({ id }: { readonly id: string }): Effect.Effect<string, NotFoundError> =>
  isUuid(id) ? Effect.succeed(id) : Effect.fail(new NotFoundError())

export const pageFrom = (query: {
  readonly limit?: number | undefined
  readonly starting_after?: string | undefined
}): Page => ({ limit: query.limit ?? defaultLimit, startingAfter: query.starting_after })

/** 200 with a page of a list. `rows` has one more than the page where more exist. */
export const listAnswer = <Row, Item>(rows: ReadonlyArray<Row>, toItem: (row: Row) => Item, page: Page) => ({
  status: 200,
  body: pageOf(rows.map(toItem), page.limit)
})

export const answer = <Body>(status: number, body: Body, headers?: Readonly<Record<string, string>>): Answer<Body> => ({
  status,
  body,
  ...(headers === undefined ? undefined : { headers })
})
