/**
 * A receipt as a PDF of one page.
 *
 * Guarantees:
 * - The same text gives the same bytes: there is no date, no id and no compression in it.
 * - Text is in the fonts that every reader has, in Windows-1252. A character beyond it is a question mark.
 *
 * Why no library: a page of text and squares needs five kinds of objects; the libraries for it have megabytes, and write dates.
 */
import { encode } from "uqr"
import type { ReceiptText } from "./ReceiptText.ts"

export const receiptPdf = (text: ReceiptText, url: string): Buffer => {
  const content = drawn(text, url)
  return fileOf([
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${WIDTH} ${HEIGHT}] /Contents 4 0 R
/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    fontOf("Helvetica"),
    fontOf("Helvetica-Bold"),
    `<< /Title ${stringOf(text.title)} >>`
  ])
}

// A4, in points.
const WIDTH = 595
const HEIGHT = 842
const LEFT = 56
const VALUE = 190

const drawn = ({ amount, notice, sections, title, verify }: ReceiptText, url: string): string => {
  const commands: Array<string> = []
  let y = HEIGHT - 72
  const line = (text: string, { bold = false, size = 10, x = LEFT } = {}) =>
    commands.push(`BT /F${bold ? 2 : 1} ${size} Tf ${x} ${y} Td ${stringOf(text)} Tj ET`)
  /** Lines of at most `most` characters. */
  const wrapped = (text: string, most: number, x: number) => {
    for (const each of linesOf(text, most)) {
      line(each, { x })
      y -= 14
    }
  }
  line(title, { bold: true, size: 16 })
  y -= 34
  line(amount, { bold: true, size: 24 })
  y -= 12
  for (const section of sections) {
    y -= 22
    line(section.title, { bold: true, size: 11 })
    y -= 18
    for (const [name, value] of section.lines) {
      line(name)
      wrapped(value, 60, VALUE)
      y -= 2
    }
  }
  y -= 24
  wrapped(notice, 88, LEFT)
  wrapped(`${verify} ${url}`, 80, LEFT)
  commands.push(...squares(url, y - 4))
  return commands.join("\n")
}

/** The QR code, below `top`: one path, so that no renderer draws seams between its squares. */
const squares = (url: string, top: number): ReadonlyArray<string> => {
  const { data } = encode(url, { border: 0 })
  const dark = data.flatMap((row, at) =>
    row.flatMap((isDark, column) =>
      isDark ? [`${LEFT + column * SQUARE} ${top - (at + 1) * SQUARE} ${SQUARE} ${SQUARE} re`] : []
    )
  )
  return [...dark, "f"]
}

const SQUARE = 3

/** Words on lines of at most `most` characters; a longer word is divided. */
const linesOf = (text: string, most: number): ReadonlyArray<string> => {
  const lines = [""]
  for (const word of text.split(" ").flatMap((each) => each.match(new RegExp(`.{1,${most}}`, "gu")) ?? [])) {
    const last = lines.at(-1)!
    if (last === "") lines[lines.length - 1] = word
    else if (last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

const fontOf = (name: string): string =>
  `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`

/** A string of hexadecimal digits: it needs no escapes. */
const stringOf = (text: string): string =>
  `<${[...text].map((character) => byteOf(character.codePointAt(0)!).toString(16).padStart(2, "0")).join("")}>`

const byteOf = (point: number): number =>
  (point >= 0x20 && point < 0x7f) || (point >= 0xa0 && point <= 0xff) ? point : (others.get(point) ?? 0x3f)

/** The characters of Windows-1252 whose bytes are not their code points: dashes, quotes, the euro. */
const others = new Map(
  [...new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 32 }, (_, index) => 0x80 + index))].map(
    (character, index) => [character.codePointAt(0)!, 0x80 + index]
  )
)

/** Objects, numbered from 1, and the table of where each begins. */
const fileOf = (objects: ReadonlyArray<string>): Buffer => {
  let file = "%PDF-1.4\n"
  const starts = objects.map((object, index) => {
    const start = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return start
  })
  const table = starts.map((start) => `${String(start).padStart(10, "0")} 00000 n \n`).join("")
  const size = objects.length + 1
  return Buffer.from(
    `${file}xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R /Info ${objects.length} 0 R >>\nstartxref\n${file.length}\n%%EOF\n`,
    "latin1"
  )
}
