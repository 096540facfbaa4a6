/** A secret that is shown once: a key or a token. */
import { words } from "../words/Words.ts"
import { Copy } from "./Copy.tsx"

export const Secret = ({ text }: { readonly text: string }) => (
  <div class="card secret" role="status">
    <b>{words().cards.secret}</b>
    <div>
      <code>{text}</code> <Copy text={text} />
    </div>
  </div>
)
