/** Addresses as people write them. */
import { assert, it } from "@effect/vitest"
import { addressOf } from "../src/Address.ts"
import { usage } from "../src/Failure.ts"

const refusal = usage("Not a URL.")

it.each([
  ["3000", "http://localhost:3000/"],
  [" 3000 ", "http://localhost:3000/"],
  [":3000", "http://localhost:3000/"],
  ["3000/hooks", "http://localhost:3000/hooks"],
  [":3000?a=b", "http://localhost:3000/?a=b"],
  ["localhost:3000/x", "http://localhost:3000/x"],
  ["[::1]:3000", "http://[::1]:3000/"],
  ["127.0.0.1:80/x", "http://127.0.0.1/x"],
  ["http://0.0.0.0:3000", "http://0.0.0.0:3000/"],
  ["HTTP://localhost:4000/hooks", "http://localhost:4000/hooks"],
  ["Https://Example.com", "https://example.com/"],
  ["3000.example.com", "http://3000.example.com/"],
  ["host-1:3000", "http://host-1:3000/"]
])("CLI-47: %j is %s", (text, url) => {
  assert.strictEqual(addressOf(text, refusal).href, url)
})

it.each([
  "http://3000",
  "http://3000/webhooks",
  "https://3001",
  "http:3000",
  "3000:3000",
  "3000.",
  "0xBB8",
  "http://0xBB8:80",
  "127.1:80",
  "0177.0.0.1",
  "http://user@3000",
  "http://３０００"
])("CLI-47: %j is refused: it would be another address", (text) => {
  assert.throws(() => addressOf(text, refusal), /^The host of .* would be \d+\.\d+\.\d+\.\d+\. Write/)
})

it.each([
  "",
  " ",
  ":",
  "0",
  ":0",
  "localhost:0",
  "https://localhost:00",
  "65536",
  "::1",
  "ftp://localhost",
  "http://",
  "a b"
])("CLI-47: %j is none", (text) => {
  assert.throws(() => addressOf(text, refusal), "Not a URL.")
})
