import { assert, describe, it } from "@effect/vitest"
import { answerReader, connectionProblem, isSuccess, MIN_READ_BYTES, READ_BYTES } from "../src/ReceiverAnswer.ts"

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** What a reader says of an answer that arrives in these parts. */
const read = (...parts: ReadonlyArray<string>) => {
  const reader = answerReader()
  const passed = parts.map((part) => textOf(reader.push(bytesOf(part))))
  return { status: reader.status(), end: reader.end(), passed }
}

const inBytes = (text: string): ReadonlyArray<string> => [...text]

it("DLV-2: a 2xx is a success, and nothing else", () => {
  for (const status of [200, 201, 204, 299]) assert.isTrue(isSuccess(status), String(status))
  for (const status of [100, 101, 199, 300, 302, 404, 500]) assert.isFalse(isSuccess(status), String(status))
  assert.isFalse(isSuccess(null))
  assert.isFalse(isSuccess(undefined))
})

describe("DLV-2: the status", () => {
  it.each([
    ["of a line with a reason", "HTTP/1.1 200 OK\r\n", 200],
    ["of a line without a reason", "HTTP/1.1 204\r\n", 204],
    ["of a line with an empty reason", "HTTP/1.1 204 \r\n", 204],
    ["of HTTP/1.0", "HTTP/1.0 301 Moved Permanently\r\n", 301],
    ["of a line that ends without a carriage return", "HTTP/1.1 503 No\nx: y\n", 503],
    ["of a reason in Latin-1", "HTTP/1.1 404 Não\r\n", 404],
    ["after empty lines", "\r\n\nHTTP/1.1 200 OK\r\n", 200],
    ["of any other answer after it", "HTTP/1.1 500 No\r\n\r\nHTTP/1.1 200 OK\r\n", 500],
    ["after an informational answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\n", 201],
    ["after an early hint with headers", "HTTP/1.1 103 Hints\r\nLink: </a>\r\nx: y\r\n\r\nHTTP/1.1 200 OK\r\n", 200],
    ["after several", "HTTP/1.1 100 C\n\nHTTP/1.1 102 P\n\n\nHTTP/1.1 422 No\n", 422],
    ["of a switch of protocols, which is final", "HTTP/1.1 101 Switching\r\n\r\nHTTP/1.1 200 OK\r\n", 101],
    ["of a code that ends like 101", "HTTP/1.1 201 Made\r\nHTTP/1.1 500 No\r\n", 201]
  ])("is %s", (_, text, status) => {
    const whole = read(text)
    assert.strictEqual(whole.status, status)
    assert.isUndefined(whole.end)
    assert.strictEqual(read(...inBytes(text)).status, status, "byte by byte")
    for (let at = 1; at < text.length; at++) {
      assert.strictEqual(read(text.slice(0, at), text.slice(at)).status, status, `cut at ${at}`)
    }
  })

  it.each([
    ["before its line ends", "HTTP/1.1 200 OK"],
    ["of an informational answer alone", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["of the headers of an informational answer", "HTTP/1.1 103 Hints\r\nHTTP/1.1 200 OK\r\n"],
    ["of empty lines", "\r\n\r\n"]
  ])("is not known %s", (_, text) => {
    assert.deepInclude(read(text), { status: undefined, end: undefined })
  })

  it.each([
    "SSH-2.0-OpenSSH_9.9",
    " HTTP/1.1 200 OK",
    "x HTTP/1.1 200 OK",
    "HTTP/1.2 200 OK",
    "HTTP/2 200 OK",
    "HTTP/1.1  200 OK",
    "HTTP/1.1 20 OK",
    "HTTP/1.1 2000 OK",
    "HTTP/1.1 200OK",
    "HTTP/1.1 099 OK",
    "HTTP/1.1 2x0 OK",
    "HTTP/1.1 20x OK",
    "HTTP/1.1 2\r00 OK"
  ])("is none of a line that is not HTTP: %j", (line) => {
    for (const answer of [read(`${line}\n`), read(`\r\n${line}\r\n`), read(...inBytes(`${line}\n`))]) {
      assert.deepInclude(answer, { status: undefined, end: "not HTTP" })
    }
    assert.deepInclude(read("HTTP/1.1 100 Continue\r\n\r\n", `${line}\r\n`), { status: undefined, end: "not HTTP" })
  })

  it("stays none after a line that is not HTTP", () => {
    const answer = read("SMTP\r\n", "HTTP/1.1 200 OK\r\n")
    assert.deepInclude(answer, { status: undefined, end: "not HTTP" })
  })
})

describe("What is passed on", () => {
  it("begins with the final status line", () => {
    const ok = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
    assert.deepStrictEqual(read(ok).passed, [ok])
    assert.deepStrictEqual(read(`\r\nHTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n${ok}`).passed, [ok])
    assert.deepStrictEqual(read(ok.slice(0, 10), ok.slice(10)).passed, ["", ok])
    assert.deepStrictEqual(read("HTTP/1.1 100 Continue\r\n\r\nHTTP/", "1.1 ", "200 OK\r\nx").passed, [
      "",
      "",
      "HTTP/1.1 200 OK\r\nx"
    ])
  })

  it("is all that follows the status line, as it comes", () => {
    const parts = ["x: y\r\n\r\n", "no line feed", "HTTP/1.1 500 No\r\n"]
    assert.deepStrictEqual(read("HTTP/1.1 200 OK\r\n", ...parts).passed.slice(1), parts)
  })

  it("begins with the line that is not HTTP", () => {
    assert.deepStrictEqual(read("\r\nSMTP\r\nx").passed, ["SMTP\r\nx"])
  })
})

describe("DLV-7: of the whole response", () => {
  const line = "HTTP/1.1 200 OK\r\n"

  it("32 KiB are read", () => {
    assert.strictEqual(READ_BYTES, 32 * 1024)
    const almost = read(line, "x".repeat(READ_BYTES - MIN_READ_BYTES - 1))
    assert.deepInclude(almost, { status: 200, end: undefined })
    const full = read(line, "x".repeat(READ_BYTES - MIN_READ_BYTES))
    assert.deepInclude(full, { status: 200, end: "answer too large" })
    const more = read(line, "x".repeat(2 * READ_BYTES))
    assert.deepInclude(more, { status: 200, end: "answer too large" })
    assert.strictEqual(more.passed[1]?.length, READ_BYTES - MIN_READ_BYTES)
  })

  it("a status line beyond them is not read", () => {
    const hints = `HTTP/1.1 103 Hints\r\nx: ${"y".repeat(READ_BYTES)}\r\n\r\n`
    assert.deepInclude(read(`${hints}${line}`), { status: undefined, end: "answer too large" })
  })

  it("each read counts as 64 bytes at least", () => {
    const reader = answerReader()
    let reads = 0
    while (reader.end() === undefined && reads < READ_BYTES) {
      reader.push(bytesOf("x"))
      reads++
    }
    assert.strictEqual(reads, 512)
    assert.strictEqual(reader.end(), "answer too large")
  })

  it("the first reason to stop stays", () => {
    assert.strictEqual(read("SMTP\r\n", "x".repeat(READ_BYTES)).end, "not HTTP")
  })
})

it("a problem of a connection is said in words, and one that is not known by its code", () => {
  assert.strictEqual(connectionProblem("ECONNREFUSED"), "connection refused")
  assert.strictEqual(connectionProblem("ENOTFOUND"), "name does not resolve")
  assert.strictEqual(connectionProblem("ENOMEM"), "connection error (ENOMEM)")
})
