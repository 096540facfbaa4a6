/** Records as the JSON of the central bank's document and of Efí's. */
import { buildBrCode } from "@pix-payments/domain/BrCode"
import { formatReais } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Result from "effect/Result"
import type { Profile } from "./Profile.ts"
import type {
  Cob,
  Infraction,
  Notification,
  Payout,
  Person,
  PixReturn,
  ReceivedPix,
  Settings,
  Webhook
} from "../provider/State.ts"

const instantOrNone = (ms: number | undefined) => (ms === undefined ? undefined : formatInstant(ms))

/** Without an offset, as clocks in São Paulo have shown it since 2019. */
export const localTime = (ms: number): string => formatInstant(ms - 3 * 3_600_000).slice(0, 19)

const person = ({ name, document }: Person) =>
  document.length === 11 ? { cpf: document, nome: name } : { cnpj: document, nome: name }

export const cobView = (
  profile: Profile,
  settings: Settings,
  cob: Cob,
  pix: ReadonlyArray<ReceivedPix> = [],
  revision = cob.revisions.length - 1
) => {
  const terms = cob.revisions[revision]!
  const { holder } = settings
  return {
    calendario: { criacao: formatInstant(cob.createdAtMs), expiracao: terms.expiresInSeconds },
    txid: cob.txid,
    revisao: revision,
    loc: { id: cob.locationId, location: cob.location, tipoCob: "cob", criacao: formatInstant(cob.createdAtMs) },
    location: cob.location,
    status: cob.status,
    devedor: terms.debtor === undefined ? undefined : person(terms.debtor),
    valor: { original: formatReais(terms.cents) },
    chave: terms.key,
    solicitacaoPagador: terms.requestToPayer,
    infoAdicionais: terms.additionalInfo,
    [profile.brCodeField]:
      cob.status === "ATIVA"
        ? Result.getOrThrow(
            buildBrCode({
              payloadUrl: cob.location,
              merchantName: holder.name,
              merchantCity: holder.city,
              singleUse: true
            })
          )
        : undefined,
    pix: pix.length === 0 ? undefined : pix.map((each) => pixView(profile, each))
  }
}

export const returnView = (of: PixReturn) => ({
  id: of.id,
  rtrId: of.rtrId,
  valor: formatReais(of.cents),
  natureza: of.nature,
  descricao: of.description,
  horario: { solicitacao: formatInstant(of.requestedAtMs), liquidacao: instantOrNone(of.settledAtMs) },
  status: of.status,
  motivo: of.reason
})

export const pixView = ({ namesPayer }: Profile, pix: ReceivedPix) => ({
  endToEndId: pix.endToEndId,
  txid: pix.txid,
  valor: formatReais(pix.cents),
  chave: pix.key,
  horario: formatInstant(pix.atMs),
  infoPagador: pix.payerInfo,
  ...(namesPayer && { pagador: person(pix.payer) }),
  devolucoes: pix.returns.length === 0 ? undefined : pix.returns.map(returnView)
})

export const webhookView = ({ name }: Profile, { holder }: Settings, webhook: Webhook) => ({
  webhookUrl: webhook.url,
  criacao: formatInstant(webhook.createdAtMs),
  ...(name === "efi" ? { chave: webhook.key } : { cnpj: holder.document })
})

const payeeView = ({ payee }: Payout) => {
  if ("key" in payee) return { chave: payee.key }
  const { name, document, bankCode, branch, number, type } = payee.account
  return {
    contaBanco: {
      ...person({ name, document }),
      codigoBanco: bankCode,
      agencia: branch,
      conta: number,
      tipoConta: type
    }
  }
}

export const payoutView = (payout: Payout) => ({
  endToEndId: payout.endToEndId,
  idEnvio: payout.id,
  valor: formatReais(payout.cents),
  chave: payout.payerKey,
  status: payout.status,
  infoPagador: payout.payerInfo,
  horario: {
    solicitacao: formatInstant(payout.requestedAtMs),
    liquidacao: instantOrNone(payout.settledAtMs)
  },
  favorecido: payeeView(payout),
  devolucoes:
    payout.returned.length === 0
      ? undefined
      : payout.returned.map(({ rtrId, cents, atMs }) => ({
          rtrId,
          valor: formatReais(cents),
          horario: formatInstant(atMs)
        }))
})

export const infractionView = ({ holder }: Settings, of: Infraction) => ({
  idInfracao: of.id,
  endToEndId: of.endToEndId,
  protocolo: of.protocol,
  dataTransacao: formatInstant(of.transactionAtMs),
  valor: of.cents / 100,
  chave: of.key,
  status: of.status,
  razao: of.reason,
  tipoSituacao: of.situation,
  comentario: of.comment,
  defesa: of.defense?.text,
  justificativaAnalista: of.analystReason,
  identificadorTicket: [of.protocol],
  dadosAnalise: {
    abertura: formatInstant(of.openedAtMs),
    prazoFinalizacao: formatInstant(of.deadlineMs),
    recebimentoDefesa: instantOrNone(of.defense?.atMs),
    finalizacao: instantOrNone(of.closedAtMs)
  },
  origem: { nomeParticipante: "BANCO XYZ", conta: 10_001, nome: of.payer.name, documento: of.payer.document },
  destino: { nomeParticipante: "Efí S/A", conta: 10_002, nome: holder.name, documento: holder.document },
  criadoEm: formatInstant(of.openedAtMs),
  atualizadoEm: formatInstant(of.updatedAtMs)
})

/** One object of a hook's `pix`. */
export const hookView = (profile: Profile, notification: Notification) => {
  if (notification._tag !== "PayoutSettled") {
    const { pix } = notification
    const payer = { ...person(pix.payer), codigoBanco: "00416968" }
    const view = pixView(profile, pix)
    return profile.hooksNamePayer ? { ...view, gnExtras: { pagador: payer } } : view
  }
  const { payout } = notification
  const { error } = payout
  return {
    endToEndId: payout.endToEndId,
    chave: payout.payerKey,
    tipo: "SOLICITACAO",
    status: payout.status,
    valor: formatReais(payout.cents),
    horario: payout.settledAtMs === undefined ? null : formatInstant(payout.settledAtMs),
    infoPagador: payout.payerInfo,
    gnExtras: {
      idEnvio: payout.id,
      erro: error === undefined ? undefined : { codigo: error.code, origem: error.origin, motivo: error.reason }
    }
  }
}
