/** Error bodies. */
import { assert, it } from "@effect/vitest"
import { codeAnswer, errorAnswer } from "../../../src/http/pipeline/Answer.ts"

it("ERR-4: `details` has at most 100 entries", () => {
  const details = Array.from({ length: 130_900 }, (_, index) => `events.${index}`)
  const { body } = errorAnswer({ code: "VALIDATION_ERROR", message: "", details })
  assert.lengthOf((body as { readonly details: ReadonlyArray<string> }).details, 100)
  assert.isUndefined((codeAnswer("NOT_FOUND").body as { readonly details?: unknown }).details)
})
