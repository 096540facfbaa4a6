/** The receipt of money that moved, as a PDF in another tab. */
import { language, words } from "../words/Words.ts"

export const ReceiptLink = ({ of, quiet = false }: { readonly of: string; readonly quiet?: boolean }) => (
  <a
    class={quiet ? undefined : "button"}
    href={`/operator/v1${of}/receipt?format=pdf&language=${language.value}`}
    target="_blank"
    rel="noreferrer"
  >
    {words().actions.receipt}
  </a>
)
