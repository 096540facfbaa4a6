/** Names of receivers are looked up one at a time each. The rule of what is public is tested in `domain`. */
import { assert, describe, it } from "@effect/vitest"
import type { LookupAddress } from "node:dns"
import { oneAtATime } from "../src/webhooks/PublicAddress.ts"

describe("PublicAddress", () => {
  it("looks a name up once for all who wait for it, and anew for who comes later", () => {
    const asked: Array<{ name: string; answer: (addresses: Array<LookupAddress>) => void }> = []
    const resolve = oneAtATime((name, _family, done) => {
      asked.push({ name, answer: (addresses) => done(null, addresses) })
    })
    const seen: Array<string> = []
    const ask = (name: string) => resolve(name, 0, (_, addresses) => seen.push(`${name} ${addresses[0]?.address}`))
    for (let count = 0; count < 50; count++) ask("slow.example.com")
    ask("other.example.com")
    assert.deepStrictEqual(
      asked.map(({ name }) => name),
      ["slow.example.com", "other.example.com"]
    )
    asked[1]?.answer([{ address: "192.0.2.2", family: 4 }])
    assert.deepStrictEqual(seen, ["other.example.com 192.0.2.2"])
    asked[0]?.answer([{ address: "192.0.2.1", family: 4 }])
    assert.lengthOf(seen, 51)
    ask("slow.example.com")
    assert.lengthOf(asked, 3)
  })
})
