/** Sicoob's payouts, in two phases. Sources: `openapi/sicoob.yaml`. */
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Result from "effect/Result"
import type { Provider } from "../provider/Provider.ts"
import type { Payout, PayoutStatus, Settings } from "../provider/State.ts"
import { json } from "./Answer.ts"
import type { Routes } from "./Routes.ts"

const PATH = "/pix-pagamentos/v2/pagamentos"

export const sicoobRoutes = ({ settings, payouts }: Provider): Routes => ({
  [`post ${PATH}`]: ({ body }) =>
    Result.map(payouts.begin(body.chave), ({ endToEndId, document }) =>
      json(200, {
        endToEndId,
        chave: body.chave,
        tipo: "EMAIL",
        proprietario: document === undefined ? undefined : { identificador: document, nome: "Fulano de Tal" }
      })
    ),
  [`post ${PATH}/confirmacao`]: ({ body }) =>
    Result.map(
      payouts.confirm(body.endToEndId ?? "", {
        cents: centsOf(body.valor),
        payerKey: settings.keys[0]!,
        payerInfo: body.descricao
      }),
      (payout) => json(200, paymentView(settings, payout))
    ),
  [`get ${PATH}/{id}`]: ({ params }) =>
    Result.map(payouts.get(params["id"]!), (payout) => json(200, paymentView(settings, payout)))
})

/** `"12,3"` is 1230, and `"12"` is 1200. */
const centsOf = (reais: string): number => {
  const [whole = "", part = ""] = reais.split(",")
  return Number(`${whole}${part.padEnd(2, "0")}`)
}

const STATES = {
  EM_PROCESSAMENTO: "EM_PROCESSAMENTO",
  REALIZADO: "FINALIZADO",
  NAO_REALIZADO: "REJEITADO"
} as const satisfies Record<PayoutStatus, string>

const paymentView = ({ holder }: Settings, payout: Payout) => ({
  endToEndId: payout.endToEndId,
  estado: STATES[payout.status],
  valor: payout.cents / 100,
  detalheRejeicao: payout.error?.reason,
  descricao: payout.payerInfo,
  horario: formatInstant(payout.settledAtMs ?? payout.requestedAtMs),
  origem: { nome: holder.name, cpfCnpj: holder.document, chaveDict: payout.payerKey },
  destino: "key" in payout.payee ? { chaveDict: payout.payee.key } : {}
})
