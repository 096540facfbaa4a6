/**
 * The credentials of a connection: client id and secret, certificate and key as PEM or PKCS#12.
 *
 * Guarantees
 * - What cannot be used is an `InvalidCredentials` that names the problem, and never a part of the input.
 * - Secrets are `Redacted`.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContextOptions } from "node:tls"

/** The client's certificate and its key. */
export type ClientCertificate =
  | { readonly _tag: "Pem"; readonly cert: string; readonly key: Redacted.Redacted<string> }
  | {
      readonly _tag: "Pkcs12"
      readonly bytes: Redacted.Redacted<Uint8Array>
      readonly passphrase: Redacted.Redacted<string>
    }

export interface CredentialsInput {
  readonly clientId: string
  /** Absent where the certificate is the only proof. */
  readonly clientSecret?: Redacted.Redacted<string>
  readonly certificate: ClientCertificate
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string
}

export interface Credentials extends CredentialsInput {
  /** Of the client's certificate. */
  readonly subject: string
  readonly validFromMs: number
  readonly validToMs: number
}

export class InvalidCredentials extends Data.TaggedError("InvalidCredentials")<{
  readonly part: "certificate" | "key" | "pkcs12" | "passphrase" | "client-id" | "client-secret"
  readonly reason: string
}> {
  override get message() {
    return `${this.part}: ${this.reason}`
  }
}

/** TLS options of undici and Node. They contain secrets. */
export const tlsOptions = ({ certificate, ca }: CredentialsInput): SecureContextOptions => ({
  ...(ca !== undefined && { ca }),
  ...(certificate._tag === "Pem"
    ? { cert: certificate.cert, key: Redacted.value(certificate.key) }
    : { pfx: Buffer.from(Redacted.value(certificate.bytes)), passphrase: Redacted.value(certificate.passphrase) })
})

/** Checks that certificate and key can be used together, and reads the certificate. */
export const makeCredentials = (input: CredentialsInput): Effect.Effect<Credentials, InvalidCredentials> =>
  Effect.suspend(() => {
    if (input.clientId === "") return invalid("client-id", "is empty")
    if (input.clientSecret !== undefined && Redacted.value(input.clientSecret) === "") {
      return invalid("client-secret", "is empty")
    }
    return Effect.try({
      try: () => {
        const certificate = readCertificate(input)
        return {
          ...input,
          subject: certificate.subject,
          validFromMs: Date.parse(certificate.validFrom),
          validToMs: Date.parse(certificate.validTo)
        }
      },
      catch: (cause) => problemOf(input.certificate, cause)
    })
  })

const invalid = (part: InvalidCredentials["part"], reason: string) =>
  Effect.fail(new InvalidCredentials({ part, reason }))

/** Throws what OpenSSL says. */
const readCertificate = (input: CredentialsInput): X509Certificate => {
  const opened = createSecureContext(tlsOptions(input)) as { context: { getCertificate?: () => Buffer | null } }
  if (input.certificate._tag === "Pem") return new X509Certificate(input.certificate.cert)
  const der = opened.context.getCertificate?.() ?? undefined
  if (der === undefined) throw new Error("no certificate")
  return new X509Certificate(der)
}

const problemOf = ({ _tag }: ClientCertificate, cause: unknown): InvalidCredentials => {
  const { code = "", message = "" } = cause as { readonly code?: string; readonly message?: string }
  if (code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH") {
    return new InvalidCredentials({ part: "key", reason: "does not belong to the certificate" })
  }
  if (_tag === "Pem") {
    return code.startsWith("ERR_OSSL_PEM") || /cert/i.test(code)
      ? new InvalidCredentials({ part: "certificate", reason: "is not a certificate in PEM" })
      : new InvalidCredentials({ part: "key", reason: "is not a private key in PEM" })
  }
  if (/mac verify failure/i.test(message)) {
    return new InvalidCredentials({ part: "passphrase", reason: "does not open the PKCS#12 file" })
  }
  if (/unsupported/i.test(`${code} ${message}`)) {
    return new InvalidCredentials({ part: "pkcs12", reason: "is encrypted with an algorithm that OpenSSL 3 disables" })
  }
  return message === "no certificate"
    ? new InvalidCredentials({ part: "pkcs12", reason: "contains no certificate" })
    : new InvalidCredentials({ part: "pkcs12", reason: "is not a PKCS#12 file" })
}
