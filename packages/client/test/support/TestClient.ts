/** A client for tests, and the error of a call. */
import { assert } from "vitest"
import { Payments, PaymentsError, type PaymentsOptions } from "../../src/index.ts"
import { secretKey } from "./Samples.ts"

export const clientOf = (baseUrl: string, options: Partial<PaymentsOptions> = {}): Payments =>
  new Payments({ baseUrl, apiKey: secretKey, ...options })

/** The error of a call that must fail. */
export const failureOf = async (call: PromiseLike<unknown>): Promise<PaymentsError> => {
  try {
    await call
  } catch (error) {
    if (error instanceof PaymentsError) return error
    throw error
  }
  return assert.fail("the call succeeded")
}
