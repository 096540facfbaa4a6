/**
 * Hostile and careless values, bodies, ids, queries and headers.
 *
 * URLs name only this machine and names that never resolve, because the service delivers to them.
 */
import type { Random } from "./Random.ts"

/** Raw JSON, for what `JSON.stringify` does not write. */
class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const numbers = [
  "0",
  "-0",
  "-1",
  "1e999",
  "-1e999",
  "1e308",
  "1e-400",
  "0.1",
  "99.99999999999999999",
  "2147483648",
  "-2147483649",
  "4294967296",
  "9007199254740991",
  "9007199254740993",
  "9223372036854775807",
  "9223372036854775808",
  "999999999999",
  "1000000000000",
  "1E2",
  "100.0",
  `1${"0".repeat(400)}`,
  `0.${"0".repeat(400)}1`
].map((text) => new Raw(text))

const texts = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udc00x",
  "a\udfff\ud800",
  "\u202e\u200f\ufeff",
  "\u0085\u2028\u2029",
  "e\u0301".repeat(40),
  "👩‍👩‍👧‍👦".repeat(30),
  "𠮷".repeat(141),
  "１２３４",
  "٣٤٥",
  "۱۲۳",
  "²³",
  "١٠٠٠",
  "Ⅷ",
  "NaN",
  "Infinity",
  "null",
  "true",
  "1000",
  "1e3",
  "0x10",
  " 1000 ",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "then",
  "'; SELECT pg_sleep(9); --",
  "{a,b}",
  '{"a"}',
  "\\",
  "\\x00",
  "%s%n",
  "${1+1}",
  "{{7*7}}",
  "<script>",
  "../../etc/passwd",
  "=cmd()",
  "\r\nx-evil: 1",
  "x".repeat(256),
  "é".repeat(2049),
  "x".repeat(70_000),
  "2026-11-21T12:00:00Z",
  "2026-11-21T12:00:00.000Z",
  "2026-13-45T99:99:99Z",
  "+275760-09-13T00:00:00Z",
  "+275760-09-13T00:00:00.001Z",
  "-000001-01-01T00:00:00Z",
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999999999Z",
  "9999-12-31T23:59:59-23:59",
  "0001-01-01T00:00:00+23:59",
  "2026-11-21T12:00:00+99:99",
  "2026-11-21",
  "2026-02-30T00:00:00Z",
  "2026-11-21t12:00:00z",
  "20261121T120000Z",
  "1969-12-31T23:59:60Z",
  "http://127.0.0.1:1/",
  "http://127.0.0.1:1/%00",
  "HTTP://127.1:1",
  "http://0x7f.1:1/",
  "http://[::1]:1/",
  "http://[::1",
  "http://never.invalid/",
  "http://never.invalid./\u0000",
  "http://a:99999/",
  "http://",
  "http:///x",
  "http://\ud800.invalid/",
  "http://user:pw@127.0.0.1:1/",
  "javascript:alert(1)",
  "file:///etc/passwd",
  "http://xn--.invalid",
  "http://１２７.0.0.1:1/",
  `http://127.0.0.1:1/${"x".repeat(2049)}`,
  `http://127.0.0.1:1/${"é".repeat(600)}`,
  "529.982.247-25",
  "52998224725",
  "111.111.111-11",
  "５２９９８２２４７２５",
  "12.ABC.345/01DE-35",
  "12.abc.345/01de-35",
  "+5511999998888",
  "+55119999988888",
  "ana@example.com",
  "ANA@EXAMPLE.COM",
  "a@b",
  `${"a".repeat(64)}@${"b".repeat(63)}.invalid`,
  "9b2d1b0e-7e0b-4f6c-8c5e-0d8a1c3e5f70",
  "00000000-0000-0000-0000-000000000000",
  "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
  "charge.pix.paid",
  "charge.pix.*",
  "*",
  "E99999010202611210800AAAAAAAAAAA",
  "pix",
  "PIX",
  "boleto",
  "ted",
  "cpf",
  "email"
] as const

const nested = (open: string, close: string, depth: number) => new Raw(open.repeat(depth) + close.repeat(depth))

const structures = [
  null,
  true,
  false,
  [],
  {},
  [null],
  [[]],
  [{}],
  { length: -1 },
  { toString: 1, valueOf: 1 },
  new Raw('{"then":{}}'),
  ["pix"],
  [100],
  { value: 100 },
  new Raw('{"__proto__":{"polluted":true}}'),
  new Raw('{"constructor":{"prototype":{"polluted":true}}}'),
  nested("[", "]", 3000),
  nested('{"a":', "}", 1),
  new Raw(`${'{"a":'.repeat(2000)}1${"}".repeat(2000)}`),
  Array.from({ length: 3000 }, (_, index) => index),
  Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, i]))
]

/** A value that may be of any kind. */
export const brokenValue = (random: Random): unknown =>
  random.pick([
    () => random.pick(numbers),
    () => random.pick(texts),
    () => random.pick(texts),
    () => random.pick(structures),
    () => String.fromCharCode(...Array.from({ length: random.below(12) }, () => random.below(0x10000)))
  ])()

/** The same value with one or a few things in it broken: replaced, left out, added, wrapped. */
export const brokenIn = (random: Random, value: unknown): unknown => {
  if (Array.isArray(value) && value.length > 0 && random.chance(0.7)) {
    const at = random.below(value.length)
    return random.pick([
      () => value.with(at, brokenIn(random, value[at])),
      () => value.toSpliced(at, 1),
      () => [...value, ...value],
      () => Array.from({ length: 65 + random.below(200) }, () => value[at])
    ])()
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value) && random.chance(0.85)) {
    const entries = Object.entries(value)
    if (entries.length === 0) return { [random.pick(texts)]: brokenValue(random) }
    const at = random.below(entries.length)
    const [name, inner] = entries[at]!
    return random.pick([
      () => Object.fromEntries(entries.with(at, [name, brokenIn(random, inner)])),
      () => Object.fromEntries(entries.with(at, [name, brokenIn(random, inner)])),
      () => Object.fromEntries(entries.with(at, [name, brokenIn(random, inner)])),
      () => Object.fromEntries(entries.with(at, [name, brokenValue(random)])),
      () => Object.fromEntries(entries.with(at, [name, brokenValue(random)])),
      () => Object.fromEntries(entries.toSpliced(at, 1)),
      () => Object.fromEntries([...entries, [random.pick(texts), brokenValue(random)]]),
      () => new Raw(`{"__proto__":${jsonOf(brokenValue(random))},${jsonOf(value).slice(1)}`),
      // Of two fields with one name, either may be the one that counts.
      () => new Raw(`{${JSON.stringify(name)}:${jsonOf(brokenValue(random))},${jsonOf(value).slice(1)}`),
      () => new Raw(`${jsonOf(value).slice(0, -1)},${JSON.stringify(name)}:${jsonOf(brokenValue(random))}}`)
    ])()
  }
  // Valid except for one character.
  if (typeof value === "string" && random.chance(0.6)) {
    const at = random.below(value.length + 1)
    return value.slice(0, at) + random.pick(oddities) + value.slice(at)
  }
  // An object that was broken before may have no text.
  const asText = () => (typeof value === "object" ? jsonOf(value) : String(value))
  return random.pick([() => brokenValue(random), () => [value], () => ({ value }), asText])()
}

const oddities = [
  "\u0000",
  "\ud800",
  "\udfff",
  "\u001b",
  "\u0085",
  "\u200b",
  "\u202e",
  "\ufeff",
  "\uffff",
  "𠮷",
  "１",
  "٣",
  "e\u0301",
  "%00",
  "\\",
  '"',
  "'",
  ",",
  "{",
  "\n",
  "\r\n"
]

/** JSON as it goes out, with what is no JSON value written as it is. */
export const jsonOf = (value: unknown): string => {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(",")}]`
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .map(([name, inner]) => `${JSON.stringify(name)}:${jsonOf(inner)}`)
      .join(",")}}`
  }
  return JSON.stringify(value) ?? "null"
}

/** A body that may be no JSON, or no text. */
export const brokenBytes = (random: Random, good: string): Buffer =>
  random.pick<() => Buffer>([
    () => Buffer.from(good.slice(0, random.below(good.length + 1))),
    () => Buffer.from(`${good}${good}`),
    () => Buffer.from(`\ufeff${good}`),
    () => Buffer.from(good, "utf16le"),
    () => Buffer.from(good.replaceAll('"', "'")),
    () => Buffer.from(`${good}//x`),
    () => Buffer.from(`[${good}]`),
    () => Buffer.from(JSON.stringify(good)),
    () => Buffer.from("[".repeat(100_000)),
    () => Buffer.from('{"a":'.repeat(40_000)),
    () => Buffer.from("x".repeat(262_145)),
    () => Buffer.alloc(0),
    () => Buffer.from(Array.from({ length: 200 }, () => random.below(256))),
    () => {
      // Bytes that are no UTF-8, in the middle of what else is right.
      const bytes = [...Buffer.from(good)]
      const odd = random.pick([
        [0xff],
        [0xc0, 0x80],
        [0xed, 0xa0, 0x80],
        [0xf8, 0x88, 0x80, 0x80, 0x80],
        [0x00],
        [0xe2, 0x28]
      ])
      bytes.splice(random.below(bytes.length + 1), 0, ...odd)
      return Buffer.from(bytes)
    },
    () => {
      const bytes = Buffer.from(good)
      if (bytes.length > 0) bytes[random.below(bytes.length)]! ^= 1 << random.below(8)
      return bytes
    }
  ])()

/** Something in the place of an id, as it goes into the path. */
export const brokenId = (random: Random, good: string): string =>
  random.pick([
    good.toUpperCase(),
    good.replaceAll("-", ""),
    `{${good}}`,
    `${good}%00`,
    `${good}%0A`,
    `${good}%20`,
    `%20${good}`,
    good.slice(1),
    `${good}0`,
    good.replace(/.$/, "g"),
    "%00",
    "%ff",
    "%zz",
    "%",
    "%E0%A4%A",
    "%ED%A0%80",
    "%u0041",
    "..",
    ".",
    "%2e%2e",
    "%2F",
    "..%2F..%2Fetc%2Fpasswd",
    "__proto__",
    "constructor",
    "toString",
    "null",
    "undefined",
    "NaN",
    "0",
    "-1",
    "1e9",
    "*",
    ":id",
    "{id}",
    "'%20OR%20'1'='1",
    "%F0%9F%A5%96",
    "%EF%BC%91%EF%BC%92",
    "a".repeat(9000),
    "%20".repeat(2000),
    "é",
    "\x7f",
    "a;b=c",
    "a,b",
    "a&b",
    "$",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "９b2d1b0e-7e0b-4f6c-8c5e-0d8a1c3e5f70"
  ])

/** Names and values of a query, as they go into it. */
export const brokenQuery = (random: Random, names: ReadonlyArray<string>): string =>
  Array.from({ length: 1 + random.below(4) }, () => {
    const name =
      random.chance(0.8) && names.length > 0
        ? random.pick(names)
        : random.pick(["x", "__proto__", "constructor[a]", "%00", "%", "limit[]", ""])
    const value = random.pick([
      () => encodeURIComponent(String(random.pick(texts)).toWellFormed()),
      () => encodeURIComponent(random.pick(numbers).text),
      () =>
        random.pick([
          "%",
          "%zz",
          "%ff",
          "%ED%A0%80",
          "%00",
          "a%00b",
          "+",
          "%2B",
          "[]",
          "{}",
          "é",
          "a=b",
          "=",
          "&&",
          ";",
          "１０",
          "%EF%BC%91",
          "1".repeat(5000)
        ])
    ])()
    return random.pick([
      `${name}=${value}`,
      `${name}=${value}`,
      `${name}=${value}&${name}=1`,
      name,
      `${name}[]=${value}`
    ])
  }).join("&")

/** A header's value, one byte a character. */
export const brokenHeader = (random: Random): string =>
  random.pick([
    "",
    " ",
    "x",
    "x".repeat(8),
    "x".repeat(255),
    "x".repeat(256),
    "x".repeat(9000),
    "a b c d e",
    "é".repeat(8),
    "\x80\xff".repeat(5),
    "\t",
    "a\tb",
    "a,b,c,d,e,f",
    "'; SELECT 1; --",
    "__proto__",
    "<script>",
    "null",
    "%00%00%00%00",
    '"quoted-key"',
    "x".repeat(20_000),
    "a\x00bcdefgh",
    "a\x01bcdefgh",
    "a\rbcdefgh",
    "１２３４５６７８".slice(0, 0)
  ])
