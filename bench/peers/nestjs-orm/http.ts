/**
 * The properties of Express requests and responses that this peer uses.
 */
import type { ApiKey } from "./entities.ts"

export interface Incoming {
  readonly method: string
  readonly originalUrl: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly route?: { readonly path?: string }
  requestId: string
  /** Set by `ApiKeyGuard`. */
  key?: ApiKey
}

export interface Reply {
  readonly statusCode: number
  readonly status: (code: number) => Reply
  readonly json: (body: unknown) => Reply
  readonly setHeader: (name: string, value: string) => void
  readonly on: (event: "finish", then: () => void) => void
}
