/**
 * Records `pix` on a terminal as an animated SVG: `node packages/cli/scripts/recording.ts`.
 *
 * It runs the packed file against the service of `PIX_URL` and `PIX_TOKEN`, with the simulated acquirer and one account, on a
 * terminal of `script` (util-linux). Everything in the picture is output of these runs. Its receiver has port 3000, so start the
 * service on another one: `PORT=4400 npm start`.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"

const program = join(import.meta.dirname, "../dist/pix.js")
const target = join(import.meta.dirname, "../../../docs/pix.svg")

/** Runs `pix` on a terminal. Resolves with its lines once it ends. */
const onTerminal = (args: string) => {
  const child = spawn("script", ["-qec", `stty cols 120; ${process.execPath} ${program} ${args}`, "/dev/null"], {
    env: { ...process.env, TERM: "xterm-256color" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  let text = ""
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()))
  return {
    written: () => text,
    lines: once(child, "close").then(() => text.replaceAll("\r", "").trimEnd().split("\n"))
  }
}

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => response.end())
}).listen(3000, "127.0.0.1")
await once(server, "listening")

const listening = onTerminal("listen --forward-to localhost:3000/webhooks --limit 3")
while (!listening.written().includes("Listening")) await setTimeout(50)
const trigger = onTerminal("trigger charge.pix.paid --amount 1990")
const parts = [
  { command: "pix listen --forward-to localhost:3000/webhooks &", lines: [(await listening.lines)[0] ?? ""] },
  {
    command: "pix trigger charge.pix.paid --amount 1990",
    lines: [...(await trigger.lines), ...(await listening.lines).slice(1)]
  },
  { command: "pix charges list --limit 2", lines: await onTerminal("charges list --limit 2").lines },
  { command: "pix balance", lines: await onTerminal("balance").lines }
]
server.close()

const colours: Readonly<Record<string, string>> = {
  "1": "font-weight='bold'",
  "2": "fill='#7d8590'",
  "31": "fill='#ff7b72'",
  "32": "fill='#7ee787'",
  "33": "fill='#e3b341'"
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(" ", "\u00a0")

/** A line with its colours as spans. */
const spans = (line: string): string =>
  line
    .split("\u001b[")
    .map((part, index) => {
      const [, code = "", text = ""] = index === 0 ? [part, "", part] : (/^(\d+)m(.*)$/s.exec(part) ?? [])
      if (text === "") return ""
      const style = colours[code]
      return style === undefined ? `<tspan>${escaped(text)}</tspan>` : `<tspan ${style}>${escaped(text)}</tspan>`
    })
    .join("")

const LINE = 18
const rows = parts.flatMap(({ command, lines }, part) => [
  { text: `<tspan fill='#79c0ff'>$</tspan> ${escaped(command)}`, atS: part * 2.5 },
  ...lines.map((line, index) => ({ text: spans(line), atS: part * 2.5 + 0.8 + index * 0.15 })),
  { text: "", atS: part * 2.5 }
])
const height = rows.length * LINE + 32
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 980 ${height}" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="12.5" fill="#e6edf3">
<title>pix listen, trigger, charges list and balance on a terminal</title>
<style>text{opacity:0;animation:show .1s forwards}@keyframes show{to{opacity:1}}@media (prefers-reduced-motion:reduce){text{animation:none;opacity:1}}</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${rows
  .map(({ atS, text }, index) =>
    text === "" ? "" : `<text x="16" y="${28 + index * LINE}" style="animation-delay:${atS.toFixed(2)}s">${text}</text>`
  )
  .filter((line) => line !== "")
  .join("\n")}
</svg>
`
await writeFile(target, svg)
process.stdout.write(`${target}: ${svg.length} bytes\n`)
