/**
 * The OpenAPI documents that the double and its callers are validated against.
 *
 * Guarantees
 * - The central bank's document is used as published, except for the corrections below; each names its reason and
 *   throws when the document has changed.
 * - `x-deviations` of `efi.yaml` lists the responses in which Efí differs on the central bank's paths.
 */
import { readFileSync } from "node:fs"
import { parse } from "yaml"
import type { Profile } from "./Profile.ts"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [name: string]: Json }
// oxlint-disable-next-line typescript/no-explicit-any -- a document is walked by path
export type Node = any

const parsed = new Map<string, Node>()

/** A copy of a file of `openapi/`, parsed once per process. */
const load = (file: string): Node => {
  const known = parsed.get(file) ?? parse(readFileSync(new URL(`../../openapi/${file}`, import.meta.url), "utf8"))
  parsed.set(file, known)
  return structuredClone(known)
}

interface Correction {
  readonly at: string
  readonly why: string
  readonly published: Json
  readonly corrected: Json | undefined
}

const PIX_TXID = {
  why: "the allOf also demands the 26 characters of a cob's txid, which the txid of a static QR code does not have",
  published: [{ $ref: "#/components/schemas/TxId" }, { pattern: "[a-zA-Z0-9]{1,35}" }],
  corrected: [{ type: "string", pattern: "[a-zA-Z0-9]{1,35}" }]
}
const LOCATION = {
  why: "a location has no scheme, as the document's own examples show",
  published: "uri",
  corrected: undefined
}

export const CORRECTIONS: ReadonlyArray<Correction> = [
  { at: "components/schemas/Pix/properties/txid/allOf", ...PIX_TXID },
  { at: "components/schemas/ParametrosConsultaPix/properties/txid/allOf", ...PIX_TXID },
  { at: "paths/~1pix/get/parameters/2/schema/allOf", ...PIX_TXID },
  { at: "components/schemas/PayloadLocation/properties/location/format", ...LOCATION },
  { at: "components/schemas/CobGerada/allOf/3/properties/location/format", ...LOCATION },
  {
    at: "components/schemas/PixConsultados/required",
    why: "the list is called `pix`",
    published: ["parametros", "cobs"],
    corrected: ["parametros", "pix"]
  },
  {
    at: "components/schemas/CobsConsultadas/properties/cobs/items/allOf/1/required",
    why: "no cob has `idCob`",
    published: ["status", "txid", "idCob"],
    corrected: ["status", "txid"]
  },
  {
    at: "components/schemas/CobGerada/allOf/2/properties/loc/required",
    why: "a location has no `txid`, and the examples leave out `criacao`",
    published: ["id", "txid", "tipoCob", "criacao"],
    corrected: ["id", "location"]
  },
  {
    at: "components/schemas/PayloadLocation/required",
    why: "the examples leave out `criacao`, one `tipoCob` too",
    published: ["id", "location", "tipoCob", "criacao"],
    corrected: ["id", "location"]
  },
  {
    at: "components/schemas/CobBase/properties/infoAdicionais/maximum",
    why: "`maximum` says nothing of a list: the limit is `maxItems`",
    published: 50,
    corrected: undefined
  }
]

const correct = (document: Node, { at, why, published, corrected }: Correction): void => {
  const path = at.split("/").map((part) => part.replaceAll("~1", "/"))
  const last = path.pop()!
  const parent = path.reduce((node, part) => node?.[part], document)
  if (JSON.stringify(parent?.[last]) !== JSON.stringify(published)) {
    throw new Error(`the document no longer says what is corrected at ${at} (${why})`)
  }
  if (corrected === undefined) delete parent[last]
  else parent[last] = corrected
}

/** Patterns hold for the whole value, and some are written with the slashes of a JavaScript literal. */
const anchorPatterns = (node: Node): void => {
  if (typeof node !== "object" || node === null) return
  if (typeof node.pattern === "string") {
    const bare = node.pattern.replace(/^\/(.*)\/$/, "$1")
    node.pattern = /^\^.*\$$/.test(bare) ? bare : `^(?:${bare})$`
  }
  for (const child of Object.values(node)) anchorPatterns(child)
}

/** The central bank's document, corrected. */
export const bacenDocument = (corrections = CORRECTIONS): Node => {
  const document = load("bacen-pix-api-2.9.0.yaml")
  for (const correction of corrections) correct(document, correction)
  if (corrections.length > 0) {
    anchorPatterns(document)
    document.components.schemas.CobBase.properties.infoAdicionais.maxItems = 50
  }
  return document
}

const HOOK = "{$request.body#/webhookUrl}/pix"

/** The path under which the document describes the hook. */
export const HOOK_PATH = "/hooks/pix"

/** The central bank's paths below `basePath`, its hook as a path, and the deviations and own paths of Efí, Sicoob or Inter. */
export const documentOf = ({
  name,
  basePath,
  takenTxid,
  payouts
}: Pick<Profile, "name" | "basePath" | "takenTxid" | "payouts">): Node => {
  const bacen = bacenDocument()
  const paths: Node = {}
  for (const [path, item] of Object.entries<Node>(bacen.paths)) paths[`${basePath}${path}`] = item
  paths[HOOK_PATH] = Object.values<Node>(bacen.paths["/webhook/{chave}"].put.callbacks).find(
    (callback) => HOOK in callback
  )[HOOK]
  const document = { ...bacen, paths }
  if (name === "bacen" && takenTxid === "conflict") {
    const { responses } = paths[`${basePath}/cob/{txid}`].put
    responses["409"] = responses["400"]
  }
  if (name === "bacen" && payouts === null) return document

  const own = load(`${name === "efi" ? "efi" : payouts}.yaml`)
  Object.assign(document.components.schemas, own.components.schemas)
  Object.assign(document.components.responses, own.components.responses)
  for (const [path, methods] of Object.entries<Node>(own["x-deviations"] ?? {})) {
    for (const [method, operation] of Object.entries<Node>(methods)) {
      const target = paths[`${basePath}${path}`][method]
      if (operation.replacesResponses === true) target.responses = {}
      Object.assign(target.responses, operation.responses)
    }
  }
  return { ...document, paths: { ...paths, ...own.paths } }
}
