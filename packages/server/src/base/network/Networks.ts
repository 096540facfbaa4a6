/**
 * Whether an address is in one of the networks of a setting, and who called behind a proxy.
 *
 * Guarantees:
 * - An IPv4 address is the same one in the form of IPv6.
 * - `X-Forwarded-For` counts from the proxies of a setting only, and of it the last address, which the proxy itself appended.
 */
import type { Network } from "@pix-payments/domain/PublicUrl"
import type { IncomingMessage } from "node:http"
import { BlockList, isIP } from "node:net"

export const listOf = (networks: ReadonlyArray<Network>): BlockList => {
  const list = new BlockList()
  for (const { cidr, family } of networks) {
    const [address, length] = cidr.split("/")
    list.addSubnet(address ?? "", Number(length ?? (family === 4 ? 32 : 128)), family === 4 ? "ipv4" : "ipv6")
  }
  return list
}

export const contains = (list: BlockList, address: string): boolean => {
  const family = isIP(plain(address))
  return family !== 0 && list.check(plain(address), family === 4 ? "ipv4" : "ipv6")
}

/** The last address of `X-Forwarded-For`; undefined where there is none. */
export const forwardedFor = ({ headers }: IncomingMessage): string | undefined => {
  const address = [headers["x-forwarded-for"]].flat().join(",").split(",").at(-1)?.trim() ?? ""
  return isIP(address) === 0 ? undefined : address
}

/** An IPv4 address in its own form. */
export const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "")
