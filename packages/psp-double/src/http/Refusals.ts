/** Refusals as answers of the central bank's document and of Efí's documentation. */
import type { Refusal } from "../provider/Refusal.ts"
import { type Answer, efiError, json, problem } from "./Answer.ts"

/** The problem type of an invalid request. */
const invalidType = (operation: string): string => {
  if (/\/cob(\/|$)/.test(operation)) return operation.startsWith("get") ? "CobConsultaInvalida" : "CobOperacaoInvalida"
  if (/\/webhook(\/|$)/.test(operation)) {
    return operation.startsWith("get") ? "WebhookConsultaInvalida" : "WebhookOperacaoInvalida"
  }
  if (operation.startsWith("put") && operation.includes("/devolucao/")) return "PixDevolucaoInvalida"
  return operation.endsWith("/pix") ? "PixConsultaInvalida" : "RequisicaoInvalida"
}

const isInters = (operation: string) => operation.includes("/banking/")

/** RFC 7807 without `type`. */
const interError = (status: number, title: string, detail: string): Answer =>
  json(status, { title, detail, timestamp: "2026-01-01T00:00:00-03:00" })

export const bacenInvalid = (failures: ReadonlyArray<string>, operation: string): Answer => {
  if (isInters(operation)) return interError(400, "Requisição inválida", failures.join("; "))
  return problem(
    400,
    invalidType(operation),
    "Requisição inválida.",
    "A requisição não respeita o schema ou está semanticamente errada.",
    failures.map((failure) => ({ razao: failure, propriedade: failure.split(":")[0]! }))
  )
}

export const bacenForbidden = (operation: string): Answer => {
  const detail = "Requisição de participante autenticado que viola alguma regra de autorização."
  return isInters(operation)
    ? interError(403, "Acesso Negado", detail)
    : problem(403, "AcessoNegado", "Acesso Negado", detail)
}

const interRefusal = (refusal: Refusal): Answer => {
  switch (refusal._tag) {
    case "PayoutNotFound":
      return interError(404, "Pix não encontrado", "Não há Pix com este código de solicitação nos últimos 90 dias.")
    case "PayeeNotFound":
      return interError(400, "Chave Pix não encontrada", "A chave informada não está cadastrada no DICT.")
    default:
      return interError(422, "Pagamento não permitido", refusal._tag)
  }
}

export const bacenRefusal = (refusal: Refusal, operation: string): Answer => {
  if (isInters(operation)) return interRefusal(refusal)
  const notFound = (type: string) => problem(404, type, "Não Encontrado", "Entidade não encontrada.")
  const invalid = (razao: string, propriedade: string, status = 400) =>
    problem(status, invalidType(operation), "Operação inválida.", "A requisição está semanticamente errada.", [
      { razao, propriedade }
    ])
  switch (refusal._tag) {
    case "CobNotFound":
      return notFound("CobNaoEncontrado")
    case "PixNotFound":
      return notFound("PixNaoEncontrado")
    case "ReturnNotFound":
      return notFound("PixDevolucaoNaoEncontrada")
    case "WebhookNotFound":
      return notFound("WebhookNaoEncontrado")
    case "PayoutNotFound":
      return notFound("NaoEncontrado")
    case "CobNotActive":
      return invalid("A cobrança não está ATIVA, e a presente requisição busca alterá-la.", "cob.status")
    case "TxidTaken":
      return invalid("O txid já foi utilizado em outra cobrança.", "cob.txid", 409)
    case "RemovalNotAlone":
      return invalid("A requisição propõe remover a cobrança juntamente com outras alterações.", "cob.status")
    case "KeyNotOurs":
      return invalid(`A chave ${refusal.key} não pertence a este usuário recebedor.`, "chave")
    case "InvalidValue":
      return invalid(refusal.reason, refusal.property)
    case "ReturnIdTaken":
      return invalid("O {id} já foi utilizado por outra requisição de devolução para o {e2eid} em questão.", "id")
    case "ReturnExceedsPix":
      return invalid("A devolução, com as demais, excederia o valor do pix originário.", "devolucao.valor")
    case "ReturnWindowClosed":
      return invalid("A janela de 90 dias para devoluções do pix passou.", "e2eid")
    case "WebhookRejected":
      return invalid(refusal.reason, "webhook.webhookUrl")
    default:
      return problem(400, "RequisicaoInvalida", "Requisição inválida.", refusal._tag)
  }
}

export const efiInvalid = (failures: ReadonlyArray<string>, operation: string): Answer =>
  operation.includes("/gn/infracoes")
    ? problem(
        400,
        "InfracoesConsultaInvalida",
        "Consulta Inválida",
        "Os parâmetros de consulta não respeitam o schema ou não fazem sentido semanticamente.",
        failures.map((failure) => ({ razao: failure, propriedade: failure.split(":")[0]! }))
      )
    : efiError(400, "valor_invalido", failures.join("; "))

export const efiRefusal = (refusal: Refusal, operation: string): Answer => {
  switch (refusal._tag) {
    case "CobNotFound":
      return efiError(400, "cobranca_nao_encontrada", "Nenhuma cobrança encontrada para o txid informado")
    case "CobNotActive":
      return efiError(400, "status_cobranca_invalido", "A cobrança não está mais com o status ATIVA")
    case "TxidTaken":
      return efiError(409, "txid_duplicado", "Campo txid informado já foi utilizado em outra cobrança")
    case "RemovalNotAlone":
      return efiError(400, "valor_invalido", "Campo status deve ser informado sem outras alterações")
    case "KeyNotOurs":
      return efiError(400, "chave_invalida", "A chave informada não faz referência à conta Efí autenticada")
    case "InvalidValue":
      return efiError(400, "valor_invalido", `Campo ${refusal.property} ${refusal.reason}`)
    case "PixNotFound":
      return efiError(400, "pix_nao_encontrado", "Nenhum pix encontrado para o identificador informado")
    case "ReturnNotFound":
      return efiError(400, "devolucao_nao_encontrada", "Nenhuma devolução encontrada para o identificador informado")
    case "ReturnIdTaken":
      return efiError(409, "devolucao_id_duplicado", "O id informado já foi utilizado em outra devolução")
    case "ReturnExceedsPix":
    case "ReturnWindowClosed":
      return efiError(400, "valor_invalido", "A devolução excede o valor ou o prazo do pix")
    case "WebhookRejected":
      return efiError(400, "webhook_invalido", refusal.reason)
    case "PayoutNotFound":
      return problem(
        404,
        "PixEnviadoNaoEncontrado",
        "Não Encontrado",
        `Pix enviado não encontrado para o ${refusal.by} informado.`
      )
    case "PayoutIdTaken":
      return efiError(409, "id_envio_duplicado", "O id de envio informado já foi utilizado em outro pagamento")
    case "PayeeNotFound":
      return efiError(404, "chave_favorecido_nao_encontrada", "A chave do favorecido não foi encontrada")
    case "PayeeDocumentDiffers":
      return efiError(
        400,
        "chave_nao_pertence_ao_documento",
        "O cpf do favorecido é diferente do documento em posse da chave"
      )
    case "PayoutDenied":
      return efiError(422, "pagamento_negado", "Pagamento negado por análises")
    case "InfractionNotFound":
      return problem(404, "InfracaoNaoEncontrada", "Não Encontrado", "Infração não encontrada.")
    case "DefenseTaken":
      return refusedDefense(409, "A defesa para essa infração já foi criada.")
    case "DefenseTooLate":
      return refusedDefense(422, "O prazo para defesa foi excedido.")
    default:
      return bacenRefusal(refusal, operation)
  }
}

const refusedDefense = (status: number, razao: string) =>
  problem(
    status,
    "InfracaoOperacaoInvalida",
    "Operação Inválida",
    "A requisição que busca apresentar uma defesa de infração não respeita o schema ou está semanticamente errada.",
    [{ razao, propriedade: "body.infractionId" }]
  )
