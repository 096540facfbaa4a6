/** Which IP addresses are public: the ranges that are not, and the networks that an installation allows. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { isPublicAddress, parseNetworks } from "../src/PublicUrl.ts"

const networks = (setting: string) => Result.getOrThrow(parseNetworks(setting))

/** Both ends of each range, and the public neighbours outside. */
const ranges4: ReadonlyArray<readonly [name: string, ends: ReadonlyArray<string>, outside: ReadonlyArray<string>]> = [
  ["0/8 this network", ["0.0.0.0", "0.255.255.255"], ["1.0.0.0"]],
  ["10/8 private", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0"]],
  ["100.64/10 carrier-grade NAT", ["100.64.0.0", "100.127.255.255"], ["100.63.255.255", "100.128.0.0"]],
  ["127/8 loopback", ["127.0.0.0", "127.0.0.1", "127.255.255.255"], ["126.255.255.255", "128.0.0.0"]],
  ["169.254/16 link-local", ["169.254.0.0", "169.254.255.255"], ["169.253.255.255", "169.255.0.0"]],
  ["172.16/12 private", ["172.16.0.0", "172.31.255.255"], ["172.15.255.255", "172.32.0.0"]],
  ["192.0.0/24 protocol assignments", ["192.0.0.0", "192.0.0.255"], ["191.255.255.255", "192.0.1.0"]],
  ["192.0.2/24 documentation", ["192.0.2.0", "192.0.2.255"], ["192.0.1.255", "192.0.3.0"]],
  ["192.88.99/24 6to4 relay", ["192.88.99.0", "192.88.99.255"], ["192.88.98.255", "192.88.100.0"]],
  ["192.168/16 private", ["192.168.0.0", "192.168.255.255"], ["192.167.255.255", "192.169.0.0"]],
  ["198.18/15 benchmarking", ["198.18.0.0", "198.19.255.255"], ["198.17.255.255", "198.20.0.0"]],
  ["198.51.100/24 documentation", ["198.51.100.0", "198.51.100.255"], ["198.51.99.255", "198.51.101.0"]],
  ["203.0.113/24 documentation", ["203.0.113.0", "203.0.113.255"], ["203.0.112.255", "203.0.114.0"]],
  ["224/4 multicast", ["224.0.0.0", "239.255.255.255"], ["223.255.255.255"]],
  ["240/4 reserved and broadcast", ["240.0.0.0", "255.255.255.255"], []],
  ["metadata services", ["169.254.169.254", "100.100.100.200", "169.254.170.2", "168.63.129.16"], ["168.63.129.15"]]
]

const ranges6: ReadonlyArray<readonly [name: string, inside: ReadonlyArray<string>, outside: ReadonlyArray<string>]> = [
  ["unspecified and loopback", ["::", "::1"], []],
  ["IPv4-compatible ::/96", ["::127.0.0.1", "::8.8.8.8"], []],
  ["IPv4-mapped, by the embedded IPv4", ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.1.2.3"], ["::ffff:8.8.8.8"]],
  ["SIIT ::ffff:0:0:0/96", ["::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"], []],
  ["NAT64 64:ff9b::/96, by the embedded IPv4", ["64:ff9b::7f00:1", "64:ff9b::10.0.0.1"], ["64:ff9b::8.8.8.8"]],
  ["rest of 64:ff9b::/32", ["64:ff9b:1::1", "64:ff9b:1::8.8.8.8", "64:ff9b:0:1::808:808"], []],
  ["100::/64 discard", ["100::", "100::ffff:ffff:ffff:ffff"], []],
  ["2001::/23 Teredo, ORCHID", ["2001::1", "2001:10::1", "2001:20::1", "2001:1ff:ffff::1"], ["2001:200::1"]],
  ["2001:db8::/32 documentation", ["2001:db8::", "2001:db8:ffff::1"], ["2001:db7::1", "2001:db9::1"]],
  ["2002::/16 6to4", ["2002:7f00:1::1", "2002:808:808::1"], ["2003::1"]],
  ["3fff::/20 documentation", ["3fff::1", "3fff:fff:ffff::1"], ["3fff:1000::1"]],
  ["5f00::/16 segment routing", ["5f00::1"], []],
  ["fc00::/7 unique-local", ["fc00::1", "fd00:ec2::254", "fdff:ffff::1"], []],
  ["fe80::/10 link-local", ["fe80::1", "febf::1"], []],
  ["fec0::/10 site-local", ["fec0::1", "feff::1"], []],
  ["ff00::/8 multicast", ["ff00::1", "ff02::1", "ffff::1"], []],
  ["outside the assigned space", ["200::1", "400::1", "1fff::1", "4000::1", "8000::1"], ["2000::1", "2a00:1450::1"]],
  ["ISATAP endings", ["2a00:1450::5efe:127.0.0.1", "2a00:1450::200:5efe:8.8.8.8"], ["2a00:1450::5eff:7f00:1"]]
]

describe("isPublicAddress", () => {
  for (const [name, inside, outside] of [...ranges4, ...ranges6]) {
    it(`URL-2: refuses ${name}, and not their neighbours`, () => {
      for (const ip of inside) assert.isFalse(isPublicAddress(ip, []), ip)
      for (const ip of outside) assert.isTrue(isPublicAddress(ip, []), ip)
    })
  }

  it("URL-2: accepts well-known public addresses", () => {
    for (const ip of ["1.1.1.1", "8.8.8.8", "200.160.2.3", "2606:4700:4700::1111", "2001:4860:4860::8888"]) {
      assert.isTrue(isPublicAddress(ip, []), ip)
    }
  })

  it("refuses IPv6 zone ids and text that is no address", () => {
    for (const ip of [
      "2606:4700::1%eth0",
      "fe80::1%1",
      "",
      "localhost",
      "8.8.8",
      "08.8.8.8",
      "8.8.8.8/32",
      "[::1]",
      " 8.8.8.8"
    ]) {
      assert.isFalse(isPublicAddress(ip, networks("0.0.0.0/0,::/0")), ip)
    }
  })

  it("URL-2: WEBHOOK_ALLOWED_NETWORKS lets an installation deliver inside its own network, and only there", () => {
    const allowed = networks("10.0.0.0/8, ::1/128,127.0.0.1/32")
    for (const ip of [
      "10.0.0.0",
      "10.255.255.255",
      "127.0.0.1",
      "::1",
      "::ffff:10.1.2.3",
      "64:ff9b::10.1.2.3",
      "8.8.8.8"
    ]) {
      assert.isTrue(isPublicAddress(ip, allowed), ip)
    }
    // Addresses of the other family with the same number are others.
    assert.isFalse(isPublicAddress("0.0.0.1", networks("::1/128")))
    assert.isFalse(isPublicAddress("::a01:203", networks("10.0.0.0/8")))
    for (const ip of ["11.0.0.0.0", "127.0.0.2", "::2", "192.168.0.1", "::ffff:127.0.0.2"]) {
      assert.isFalse(isPublicAddress(ip, allowed), ip)
    }
  })
})

describe("parseNetworks", () => {
  it("reads a list of CIDRs, empty by default", () => {
    assert.deepStrictEqual(networks(""), [])
    assert.deepStrictEqual(networks(" "), [])
    assert.deepStrictEqual(networks("10.0.0.0/8,::1/128"), [
      { cidr: "10.0.0.0/8", family: 4, first: 0x0a000000n, last: 0x0affffffn },
      { cidr: "::1/128", family: 6, first: 1n, last: 1n }
    ])
  })

  it("names a malformed network in the message", () => {
    for (const cidr of [
      "10.0.0.1/8",
      "10.0.0.0",
      "10.0.0.0/33",
      "10.0.0/8",
      "::/129",
      "fe80::%eth0/64",
      "x",
      "10.0.0.0/8/8",
      "10.0.0.0/-1"
    ]) {
      const parsed = parseNetworks(`127.0.0.0/8,${cidr}`)
      assert.isTrue(Result.isFailure(parsed), cidr)
      assert.include(Result.isFailure(parsed) ? parsed.failure : "", `"${cidr}" is not a network`)
    }
  })
})
