/**
 * Comments of generated source.
 */

/** A documentation comment with these paragraphs. */
export const documentOf = (paragraphs: ReadonlyArray<string>): string => {
  const lines = paragraphs.join("\n\n").replaceAll("*/", "* /").split("\n")
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => (line === "" ? " *" : ` * ${line}`)).join("\n")}\n */\n`
}

/** The header comment of a generated file. */
export const generatedHeader = (description: string): string => `/**
 * ${description}
 *
 * Generated from \`PaymentsApi\` by \`pnpm run client:generate\`. Do not edit.
 */
`
