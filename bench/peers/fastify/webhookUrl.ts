/**
 * The check of a webhook URL: only public addresses are allowed.
 */
import { isPublicAddress, judgeUrl } from "@pix-payments/domain/PublicUrl"
import { lookup } from "node:dns/promises"

/** A name that does not resolve is allowed. */
export const isAllowedUrl = async (url: string): Promise<boolean> => {
  const verdict = judgeUrl(url, [])
  if (verdict._tag === "Refused") return false
  if (verdict.host._tag === "Address") return true
  const addresses = await lookup(verdict.host.name, { all: true }).catch(() => [])
  return addresses.every(({ address }) => isPublicAddress(address, []))
}
