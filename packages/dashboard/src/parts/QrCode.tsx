/** A QR code, as a vector image without styles. Dark on white in both schemes, because readers of codes need it. */
import { encode } from "uqr"

export const QrCode = ({ label, text }: { readonly text: string; readonly label: string }) => {
  const { data, size } = encode(text, { border: 2 })
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("")
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path d={path} />
    </svg>
  )
}
