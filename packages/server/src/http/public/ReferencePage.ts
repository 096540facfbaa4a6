/**
 * The reference page `/docs` with the guides in two languages and the contract, its document `/openapi.json`, and all of it as
 * Markdown.
 *
 * Guarantees:
 * - The URL of the page's script (Scalar, from Effect) contains its hash, so that browsers cache it for good.
 * - Page and script request nothing from another host: fonts, proxy, telemetry and vendor links are off, and the content
 *   security policy forbids the rest.
 */
import { guides } from "@pix-payments/api/Guides"
import { llmsText, markdownOf } from "@pix-payments/api/Markdown"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { paymentsDocument } from "@pix-payments/api/PaymentsDocument"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import * as HttpRouter from "effect/http/HttpRouter"
import { hashOf } from "../pipeline/Negotiation.ts"
import { nothingPolicy, type Page, page, type PageContent } from "../pipeline/Pages.ts"

const document = paymentsDocument()

const documentJson = JSON.stringify(document)

const info = document["info"] as { readonly title: string; readonly version: string; readonly description: string }

/** Where the page shows a rule: its section of the contract. */
const sectionOf: Readonly<Record<string, string>> = Object.fromEntries(
  guides.contract.split(/^## /m).flatMap((section) => {
    const heading = section.slice(0, section.indexOf("\n")).toLowerCase().replaceAll(" ", "-")
    return [...section.matchAll(/^- \*\*([A-Z]+-\d+)\*\*/gm)].map(([, rule]) => [
      rule,
      `#contract/description/${heading}`
    ])
  })
)

/** The document with the guides before its routes. */
const withGuides = (text: string) => {
  const linked = text.replaceAll(/\[([A-Z]+-\d+)\]\([^)]*\)/g, (_, rule: string) => `[${rule}](${sectionOf[rule]})`)
  return { ...document, info: { ...info, description: `${linked}\n\n# Reference\n\n${info.description}` } }
}

/** What the page shows, one at a time. */
const sources = [
  { slug: "en", title: "English", shown: withGuides(guides.en) },
  { slug: "pt", title: "Português", shown: withGuides(guides.pt) },
  { slug: "contract", title: "Contract", shown: { openapi: "3.1.0", info: { ...info, description: guides.contract } } }
].map(({ shown, slug, title }) => ({ slug, title, url: `/docs/${slug}.json`, text: JSON.stringify(shown) }))

/** Renders the documents into the page. A link to another one loads the page, which shows that one then. */
const start = `
;(() => {
  window.Scalar.createApiReference("#reference", ${JSON.stringify({
    sources: sources.map(({ slug, title, url }) => ({ slug, title, url })),
    authentication: { preferredSecurityScheme: "x-api-key" },
    // Test requests go to this server directly.
    proxyUrl: "",
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: "never",
    documentDownloadType: "direct",
    agent: { disabled: true },
    mcp: { disabled: true }
  })})
  const sourceIn = (url) => new URL(url).hash.split("/")[0]
  addEventListener("hashchange", ({ newURL, oldURL }) => {
    if (sourceIn(newURL) !== sourceIn(oldURL)) location.reload()
  })
})()
`

/** Scalar's script, cut out of Effect's page. */
const scalarScript = async (): Promise<string> => {
  const page = HttpRouter.toWebHandler(HttpApiScalar.layer(PaymentsApi, { path: "/docs" }), { disableLogger: true })
  const response = await page.handler(new Request("http://localhost/docs"))
  const html = await response.text()
  await page.dispose()
  const from = html.indexOf(OPENING) + OPENING.length
  const to = html.indexOf("</script>", from)
  if (from < OPENING.length || to < 0) throw new Error("Effect's reference page has no script")
  return html.slice(from, to)
}

const OPENING = "<script>"

/** Made once: the page contains its hash. */
const script = (() => {
  let made: Promise<string> | undefined
  return () => (made ??= scalarScript().then((scalar) => scalar + start))
})()

/** Method and path of each operation, for readers without JavaScript. */
const operations = Object.entries(document.paths as Readonly<Record<string, object>>).flatMap(([path, verbs]) =>
  Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`)
)

const html = (source: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Payments Service API</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="alternate" type="text/markdown" href="/docs/markdown">
  </head>
  <body>
    <div id="reference"></div>
    <noscript>
      <h1>Payments Service API</h1>
      <p>The whole page needs JavaScript. As Markdown: <a href="/docs/guides/en">guides</a>,
        <a href="/docs/guides/pt" lang="pt">guias</a>, <a href="/docs/markdown">reference</a>,
        <a href="/docs/contract">contract</a>. The document: <a href="/openapi.json">/openapi.json</a>.</p>
      <ul>${operations.map((operation) => `\n        <li>${operation}</li>`).join("")}
      </ul>
    </noscript>
    <script src="${source}"></script>
  </body>
</html>
`

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // Scalar inserts style elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

export const pages: ReadonlyArray<Page> = [
  page("/openapi.json", async () => ({
    contentType: "application/json",
    text: documentJson,
    caching: "revalidated",
    contentSecurityPolicy: nothingPolicy
  })),
  ...sources.map(({ text, url }) =>
    page(url, async () => ({
      contentType: "application/json",
      text,
      caching: "revalidated",
      contentSecurityPolicy: nothingPolicy
    }))
  ),
  ...Object.entries({
    "/docs/markdown": markdownOf(document),
    "/docs/contract": guides.contract,
    "/docs/guides/en": guides.en,
    "/docs/guides/pt": guides.pt,
    "/llms.txt": llmsText(document)
  }).map(([path, text]) =>
    page(path, async (): Promise<PageContent> => ({
      contentType: path === "/llms.txt" ? "text/plain; charset=utf-8" : "text/markdown; charset=utf-8",
      text,
      caching: "revalidated",
      contentSecurityPolicy: nothingPolicy
    }))
  ),
  page("/docs", async () => ({
    contentType: "text/html; charset=utf-8",
    text: html(`/docs/reference.js?v=${hashOf(await script())}`),
    caching: "revalidated",
    contentSecurityPolicy: pagePolicy
  })),
  page("/docs/reference.js", async (): Promise<PageContent> => ({
    contentType: "text/javascript; charset=utf-8",
    text: await script(),
    caching: "versioned",
    contentSecurityPolicy: nothingPolicy
  }))
]
