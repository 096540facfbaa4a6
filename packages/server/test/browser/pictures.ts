/**
 * Compresses the pictures of every page, from `.vitest/dashboard` into `docs/images`.
 *
 * Guarantee: a picture shows the whole width of the page, scaled to `MAX_WIDTH`, in at most `MAX_PICTURE_BYTES`: as much of its height
 * as fits.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { chromium } from "playwright-core"
import { launch, pictures, root } from "./Chromium.ts"
import { MAX_PICTURE_BYTES, pictureNames } from "./DashboardPages.ts"

/** In pixels. */
const MAX_WIDTH = 960

/** From the highest to the lowest. */
const HEIGHTS = [1150, 1000, 860, 720]
const QUALITIES = [0.8, 0.7, 0.6, 0.5, 0.4]

const server = await launch()
if (server === undefined) throw new Error("no Chrome or Chromium: pnpm run runtimes:chromium")
const browser = await chromium.connect(server.wsEndpoint())
const page = await browser.newPage()
mkdirSync(join(root, "docs/images"), { recursive: true })
for (const name of pictureNames) {
  const png = readFileSync(join(pictures, `${name}.png`)).toString("base64")
  // The browser's own encoder: nothing to install. The best quality that fits.
  const webp = await page.evaluate<ReadonlyArray<number>>(`(async () => {
    const image = new Image()
    image.src = "data:image/png;base64,${png}"
    await image.decode()
    const scale = Math.min(1, ${MAX_WIDTH} / image.width)
    for (const height of ${JSON.stringify(HEIGHTS)}) {
      const canvas = new OffscreenCanvas(image.width * scale, Math.min(image.height, height) * scale)
      const context = canvas.getContext("2d")
      context.imageSmoothingQuality = "high"
      context.drawImage(image, 0, 0, image.width * scale, image.height * scale)
      for (const quality of ${JSON.stringify(QUALITIES)}) {
        const blob = await canvas.convertToBlob({ type: "image/webp", quality })
        if (blob.size <= ${MAX_PICTURE_BYTES}) return [...new Uint8Array(await blob.arrayBuffer())]
      }
    }
    throw new Error("${name} needs more than ${MAX_PICTURE_BYTES} bytes")
  })()`)
  writeFileSync(join(root, `docs/images/${name}.webp`), Uint8Array.from(webp))
}
await browser.close()
await server.close()
