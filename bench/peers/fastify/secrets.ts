/**
 * Encrypts webhook secrets and hashes API keys.
 */
import { createCipheriv, createHash, randomBytes } from "node:crypto"

const secretKey = createHash("sha256")
  .update(process.env["SECRETS_KEY"] ?? "bench")
  .digest()

export const seal = (secret: string): string => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", secretKey, nonce)
  return Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64")
}

export const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex")
