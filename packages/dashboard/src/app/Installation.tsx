/** The settings of the installation, which every page reads: the banner of what is stopped. */
import type { Installation } from "@pix-payments/api/operator/Installation"
import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { setInstallationZone } from "../format/Time.ts"
import { inBoth } from "../words/Words.ts"
import { call } from "./Client.ts"
import { type Loaded, useLoaded } from "./Loaded.ts"
import { path } from "./Router.ts"

/** Grows with each change that this page made. */
const changes = signal(0)

export const installationChanged = (): void => {
  changes.value += 1
}

/** Read again with each page that is opened, and while it stays open. */
const useInstallation = (): Loaded<Installation> =>
  useLoaded(`${path.value} ${changes.value}`, (abort) => call((api) => api.installation.retrieve({}), abort), {
    every: 10
  })

/** Says on every page what is stopped, and gives the page the zone of its days. */
export const BrakeBanner = () => {
  const { value } = useInstallation()
  const text = bannerWords()
  const timezone = value?.timezone
  useEffect(() => {
    if (timezone !== undefined) setInstallationZone(timezone)
  }, [timezone])
  const stopped = value === undefined ? undefined : stoppedOf(value, text)
  return (
    <div class="stopped" role="status">
      {stopped !== undefined && (
        <p>
          {stopped} <a href="/settings">{text.settings}</a>
        </p>
      )}
    </div>
  )
}

const stoppedOf = (value: Installation, text: ReturnType<typeof bannerWords>): string | undefined => {
  if (value.outward === "off") return text.off
  if (value.outward === "unconfirmed") return text.unconfirmed
  if (value.payouts_paused && value.charges_paused) return text.both
  if (value.payouts_paused) return text.payouts
  return value.charges_paused ? text.charges : undefined
}

const bannerWords = inBoth({
  en: {
    payouts: "Payouts are stopped: nothing is sent.",
    charges: "Charges are stopped: none can be created.",
    both: "Payouts and charges are stopped: nothing is sent, and no charge can be created.",
    off: "This server calls nobody (OUTWARD=off): nothing is sent, swept or delivered.",
    unconfirmed: "This database is a copy: nothing is sent, swept or delivered until an operator confirms it.",
    settings: "Settings"
  },
  pt: {
    payouts: "Os pagamentos estão parados: nada é enviado.",
    charges: "As cobranças estão paradas: nenhuma pode ser criada.",
    both: "Pagamentos e cobranças estão parados: nada é enviado, e nenhuma cobrança pode ser criada.",
    off: "Este servidor não chama ninguém (OUTWARD=off): nada é enviado, consultado ou entregue.",
    unconfirmed:
      "Este banco de dados é uma cópia: nada é enviado, consultado ou entregue até que um operador confirme.",
    settings: "Configurações"
  }
})
