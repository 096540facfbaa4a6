/** The system's own names: hosts(5) and resolv.conf(5). */
import { assert, describe, it } from "@effect/vitest"
import { candidatesOf, parseHosts, parseSearchList } from "../../../src/base/network/SystemNames.ts"

describe("hosts(5) and resolv.conf(5)", () => {
  it("a name of the hosts file has the addresses of all its lines, in any case", () => {
    const hosts = parseHosts(
      "127.0.0.1\tlocalhost Loop # comment\n::1 localhost\n# 9.9.9.9 localhost\nnonsense localhost\n10.0.0.1 db db.example"
    )
    assert.deepStrictEqual(hosts.get("localhost"), [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 }
    ])
    assert.deepStrictEqual(parseHosts("").get("localhost"), hosts.get("localhost"))
    assert.deepStrictEqual(hosts.get("loop"), [{ address: "127.0.0.1", family: 4 }])
    assert.deepStrictEqual(hosts.get("db.example"), [{ address: "10.0.0.1", family: 4 }])
  })

  it("the search list: the last line counts, `ndots` decides what comes first, a final dot ends it", () => {
    const list = parseSearchList(
      "nameserver 10.0.0.2\ndomain old\nsearch a.test. b.test ; comment\noptions ndots:2 rotate\n"
    )
    assert.deepStrictEqual(list, { domains: ["a.test", "b.test"], ndots: 2 })
    assert.deepStrictEqual(candidatesOf("hooks", false, list), ["hooks.a.test", "hooks.b.test", "hooks"])
    assert.deepStrictEqual(candidatesOf("a.b.c", false, list), ["a.b.c", "a.b.c.a.test", "a.b.c.b.test"])
    assert.deepStrictEqual(candidatesOf("hooks", true, list), ["hooks"])
    assert.deepStrictEqual(candidatesOf("hooks", false, parseSearchList("")), ["hooks"])
    const long = Array.from({ length: 4 }, () => "a".repeat(62)).join(".")
    assert.deepStrictEqual(candidatesOf(long, false, list), [long])
  })
})
