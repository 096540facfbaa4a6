/** Efí's own operations: payouts, balance, disputes, resending hooks. Sources: `openapi/efi.yaml`. */
import * as Result from "effect/Result"
import type { Profile } from "./Profile.ts"
import type { Provider } from "../provider/Provider.ts"
import type { Payee } from "../provider/State.ts"
import { formatReais } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import { empty, json } from "./Answer.ts"
import {
  centsOf,
  documentOf,
  type Input,
  matches,
  pageRequestOf,
  parametrosOf,
  rangeOf,
  type Routes
} from "./Routes.ts"
import { infractionView, payoutView } from "./Views.ts"

export const efiRoutes = (provider: Provider, profile: Profile): Routes => {
  const { settings, payouts, infractions } = provider
  return {
    "put /v3/gn/pix/{idEnvio}": ({ params, body }) =>
      Result.map(
        payouts.send(params["idEnvio"]!, {
          cents: centsOf(body.valor),
          payerKey: body.pagador.chave,
          payerInfo: body.pagador.infoPagador,
          payee: payeeFrom(body.favorecido)
        }),
        (payout) =>
          json(201, {
            idEnvio: payout.id,
            e2eId: payout.endToEndId,
            valor: formatReais(payout.cents),
            horario: { solicitacao: formatInstant(payout.requestedAtMs) },
            status: payout.status
          })
      ),
    "get /v2/gn/pix/enviados/id-envio/{idEnvio}": ({ params }) =>
      Result.map(payouts.get(params["idEnvio"]!), (payout) => json(200, payoutView(payout))),
    "get /v2/gn/pix/enviados/{e2eId}": ({ params }) =>
      Result.map(payouts.getByEndToEndId(params["e2eId"]!), (payout) => json(200, payoutView(payout))),
    "get /v2/gn/pix/enviados": (input) =>
      Result.map(rangeOf(input, profile), (range) => {
        const page = payouts.list(
          range,
          ({ status }) => matches(input.query["status"], status),
          pageRequestOf(input, profile.newestFirst)
        )
        return json(200, { parametros: parametrosOf(input, page), pix: page.items.map(payoutView) })
      }),
    "get /v2/gn/saldo": ({ query }) => {
      const med = formatReais(provider.blockedCents())
      return Result.succeed(
        json(200, {
          saldo: formatReais(Math.max(0, provider.balanceCents() - provider.blockedCents())),
          bloqueios: query["bloqueios"] === true ? { judicial: "0.00", med, total: med } : undefined
        })
      )
    },
    "get /v2/gn/infracoes": (input) =>
      Result.map(rangeOf(input, profile), (range) => {
        const page = infractions.list(range, pageRequestOf(input, profile.newestFirst))
        return json(200, {
          parametros: parametrosOf(input, page),
          infracoes: page.items.map((infraction) => infractionView(settings, infraction))
        })
      }),
    "post /v2/gn/infracoes/{idInfracao}/defesa": ({ params, body }) =>
      Result.map(infractions.defend(params["idInfracao"]!, body.justificativa), () => empty(201)),
    "post /v2/gn/webhook/reenviar": ({ body }) => {
      provider.reportAgain(body.tipo, body.e2eids)
      return Result.succeed(empty(202))
    }
  }
}

const payeeFrom = (favorecido: Input["body"]): Payee => {
  if (favorecido.contaBanco === undefined) return { key: favorecido.chave, document: documentOf(favorecido) }
  const { nome, codigoBanco, agencia, conta, tipoConta } = favorecido.contaBanco
  return {
    account: {
      name: nome,
      document: documentOf(favorecido.contaBanco)!,
      bankCode: codigoBanco,
      branch: agencia,
      number: conta,
      type: tipoConta
    }
  }
}
