/** Which URLs a webhook may have, in any spelling, and which of them are equal. Which addresses: `AddressRanges.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { codeOf } from "../src/ErrorCode.ts"
import { isPublicAddress, judgeUrl, normalizeUrl, parseNetworks, WebhookUrl } from "../src/PublicUrl.ts"

const networks = (setting: string) => Result.getOrThrow(parseNetworks(setting))
const reason = (text: string, allowed = ""): string | undefined => {
  const verdict = judgeUrl(text, networks(allowed))
  return verdict._tag === "Refused" ? verdict.reason : undefined
}
const host = (text: string, allowed = ""): string | undefined => {
  const verdict = judgeUrl(text, networks(allowed))
  if (verdict._tag === "Refused") return undefined
  return verdict.host._tag === "Name" ? `name ${verdict.host.name}` : `address ${verdict.host.address}`
}

const loopback = [
  "http://2130706433",
  "http://0x7f000001",
  "http://017700000001",
  "http://0x7f.1",
  "http://127.1",
  "http://0177.0.0.1",
  "http://①②⑦.⓪.⓪.①",
  "http://127。0。0。1",
  "http:127.0.0.1",
  "http:///127.0.0.1",
  "http://127.0.0.1.",
  "http://127.0.0.1:8080/hook?x=1",
  "HTTP://127.0.0.1",
  "http://0/",
  "http://0.0.0.0",
  "http://127%2e0.0.1",
  "  http://127.0.0.1  ",
  "http:\\\\127.0.0.1\\",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[::127.0.0.1]/",
  "http://[::1]/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[::]/",
  "http://[64:ff9b::127.0.0.1]/",
  "http://[2002:7f00:1::]/",
  "http://[fe80::1]/",
  "http://[fd00:ec2::254]/",
  "http://169.254.169.254/latest/meta-data/",
  "http://100.100.100.200/",
  "http://169.254.170.2/"
]

const cjk = (count: number): string =>
  String.fromCodePoint(...Array.from({ length: count }, (_, index) => 0x4e00 + ((index * 7919) % 20_000)))

describe("judgeUrl", () => {
  for (const text of loopback) {
    it(`URL-2: refuses an address outside the global unicast space in any spelling: ${JSON.stringify(text)}`, () => {
      assert.strictEqual(reason(text), "private-address")
    })
  }

  it("URL-1: refuses user info", () => {
    for (const text of [
      "http://user:pw@example.com@127.0.0.1/",
      "http://user@example.com",
      "http://:pw@example.com",
      "https://a:b@example.com/"
    ]) {
      assert.strictEqual(reason(text), "has-user-info", text)
    }
  })

  it("example.com\\@127.0.0.1 is a path of example.com, as WHATWG reads it", () => {
    assert.strictEqual(host("http://example.com\\@127.0.0.1/"), "name example.com")
  })

  it("URL-1: accepts http and https only", () => {
    for (const text of [
      "ftp://example.com",
      "file:///etc/passwd",
      "gopher://example.com",
      "javascript:alert(1)",
      "ws://example.com",
      "data:,x"
    ]) {
      assert.strictEqual(reason(text), "scheme-not-http", text)
    }
    assert.strictEqual(host("http://example.com"), "name example.com")
    assert.strictEqual(host("https://example.com"), "name example.com")
  })

  it("URL-1: refuses text that is no URL", () => {
    for (const text of [
      "",
      "example.com",
      "/hook",
      "http://",
      "http://[fe80::1%25eth0]/",
      "http://1.2.3.4.5",
      "http://256.256.256.256",
      "http://4294967296",
      "http://a b.com",
      "http://[::1",
      "http://example.com:99999"
    ]) {
      assert.strictEqual(reason(text), "not-a-url", text)
    }
  })

  it("URL-4: refuses a control character anywhere, also where URL parsing drops it", () => {
    for (const text of [
      "http://loc\tal\nhost/",
      "https://example.com/\t",
      "\u0000https://example.com/",
      "https://example.com/\u001b",
      "https://example.com/?a=\u007f",
      "https://example.com/#\u0085",
      "\nhttps://example.com/",
      "http://127.0.0\t.1",
      "http://127.0.\n0.1",
      "https://exam\rple.com/"
    ]) {
      assert.strictEqual(reason(text), "control-character", JSON.stringify(text))
    }
  })

  it("URL-4: limits a host to 253 octets and its labels to 63, in ASCII form", () => {
    const label = "a".repeat(63)
    const longest = `${label}.${label}.${label}.${"a".repeat(61)}`
    assert.strictEqual(longest.length, 253)
    assert.strictEqual(host(`http://${longest}/`), `name ${longest}`)
    assert.strictEqual(reason(`http://${longest}a/`), "name-too-long")
    assert.strictEqual(reason(`http://${longest}./`), "name-too-long")
    assert.strictEqual(reason(`http://${label}a.example/`), "name-too-long")
    assert.strictEqual(reason(`http://a.${label}a/`), "name-too-long")
    // In punycode a label is longer than in the letters of its script.
    for (const count of [30, 63, 1900]) {
      assert.include(["name-too-long", "not-a-url"], reason(`http://${cjk(count)}.example/`), String(count))
    }
    assert.strictEqual(host("http://日本.example/"), "name xn--wgv71a.example")
  })

  it("refuses port 0", () => {
    assert.strictEqual(reason("http://host:0/"), "port-zero")
    assert.strictEqual(reason("http://8.8.8.8:00000/"), "port-zero")
    assert.strictEqual(host("http://host:8080/"), "name host")
  })

  it("URL-3: refuses `localhost` and names below `.localhost`, `.local`, `.internal`", () => {
    for (const name of [
      "localhost",
      "localhost.",
      "LOCALHOST",
      "ｌocalhost",
      "a.localhost",
      "a.b.localhost.",
      "printer.local",
      "metadata.google.internal",
      "METADATA.google.Internal."
    ]) {
      assert.strictEqual(reason(`http://${name}/`), "private-name", name)
    }
  })

  it("accepts names that only look like private ones", () => {
    for (const name of [
      "localhost.com",
      "mylocalhost",
      "local.example",
      "internal.example",
      "notlocal",
      "xinternal",
      "127.0.0.1.nip.io"
    ]) {
      assert.strictEqual(host(`http://${name}/`), `name ${name}`, name)
    }
  })

  it("strips the final dot of an absolute name, and refuses names with an empty part", () => {
    assert.strictEqual(host("https://Example.COM./hook"), "name example.com")
    for (const name of [".", "a..", "a..b", "127.0.0.1..", ".a"])
      assert.strictEqual(reason(`http://${name}/`), "malformed-name", name)
  })

  it("URL-3: allowed networks judge addresses, names included once resolved (`localhost` too)", () => {
    const allowed = "127.0.0.0/8,::1/128"
    assert.strictEqual(host("http://localhost:9000/", allowed), "name localhost")
    assert.strictEqual(host("http://receiver.internal./", allowed), "name receiver.internal")
    assert.strictEqual(host("http://2130706433/", allowed), "address 127.0.0.1")
    assert.strictEqual(host("http://[::1]:9000/", allowed), "address ::1")
    assert.strictEqual(host("http://[::ffff:127.0.0.1]/", allowed), "address ::ffff:7f00:1")
    assert.strictEqual(reason("http://10.0.0.1/", allowed), "private-address")
    assert.strictEqual(reason("http://u@localhost/", allowed), "has-user-info")
  })

  it("accepts public addresses, and returns the parsed URL", () => {
    assert.strictEqual(host("https://8.8.8.8/hook"), "address 8.8.8.8")
    assert.strictEqual(host("https://[2606:4700:4700::1111]/"), "address 2606:4700:4700::1111")
    const verdict = judgeUrl("HTTPS://Example.com:443/a/../b", [])
    assert.strictEqual(verdict._tag === "Ok" ? verdict.url.href : "", "https://example.com/b")
  })

  const octet = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
  const any = octet(0, 255)
  const Private = Schema.Union([
    Schema.Tuple([Schema.Literals([0, 10, 127]), any, any, any]),
    Schema.Tuple([Schema.Literal(172), octet(16, 31), any, any]),
    Schema.Tuple([Schema.Literal(192), Schema.Literal(168), any, any]),
    Schema.Tuple([Schema.Literal(169), Schema.Literal(254), any, any]),
    Schema.Tuple([Schema.Literal(100), octet(64, 127), any, any]),
    Schema.Tuple([octet(224, 255), any, any, any])
  ])

  /** The spellings that WHATWG reads as one IPv4 address, and the IPv6 forms that carry it. */
  const spellings = (a: number, b: number, c: number, d: number): ReadonlyArray<string> => {
    const whole = ((a * 256 + b) * 256 + c) * 256 + d
    const hex = (value: number): string => `0x${value.toString(16)}`
    const octal = (value: number): string => `0${value.toString(8)}`
    const dotted = [a, b, c, d].join(".")
    const high = (a * 256 + b).toString(16)
    const low = (c * 256 + d).toString(16)
    return [
      dotted,
      `${dotted}.`,
      [a, b, c, d].map(hex).join("."),
      [a, b, c, d].map(octal).join("."),
      [a, hex(b), octal(c), d].join("."),
      String(whole),
      hex(whole),
      hex(whole).toUpperCase().replace("0X", "0x"),
      octal(whole),
      `${a}.${(b * 256 + c) * 256 + d}`,
      `${a}.${b}.${c * 256 + d}`,
      `${hex(a)}.${octal((b * 256 + c) * 256 + d)}`,
      dotted.replaceAll(".", "。"),
      dotted.replaceAll(".", "%2e"),
      dotted.replace(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
      `[::ffff:${dotted}]`,
      `[::ffff:${high}:${low}]`,
      `[0:0:0:0:0:ffff:${high}:${low}]`,
      `[::${dotted}]`,
      `[::ffff:0:${dotted}]`,
      `[64:ff9b::${dotted}]`,
      `[2002:${high}:${low}::1]`,
      `[2a00:1450::5efe:${high}:${low}]`
    ]
  }

  it.prop("URL-2: every private IPv4 address in every spelling is refused", [Private], ([[a, b, c, d]]) => {
    for (const spelling of spellings(a, b, c, d)) {
      assert.strictEqual(reason(`http://${spelling}/`), "private-address", spelling)
      assert.strictEqual(reason(`https://${spelling}:8443/hook`), "private-address", spelling)
    }
  })

  it.prop(
    "every spelling of an address is the same address",
    [Schema.Tuple([any, any, any, any])],
    ([[a, b, c, d]]) => {
      const dotted = [a, b, c, d].join(".")
      const judged = host(`http://${dotted}/`, "0.0.0.0/0")
      assert.strictEqual(judged, `address ${dotted}`)
      for (const spelling of spellings(a, b, c, d).filter((text) => !text.startsWith("["))) {
        assert.strictEqual(host(`http://${spelling}/`, "0.0.0.0/0"), judged, spelling)
      }
    }
  )

  it.prop("never throws, and never lets through what isPublicAddress refuses", [Schema.String], ([text]) => {
    for (const whole of [text, `http://${text}`, `https://${text}/`]) {
      const verdict = judgeUrl(whole, [])
      if (verdict._tag === "Ok" && verdict.host._tag === "Address")
        assert.isTrue(isPublicAddress(verdict.host.address, []))
    }
  })
})

describe("normalizeUrl", () => {
  it("EVT-9: Equal URLs compare after WHATWG normalisation", () => {
    const same = [
      "https://example.com/hook",
      "HTTPS://EXAMPLE.com:443/hook",
      "https://example.com/a/../hook",
      " https://example.com/hook ",
      "https:example.com/hook",
      "https://ex%61mple.com/hook"
    ]
    for (const text of same) assert.strictEqual(normalizeUrl(text), "https://example.com/hook", text)
  })

  it("URLs that differ for the receiver are not equal", () => {
    const base = normalizeUrl("https://example.com/hook")
    for (const text of [
      "http://example.com/hook",
      "https://example.com/hook/",
      "https://example.com/Hook",
      "https://example.com:8443/hook",
      "https://example.com/hook?a=1"
    ]) {
      assert.notStrictEqual(normalizeUrl(text), base, text)
    }
  })

  it("text that is no URL equals itself only", () => assert.strictEqual(normalizeUrl("no url"), "no url"))

  it.prop("is its own normal form", [WebhookUrl], ([text]) => {
    assert.strictEqual(normalizeUrl(normalizeUrl(text)), normalizeUrl(text))
  })
})

describe("WebhookUrl", () => {
  const codes = (text: unknown): ReadonlyArray<string> => {
    const result = Schema.decodeUnknownResult(WebhookUrl)(text, { errors: "all" })
    if (Result.isSuccess(result)) return []
    const { issue } = result.failure
    const issues = issue._tag === "Composite" ? issue.issues : [issue]
    return issues.map((each) => (each._tag === "Filter" ? codeOf(each.filter.annotations) : each._tag))
  }

  it("URL-1: up to 2048 characters; longer is VALIDATION_ERROR alone", () => {
    const base = "https://example.com/"
    assert.deepStrictEqual(codes(base.padEnd(2048, "a")), [])
    assert.deepStrictEqual(codes(base.padEnd(2049, "a")), ["VALIDATION_ERROR"])
    assert.deepStrictEqual(codes("x".repeat(2049)), ["VALIDATION_ERROR"])
    assert.deepStrictEqual(codes(base + "🙂".repeat(2028)), [], "lengths count code points")
  })

  it("URL-4: NUL and lone surrogates are VALIDATION_ERROR, other control characters INVALID_WEBHOOK_URL", () => {
    for (const bad of ["\u0000", "\ud800", "\udc00", "\u0001\u0000"]) {
      assert.deepStrictEqual(codes(`https://example.com/${bad}`), ["VALIDATION_ERROR"], JSON.stringify(bad))
    }
    for (const bad of ["\t", "\n", "\r", "\u0001", "\u001f", "\u007f", "\u0080", "\u009f"]) {
      assert.deepStrictEqual(codes(`https://example.com/${bad}`), ["INVALID_WEBHOOK_URL"], JSON.stringify(bad))
      assert.deepStrictEqual(codes(`${bad}https://example.com/`), ["INVALID_WEBHOOK_URL"], JSON.stringify(bad))
    }
  })

  it("URL-4: a host that DNS cannot hold is INVALID_WEBHOOK_URL", () => {
    for (const host of ["a".repeat(64), `${"a.".repeat(127)}a`, cjk(1900)]) {
      assert.deepStrictEqual(codes(`https://${host}/`), ["INVALID_WEBHOOK_URL"], host.slice(0, 80))
    }
  })

  it("URL-1: a webhook_url that is no URL is INVALID_WEBHOOK_URL", () => {
    for (const text of ["", "no url", "ftp://example.com", "https://u:p@example.com", "http://host:0/"]) {
      assert.deepStrictEqual(codes(text), ["INVALID_WEBHOOK_URL"], text)
    }
  })

  it("whether the address is public depends on a setting and is not judged here", () => {
    for (const text of ["http://localhost:9000/hook", "http://127.0.0.1/", "https://example.com"]) {
      assert.deepStrictEqual(codes(text), [], text)
    }
  })
})
