/**
 * Certificate authorities made at start. They issue server and client certificates, as PEM and PKCS#12.
 *
 * Why RSA: node-forge writes no PKCS#12 for elliptic curves. Node makes the keys and signs, because node-forge
 * takes seconds.
 */
import * as DateTime from "effect/DateTime"
import forge from "node-forge"
import { generateKeyPair, randomBytes, sign } from "node:crypto"
import { promisify } from "node:util"

export interface Identity {
  /** PEM. */
  readonly cert: string
  /** PEM, PKCS#8. */
  readonly key: string
  /** PEM of the authority that issued it. */
  readonly ca: string
  readonly pkcs12: (passphrase: string) => Buffer
}

export interface Issue {
  readonly name: string
  readonly usage: "server" | "client"
  readonly validFromMs?: number
  readonly validToMs?: number
}

export interface Authority {
  /** PEM. */
  readonly cert: string
  /** A server's certificate is valid for `localhost`, 127.0.0.1 and ::1. */
  readonly issue: (issue: Issue) => Promise<Identity>
}

/**
 * A serial number of random bytes, in hexadecimal: positive, and without a leading zero. node-forge writes a number that begins
 * with two zeros as it is, OpenSSL refuses it, and Node then trusts no certificate of that authority, without an error.
 */
export const serialNumberOf = (random: Uint8Array): string => {
  const [first = 0, ...others] = random
  return Buffer.from([0x40 | (first & 0x3f), ...others]).toString("hex")
}

const DAY_MS = 24 * 3_600_000

export const makeAuthority = async (name: string, nowMs: number): Promise<Authority> => {
  const keys = await newKeys()
  const subject = [{ name: "commonName", value: name }]
  const root = certificate({
    keys,
    subject,
    issuer: subject,
    fromMs: nowMs - DAY_MS,
    toMs: nowMs + 365 * DAY_MS,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true }
    ]
  })
  signWith(keys, root)
  const ca = forge.pki.certificateToPem(root)
  return {
    cert: ca,
    issue: async (issue) => {
      const own = await newKeys()
      const issued = certificate({
        keys: own,
        subject: [{ name: "commonName", value: issue.name }],
        issuer: subject,
        fromMs: issue.validFromMs ?? nowMs - DAY_MS,
        toMs: issue.validToMs ?? nowMs + 90 * DAY_MS,
        extensions: issue.usage === "server" ? SERVER : CLIENT
      })
      signWith(keys, issued)
      return {
        cert: forge.pki.certificateToPem(issued),
        key: own.pem,
        ca,
        pkcs12: (passphrase) => {
          const bag = forge.pkcs12.toPkcs12Asn1(own.privateKey, [issued, root], passphrase, { algorithm: "aes256" })
          return Buffer.from(forge.asn1.toDer(bag).getBytes(), "binary")
        }
      }
    }
  }
}

interface Keys {
  readonly pem: string
  readonly privateKey: forge.pki.rsa.PrivateKey
  readonly publicKey: forge.pki.rsa.PublicKey
}

const newKeys = async (): Promise<Keys> => {
  const { privateKey: pem } = await promisify(generateKeyPair)("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" }
  })
  const privateKey = forge.pki.privateKeyFromPem(pem)
  return { pem, privateKey, publicKey: forge.pki.setRsaPublicKey(privateKey.n, privateKey.e) }
}

/** RSA with SHA-256. */
const signWith = ({ pem }: Keys, certificate: forge.pki.Certificate): void => {
  const node = {
    sign: () => {
      const bytes = forge.asn1.toDer(certificate.tbsCertificate).getBytes()
      return sign("sha256", Buffer.from(bytes, "binary"), pem).toString("binary")
    }
  }
  certificate.sign(node as unknown as forge.pki.rsa.PrivateKey, forge.md.sha256.create())
}

const certificate = (of: {
  readonly keys: Keys
  readonly subject: Array<forge.pki.CertificateField>
  readonly issuer: Array<forge.pki.CertificateField>
  readonly fromMs: number
  readonly toMs: number
  readonly extensions: ReadonlyArray<object>
}): forge.pki.Certificate => {
  const made = forge.pki.createCertificate()
  made.publicKey = of.keys.publicKey
  made.serialNumber = serialNumberOf(randomBytes(16))
  made.validity.notBefore = DateTime.toDateUtc(DateTime.makeUnsafe(of.fromMs))
  made.validity.notAfter = DateTime.toDateUtc(DateTime.makeUnsafe(of.toMs))
  made.setSubject(of.subject)
  made.setIssuer(of.issuer)
  made.setExtensions([...of.extensions])
  return made
}

const SERVER = [
  { name: "keyUsage", digitalSignature: true, keyEncipherment: true, critical: true },
  { name: "extKeyUsage", serverAuth: true },
  {
    name: "subjectAltName",
    altNames: [
      { type: 2, value: "localhost" },
      { type: 7, ip: "127.0.0.1" },
      { type: 7, ip: "::1" }
    ]
  }
]

const CLIENT = [
  { name: "keyUsage", digitalSignature: true, keyEncipherment: true, critical: true },
  { name: "extKeyUsage", clientAuth: true }
]
