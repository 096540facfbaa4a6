/**
 * A receipt as a page that can be printed, and the page that verifies its code.
 *
 * Guarantees: the page loads nothing and runs nothing (`receiptPolicy`). All text is escaped.
 */
import { createHash } from "node:crypto"
import { encode } from "uqr"
import { type ReceiptLanguage, type ReceiptText, unknownReceipt, validReceipt } from "./ReceiptText.ts"

/** The receipt. Its QR code leads to `url`. */
export const receiptPage = (text: ReceiptText, url: string): string =>
  pageOf(
    text.language,
    text.title,
    `<h1>${escaped(text.title)}</h1>
${bodyOf(text)}
<footer>
${qrCode(url)}
<div>
<p>${escaped(text.notice)}</p>
<p>${escaped(text.verify)}<br><a href="${escaped(url)}">${escaped(url)}</a></p>
</div>
</footer>`
  )

/** What the public page says of a code. */
export const verifyingPage = (text: ReceiptText): string =>
  pageOf(
    text.language,
    validReceipt[text.language],
    `<h1>${escaped(validReceipt[text.language])}</h1>
<p>${escaped(text.title)}</p>
${bodyOf(text)}
<p>${escaped(text.notice)}</p>`
  )

export const unknownPage = (language: ReceiptLanguage): string =>
  pageOf(language, unknownReceipt[language], `<h1>${escaped(unknownReceipt[language])}</h1>`)

const bodyOf = ({ amount, sections }: ReceiptText): string =>
  [
    `<p class="amount">${escaped(amount)}</p>`,
    ...sections.map(
      ({ lines, title }) =>
        `<h2>${escaped(title)}</h2>\n<dl>${lines
          .map(([name, value]) => `<dt>${escaped(name)}</dt><dd><bdi>${escaped(value)}</bdi></dd>`)
          .join("\n")}</dl>`
    )
  ].join("\n")

const qrCode = (url: string): string => {
  const { data, size } = encode(url, { border: 2 })
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("")
  return `<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="QR"><path d="${path}"/></svg>`
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const style = `
body{font:16px/1.45 system-ui,sans-serif;color:#111;background:#fff;max-width:34rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.25rem;margin:0 0 .5rem}h2{font-size:.85rem;color:#555;margin:1.25rem 0 .25rem}
.amount{font-size:2rem;font-weight:600;margin:.25rem 0}
dl{display:grid;grid-template-columns:9rem 1fr;gap:.2rem 1rem;margin:0}dt{color:#555}dd{margin:0;overflow-wrap:anywhere}
footer{display:flex;gap:1rem;align-items:center;border-top:1px solid #ccc;margin-top:1.5rem;padding-top:1rem;font-size:.85rem;overflow-wrap:anywhere}
svg{flex:none;width:9rem;height:9rem}
@media (max-width:30rem){dl{grid-template-columns:1fr}dt{margin-top:.4rem}footer{flex-direction:column;align-items:flex-start}}
svg{background:#fff}
@media screen and (prefers-color-scheme:dark){body{color:#eee;background:#15181b}h2,dt{color:#a5abb1}footer{border-color:#3a3f44}a{color:#7cc4ff}}
@media print{body{margin:0}}
`

/** The content security policy of these pages. */
export const receiptPolicy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const pageOf = (language: ReceiptLanguage, title: string, body: string): string => `<!doctype html>
<html lang="${language === "pt" ? "pt-BR" : "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`
