/** The type of the handlers of a `/v1` group. */
import type { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import type { Cached, Confirmed } from "../../accounts/Caller.ts"
import type { GroupHandlers } from "../pipeline/CompiledApi.ts"

type Groups = (typeof PaymentsApi)["groups"]

export type PublicHandlers<Group extends keyof Groups> = GroupHandlers<Groups[Group], Confirmed, never, Cached>
