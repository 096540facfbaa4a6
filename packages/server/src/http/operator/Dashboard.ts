/**
 * The dashboard: the built page of `packages/dashboard`, on the operator listener.
 *
 * Guarantees:
 * - Its policy allows scripts, styles and requests of this listener alone, and no Trusted Types policy, so that no text
 *   becomes markup.
 * - Each of its paths is the one page, which shows what the path names, and so is what a browser gets at any other, with 404. Names of assets contain their hash and are
 *   cached for good.
 * - Where it was not built, these paths are unknown.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname, join } from "node:path"
import { builtDashboard } from "../../BuiltDashboard.ts"
import { type Page, page, type PageContent } from "../pipeline/Pages.ts"

/** Lists, and resources by id: `packages/dashboard/src/Pages.tsx` shows the same. */
const lists = [
  "accounts",
  "applications",
  "approvals",
  "audit",
  "charges",
  "closes",
  "connections",
  "deliveries",
  "developers",
  "disputes",
  "endpoints",
  "events",
  "exceptions",
  "ledger",
  "operators",
  "outbox-failures",
  "payouts",
  "reconciliations",
  "refunds",
  "requests",
  "search",
  "sessions",
  "settings",
  "simulator",
  "statements",
  "terminal"
]

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

/** No window of another origin has a reference to ours, and no page asks for a device. */
const otherHeaders = [
  "cross-origin-opener-policy",
  "same-origin",
  "permissions-policy",
  "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
]

const SINGLE_SIGN_ON = '<meta name="single-sign-on" content="oidc">'

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml"
}

interface Shown {
  /** Whether the sign-in page offers the identity provider. The document says so, because nobody is signed in yet. */
  readonly hasSingleSignOn: boolean
}

/** The pages as they were built when the process started. */
export const dashboardPages = ({ hasSingleSignOn }: Shown, folder: string = builtDashboard): ReadonlyArray<Page> => {
  if (!existsSync(join(folder, "index.html"))) return []
  const file = (name: string, caching: PageContent["caching"]) => {
    const read = readFileSync(join(folder, name), "utf8")
    const text = name === "index.html" && hasSingleSignOn ? read.replace("<head>", `<head>${SINGLE_SIGN_ON}`) : read
    const contentType = contentTypes[extname(name)] ?? "application/octet-stream"
    return (path: string): Page =>
      page(path, async () => ({ contentType, text, caching, contentSecurityPolicy: policy, otherHeaders }))
  }
  const document = file("index.html", "revalidated")
  return [
    ...readdirSync(join(folder, "assets")).map((name) => file(join("assets", name), "immutable")(`/assets/${name}`)),
    ...["/", ...lists.flatMap((list) => [`/${list}`, `/${list}/:id`])].map(document)
  ]
}
