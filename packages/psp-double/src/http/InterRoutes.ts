/** Inter's payouts, with an idempotency key, and its balance. Sources: `openapi/inter.yaml`. */
import * as Result from "effect/Result"
import type { Provider } from "../provider/Provider.ts"
import type { Refusal } from "../provider/Refusal.ts"
import type { Payee, Payout } from "../provider/State.ts"
import { json } from "./Answer.ts"
import type { Input, Routes } from "./Routes.ts"
import { localTime } from "./Views.ts"

export const interRoutes = ({ balanceCents, blockedCents, settings, payouts }: Provider): Routes => ({
  "get /banking/v2/saldo": () =>
    Result.succeed(
      json(200, {
        disponivel: (balanceCents() - blockedCents()) / 100,
        bloqueadoCheque: 0,
        bloqueadoJudicialmente: 0,
        bloqueadoAdministrativo: blockedCents() / 100,
        limite: 0
      })
    ),
  "post /banking/v2/pix": ({ headers, body }) => {
    const key = headers["x-id-idempotente"]!
    const sent = Result.orElse(payouts.get(key), () =>
      payouts.send(key, {
        cents: Math.round(body.valor * 100),
        payerKey: settings.keys[0]!,
        payerInfo: body.descricao,
        payee: payeeFrom(body.destinatario)
      })
    )
    return Result.map(sent, (payout) =>
      json(200, {
        tipoRetorno: payout.isHeld ? "APROVACAO" : "PROCESSADO",
        codigoSolicitacao: codeOf(payout),
        dataPagamento: dayOf(payout.requestedAtMs),
        dataOperacao: dayOf(payout.requestedAtMs)
      })
    )
  },
  "get /banking/v2/pix/{codigoSolicitacao}": ({ params }) => {
    const found = payouts.list(
      { fromMs: 0, toMs: Infinity },
      (payout) => codeOf(payout) === params["codigoSolicitacao"],
      {
        page: 0,
        size: 1
      }
    ).items[0]
    return found === undefined
      ? Result.fail({ _tag: "PayoutNotFound", by: "e2eId" } satisfies Refusal)
      : Result.succeed(json(200, { transacaoPix: transactionView(found), historico: [] }))
  }
})

/** A UUID made of the random end of the end-to-end id. */
const codeOf = ({ endToEndId }: Payout): string =>
  Buffer.from(endToEndId.slice(-16))
    .toString("hex")
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5")

const dayOf = (ms: number) => localTime(ms).slice(0, 10)

const statusOf = ({ status, isHeld, error }: Payout): string => {
  switch (status) {
    case "EM_PROCESSAMENTO":
      return isHeld ? "AGUARDANDO_APROVACAO" : "ENVIADO"
    case "REALIZADO":
      return "PAGO"
    case "NAO_REALIZADO":
      return error?.code === "AM04" ? "CANCELADO_SEM_SALDO" : "FALHA"
  }
}

const transactionView = (payout: Payout) => ({
  status: statusOf(payout),
  valor: payout.cents / 100,
  codigoSolicitacao: codeOf(payout),
  chave: "key" in payout.payee ? payout.payee.key : undefined,
  endToEnd: payout.status === "REALIZADO" ? payout.endToEndId : undefined,
  dataHoraSolicitacao: localTime(payout.requestedAtMs),
  dataHoraMovimento: payout.settledAtMs === undefined ? undefined : localTime(payout.settledAtMs),
  erros:
    payout.error === undefined
      ? []
      : [{ codigoErro: payout.error.code, descricaoErro: payout.error.reason, codigoErroComplementar: undefined }]
})

const payeeFrom = (destinatario: Input["body"]): Payee =>
  destinatario.tipo === "CHAVE"
    ? { key: destinatario.chave, document: undefined }
    : {
        account: {
          name: destinatario.nome,
          document: destinatario.cpfCnpj,
          bankCode: destinatario.instituicaoFinanceira.ispb,
          branch: destinatario.agencia,
          number: destinatario.contaCorrente,
          type: destinatario.tipoConta === "CONTA_POUPANCA" ? "svgs" : "cacc"
        }
      }
