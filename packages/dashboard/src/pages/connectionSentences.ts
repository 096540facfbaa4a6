/**
 * What the service says of a connection, in the reader's language: the sentences of its check, why it cannot be opened, and why its
 * balance could not be read.
 * Codes, and what a bank says, stay as they are.
 */
import { inBoth } from "../words/Words.ts"

export const connectionSentence = (text: string): string =>
  sentences().reduce((said, [pattern, instead]) => said.replace(pattern, instead), text)

type Sentence = readonly [pattern: RegExp, instead: string]

const sentences = inBoth<ReadonlyArray<Sentence>>({
  en: [],
  pt: [
    [/the connection is unknown/, "a conexão é desconhecida"],
    [/the connection is unusable:/, "a conexão não pode ser usada:"],
    [/no answer in time/, "sem resposta a tempo"],
    [/no answer in (\d+) ms/, "sem resposta em $1 ms"],
    [/no token in time/, "sem token a tempo"],
    [/^no-connection/, "sem conexão"],
    [/^no-access-token/, "sem token de acesso"],
    [/^circuit-open/, "em pausa depois de falhas"],
    [/^saturated/, "chamadas demais ao mesmo tempo"],
    [/^RateLimited/, "a instituição limita as chamadas"],
    [/^CertificateRejected/, "certificado recusado"],
    [/^CredentialsRejected/, "credenciais recusadas"],
    [/^ScopeMissing/, "escopo não concedido"],
    [/is empty/, "está vazio"],
    [/is missing/, "falta"],
    [/is unknown/, "é desconhecido"],
    [/does not belong to the certificate/, "não é a chave do certificado"],
    [/is not a certificate in PEM/, "não é um certificado em PEM"],
    [/is not a private key in PEM/, "não é uma chave privada em PEM"],
    [/does not open the PKCS#12 file/, "não abre o arquivo PKCS#12"],
    [/is encrypted with an algorithm that OpenSSL 3 disables/, "usa uma cifra que o OpenSSL 3 não aceita"],
    [/contains no certificate/, "não contém certificado"],
    [/is not a PKCS#12 file/, "não é um arquivo PKCS#12"],
    [/is given beside a certificate or key in PEM/, "não pode estar junto de um certificado ou chave em PEM"],
    [/cannot be decrypted with a key of SECRETS_KEYS/, "não se decifram com nenhuma chave de SECRETS_KEYS"],
    [/The client certificate has expired\./, "O certificado do cliente venceu."],
    [/The client certificate is valid for 1 day\./, "O certificado do cliente vale por 1 dia."],
    [/The client certificate is valid for (\d+) days\./, "O certificado do cliente vale por $1 dias."],
    [/The provider issued a token\./, "A instituição emitiu um token."],
    [/The provider grants none of the needed scopes\./, "A instituição não concede nenhum dos escopos necessários."],
    [/Every scope that is needed was granted\./, "Todos os escopos necessários foram concedidos."],
    [/MEDs are not read\./, "Os MEDs não são lidos."],
    [/Not granted: (.*)\./, "Não concedidos: $1."],
    [/The scope (.*) was not granted\./, "O escopo $1 não foi concedido."],
    [/The provider does not name its time\./, "A instituição não informa a sua hora."],
    [/This clock and the provider's agree\./, "Este relógio e o da instituição concordam."],
    [
      /This clock is (\d+) s ahead of the provider's\./,
      "Este relógio está $1 s adiantado em relação ao da instituição."
    ],
    [/This clock is (\d+) s behind the provider's\./, "Este relógio está $1 s atrasado em relação ao da instituição."],
    [
      /A charge of one cent was emitted with this Pix key\./,
      "Uma cobrança de um centavo foi emitida com esta chave Pix."
    ],
    [/It was not removed, and expires within a minute\./, "Ela não foi removida, e vence em um minuto."],
    [/It was removed\./, "Ela foi removida."],
    [/The provider refuses a charge with this Pix key:/, "A instituição recusa uma cobrança com esta chave Pix:"],
    [/No charge with this Pix key was emitted\./, "Nenhuma cobrança com esta chave Pix foi emitida."],
    [/No webhook is registered for this Pix key\./, "Nenhum webhook está registrado para esta chave Pix."],
    [/The webhook of this connection is registered\./, "O webhook desta conexão está registrado."],
    [/The webhook is registered\./, "O webhook está registrado."],
    [/Another URL is registered, at an unknown place\./, "Outra URL está registrada, em lugar desconhecido."],
    [/Another URL is registered, at (.*)\./, "Outra URL está registrada, em $1."],
    [
      /Entries of its lists that could not be read since (.*): (\d+)\. They are exceptions\./,
      "Lançamentos de suas listas que não puderam ser lidos desde $1: $2. Eles são exceções."
    ],
    [
      /The provider's certificate is not trusted \((.*)\)\. Check credentials\.ca and the URL\./,
      "O certificado da instituição não é confiável ($1). Confira credentials.ca e a URL."
    ],
    [/The provider rejects the client certificate \((.*)\)\./, "A instituição recusa o certificado do cliente ($1)."],
    [
      /The provider closes the connection without an answer, as it does where it rejects the client certificate\./,
      "A instituição fecha a conexão sem responder, como faz quando recusa o certificado do cliente."
    ],
    [/The provider rejects client id and secret \((.*)\)\./, "A instituição recusa client id e secret ($1)."],
    [/The provider refuses further calls for (\d+) s\./, "A instituição recusa novas chamadas por $1 s."],
    [/The provider cannot be reached \(no connection\)\./, "A instituição não pode ser alcançada (sem conexão)."],
    [/The provider cannot be reached \((.*)\)\./, "A instituição não pode ser alcançada ($1)."],
    [/Nothing was sent:/, "Nada foi enviado:"],
    [/The answer is unclear:/, "A resposta não é clara:"],
    [/The provider refuses:/, "A instituição recusa:"],
    [/The provider answers (.*)\./, "A instituição responde $1."]
  ]
})
