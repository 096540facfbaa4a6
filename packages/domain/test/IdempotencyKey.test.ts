import { assert, it } from "@effect/vitest"
import { isIdempotencyKey } from "../src/IdempotencyKey.ts"

it("IDEM-2: a key is 8 to 255 characters from `!` to `~`", () => {
  for (const key of ["12345678", "!!!!~~~~", "a".repeat(255), "order-1/attempt:2"]) assert.isTrue(isIdempotencyKey(key))
  for (const key of [
    "",
    "1234567",
    "a".repeat(256),
    "1234 5678",
    " 12345678",
    "12345678 ",
    "12345678\n",
    "\n12345678",
    "12345678\u007f",
    "pedido-nº-1",
    "🍕".repeat(8),
    undefined,
    12345678
  ]) {
    assert.isFalse(isIdempotencyKey(key), JSON.stringify(key))
  }
})
