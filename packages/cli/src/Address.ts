/** Addresses as people write them, of a receiver or of an operator listener. CLI-47. */
import { type Failure, usage } from "./Failure.ts"

/** The URL that a text means. Throws `refusal` where it means none. */
export const addressOf = (text: string, refusal: Failure): URL => {
  const address = text.trim().replace(/^:?(?=\d+(?:[/?#]|$))/, "localhost:")
  const url = URL.parse(/^(?:https?:|[a-z][a-z\d+.-]*:\/\/)/i.test(address) ? address : `http://${address}`)
  if (url === null || !/^https?:$/.test(url.protocol) || url.port === "0") throw refusal
  // `URL` reads a number as an IPv4 address: 3000 is 0.0.11.184 there.
  if (/^\d+(?:\.\d+){3}$/.test(url.hostname) && !address.includes(url.hostname)) {
    throw usage(
      `The host of ${text} would be ${url.hostname}. Write a name, or all four numbers of an address; a port of this machine as localhost:3000.`
    )
  }
  return url
}
