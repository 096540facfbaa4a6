/**
 * Who sent a callback: its address, and its verified client certificate.
 *
 * Guarantees:
 * - The headers of a proxy are read from `ACQUIRER_TRUSTED_PROXY` only.
 * - A certificate counts where TLS, or the proxy, verified it against the authority of the installation, and its common
 *   name is one of `ACQUIRER_CERTIFICATE_NAMES` where these are set.
 * - A secret counts from the provider's addresses, or with a certificate; where the connection is registered for mutual TLS,
 *   with a certificate only. It is compared in constant time.
 */
import type { Network } from "@pix-payments/domain/PublicUrl"
import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { TLSSocket } from "node:tls"
import { contains, forwardedFor, listOf, plain } from "../base/network/Networks.ts"
import { commonNameOf } from "./DistinguishedName.ts"

export interface Sender {
  readonly address: string
  /** The common name of its verified certificate; undefined without one. */
  readonly certificateName: string | undefined
}

export interface SenderRules {
  readonly acquirerTrustedProxy: ReadonlyArray<Network>
  /** Empty: every certificate of the authority. */
  readonly acquirerCertificateNames: ReadonlyArray<string>
  /** Addresses of providers, beside those of their profiles. */
  readonly acquirerNetworks: ReadonlyArray<Network>
}

/** What a callback of a connection is checked against. */
export interface Credential {
  /** SHA-256 of the secret in the callback's URL; undefined where the connection has none. */
  readonly secretHash: Buffer | undefined
  /** Addresses that the provider sends from. */
  readonly addresses: ReadonlyArray<string>
  /** Whether the provider was asked to send its certificate. */
  readonly isMutualTls: boolean
}

export const makeSenders = ({ acquirerCertificateNames, acquirerNetworks, acquirerTrustedProxy }: SenderRules) => {
  const proxies = listOf(acquirerTrustedProxy)
  const networks = listOf(acquirerNetworks)
  const names = new Set(acquirerCertificateNames)
  const accepted = (name: string | undefined) =>
    name !== undefined && (names.size === 0 || names.has(name)) ? name : undefined
  const comesFrom = (address: string, ofProvider: ReadonlyArray<string>) =>
    ofProvider.includes(plain(address)) || contains(networks, address)

  return {
    senderOf: (request: IncomingMessage): Sender => {
      const { headers, socket } = request
      const peer = socket.remoteAddress ?? ""
      if (!contains(proxies, peer)) return { address: peer, certificateName: accepted(verifiedName(socket)) }
      const subject = headers["x-ssl-client-s-dn"]
      const isVerified = headers["x-ssl-client-verify"] === "SUCCESS"
      return {
        address: forwardedFor(request) ?? "",
        certificateName: accepted(isVerified && typeof subject === "string" ? commonNameOf(subject) : undefined)
      }
    },

    /** Whether a connection, secret or registration of another process could make this callback the provider's. */
    mayBecomeKnown: (sender: Sender, secret: string | undefined, credential: Credential | undefined): boolean =>
      sender.certificateName !== undefined ||
      (secret !== undefined && comesFrom(sender.address, credential?.addresses ?? [])),

    /** Whether a callback is the provider's. `credential` is undefined for an unknown connection. */
    admits: (sender: Sender, secret: string | undefined, credential: Credential | undefined): boolean => {
      const isSecret = timingSafeEqual(hashOf(secret ?? ""), credential?.secretHash ?? NO_HASH)
      if (credential === undefined) return false
      if (secret === undefined) return sender.certificateName !== undefined
      if (!isSecret) return false
      if (sender.certificateName !== undefined) return true
      return !credential.isMutualTls && comesFrom(sender.address, credential.addresses)
    }
  }
}

export const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest()

/** The hash of no text. */
const NO_HASH = Buffer.alloc(32)

/** The common name of a certificate that TLS verified. */
const verifiedName = (socket: IncomingMessage["socket"]): string | undefined => {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const name: unknown = socket.getPeerCertificate().subject?.CN
  return typeof name === "string" ? name : undefined
}
