/**
 * The guides of `docs/guides` and the contract, as the service shows them: `pnpm run openapi` writes `guides.json` from them.
 */
import texts from "../guides.json" with { type: "json" }

export const guides: { readonly en: string; readonly pt: string; readonly contract: string } = texts
