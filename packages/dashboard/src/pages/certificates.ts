/** When the certificate of a connection is to be renewed. */
import type { Connection } from "@pix-payments/api/operator/Connections"
import { now } from "../parts/Time.tsx"

/** Its last month. */
export const CERTIFICATE_WARNING_MS = 30 * 24 * 60 * 60 * 1000

export const isEndingSoon = (connection: Connection): boolean =>
  connection.certificate_expires_at !== null &&
  Date.parse(connection.certificate_expires_at) - now.value < CERTIFICATE_WARNING_MS
