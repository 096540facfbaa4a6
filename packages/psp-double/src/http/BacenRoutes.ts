/** The operations of the central bank's API Pix that the double serves. */
import * as Result from "effect/Result"
import type { Profile } from "./Profile.ts"
import { termsOf } from "../provider/Cobs.ts"
import type { Provider } from "../provider/Provider.ts"
import type { Cob, CobTerms } from "../provider/State.ts"
import { empty, json } from "./Answer.ts"
import {
  centsOf,
  documentOf,
  type Handler,
  type Input,
  matches,
  pageRequestOf,
  parametrosOf,
  rangeOf,
  type Routes
} from "./Routes.ts"
import { cobView, pixView, returnView, webhookView } from "./Views.ts"

/** Expiry of a cob whose `calendario` names none (`CobExpiracao`). */
const DAY_SECONDS = 86_400

export const bacenRoutes = (provider: Provider, profile: Profile): Routes => {
  const { settings, cobs, receipts, webhooks } = provider
  const view = (cob: Cob, revision?: number) => cobView(profile, settings, cob, receipts.ofTxid(cob.txid), revision)
  const at = (operation: string) => operation.replace(" ", ` ${profile.basePath}`)

  const unknownLocation = ({ body }: Input) =>
    body.loc === undefined
      ? Result.succeed(undefined)
      : Result.fail({
          _tag: "InvalidValue",
          property: "cob.loc.id",
          reason: "O location referenciado por loc.id inexiste."
        } as const)

  const handlers: Record<string, Handler> = {
    "put /cob/{txid}": (input, { takenTxid }) =>
      Result.flatMap(unknownLocation(input), () =>
        Result.map(cobs.put(input.params["txid"]!, termsFrom(input.body), takenTxid), (cob) => json(201, view(cob)))
      ),
    "post /cob": (input) =>
      Result.flatMap(unknownLocation(input), () =>
        Result.map(cobs.post(termsFrom(input.body)), (cob) => json(201, view(cob)))
      ),
    "patch /cob/{txid}": (input) => {
      const { status, ...changes } = input.body
      const txid = input.params["txid"]!
      const revised =
        status === undefined
          ? Result.flatMap(unknownLocation(input), () => cobs.revise(txid, changesFrom(changes)))
          : cobs.remove(txid, Object.keys(changes).length > 0)
      return Result.map(revised, (cob) => json(200, view(cob)))
    },
    "get /cob/{txid}": ({ params, query }) =>
      Result.flatMap(cobs.get(params["txid"]!), (cob) => {
        const revision = query["revisao"] as number | undefined
        return revision === undefined || cob.revisions[revision] !== undefined
          ? Result.succeed(json(200, view(cob, revision)))
          : Result.fail({ _tag: "InvalidValue", property: "revisao", reason: "é inexistente para a cobrança" } as const)
      }),
    "get /cob": (input) =>
      Result.map(rangeOf(input, profile), (range) => {
        const { query } = input
        const page = cobs.list(
          range,
          (cob) =>
            matches(query["status"], cob.status) &&
            matches(query["cpf"] ?? query["cnpj"], termsOf(cob).debtor?.document) &&
            matches(query["locationPresente"], true),
          pageRequestOf(input, profile.newestFirst)
        )
        return json(200, { parametros: parametrosOf(input, page), cobs: page.items.map((cob) => view(cob)) })
      }),
    "get /pix": (input) =>
      Result.map(rangeOf(input, profile), (range) => {
        const { query } = input
        const page = receipts.list(
          range,
          (pix) =>
            matches(query["txid"], pix.txid) &&
            matches(query["txIdPresente"], pix.txid !== undefined) &&
            matches(query["devolucaoPresente"], pix.returns.length > 0) &&
            matches(query["cpf"] ?? query["cnpj"], pix.payer.document),
          pageRequestOf(input, profile.newestFirst)
        )
        return json(200, { parametros: parametrosOf(input, page), pix: page.items.map((pix) => pixView(profile, pix)) })
      }),
    "get /pix/{e2eid}": ({ params }) =>
      Result.map(receipts.get(params["e2eid"]!), (pix) => json(200, pixView(profile, pix))),
    "put /pix/{e2eid}/devolucao/{id}": ({ params, body }) =>
      Result.map(
        receipts.orderReturn(params["e2eid"]!, params["id"]!, {
          cents: centsOf(body.valor),
          nature: body.natureza,
          description: body.descricao
        }),
        (ordered) => json(201, returnView(ordered))
      ),
    "get /pix/{e2eid}/devolucao/{id}": ({ params }) =>
      Result.map(receipts.getReturn(params["e2eid"]!, params["id"]!), (found) => json(200, returnView(found))),
    "put /webhook/{chave}": ({ params, body }) =>
      Result.map(webhooks.put(params["chave"]!, body.webhookUrl), ({ url }) =>
        profile.name === "efi" ? json(201, { webhookUrl: url }) : empty(200)
      ),
    "get /webhook/{chave}": ({ params }) =>
      Result.map(webhooks.get(params["chave"]!), (webhook) => json(200, webhookView(profile, settings, webhook))),
    "delete /webhook/{chave}": ({ params }) => Result.map(webhooks.delete(params["chave"]!), () => empty(204)),
    "get /webhook": (input) => {
      const { query } = input
      const whole = { inicio: query["inicio"] ?? FIRST, fim: query["fim"] ?? LAST }
      const asked = { ...input, query: { ...query, ...whole } }
      return Result.map(rangeOf(asked, profile), (range) => {
        const page = webhooks.list(range, pageRequestOf(input, profile.newestFirst))
        return json(200, {
          parametros: parametrosOf(asked, page),
          webhooks: page.items.map((webhook) => webhookView(profile, settings, webhook))
        })
      })
    }
  }
  return Object.fromEntries(Object.entries(handlers).map(([operation, handler]) => [at(operation), handler]))
}

const FIRST = "2000-01-01T00:00:00Z"
const LAST = "2999-12-31T23:59:59Z"

const changesFrom = (body: Input["body"]): Partial<CobTerms> => {
  const debtor = body.devedor === undefined ? undefined : documentOf(body.devedor)
  return {
    ...(body.chave !== undefined && { key: body.chave }),
    ...(body.valor?.original !== undefined && { cents: centsOf(body.valor.original) }),
    ...(body.calendario?.expiracao !== undefined && { expiresInSeconds: body.calendario.expiracao }),
    ...(debtor !== undefined && { debtor: { name: body.devedor.nome, document: debtor } }),
    ...(body.solicitacaoPagador !== undefined && { requestToPayer: body.solicitacaoPagador }),
    ...(body.infoAdicionais !== undefined && { additionalInfo: body.infoAdicionais })
  }
}

const termsFrom = (body: Input["body"]): CobTerms => ({
  key: body.chave,
  cents: centsOf(body.valor.original),
  expiresInSeconds: DAY_SECONDS,
  ...changesFrom(body)
})
