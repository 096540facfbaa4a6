/**
 * What both kinds of resource need on their way in: addresses that webhooks may go to, sealed secrets, ids.
 */
// This is no Effect program.
// @effect-diagnostics globalDate:off
import { isPublicAddress, judgeUrl } from "@pix-payments/domain/PublicUrl"
import { makeGenerator } from "@pix-payments/domain/Uuid"
import { createCipheriv, createHash, randomBytes, randomFillSync } from "node:crypto"
import { lookup } from "node:dns/promises"

const generate = makeGenerator((target) => randomFillSync(target))

export const nextId = () => generate(Date.now())

const secretKey = createHash("sha256")
  .update(process.env["SECRETS_KEY"] ?? "bench")
  .digest()

export const seal = (secret: string): string => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", secretKey, nonce)
  return Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64")
}

export const mayReceive = async (url: string): Promise<boolean> => {
  const verdict = judgeUrl(url, [])
  if (verdict._tag === "Refused") return false
  if (verdict.host._tag === "Address") return true
  const addresses = await lookup(verdict.host.name, { all: true }).catch(() => [])
  return addresses.every(({ address }) => isPublicAddress(address, []))
}

export const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex")
