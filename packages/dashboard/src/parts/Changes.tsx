/** What an operator changed: each field, before and after. The names are shown, and the values once it is opened. */
type Values = Readonly<Record<string, unknown>> | null

export const Changes = ({ after, before }: { readonly before: Values; readonly after: Values }) => {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  if (names.length === 0) return null
  return (
    <details class="changes">
      <summary>{names.join(", ")}</summary>
      <ul>
        {names.map((name) => (
          <li key={name}>
            {name}: {before !== null && <del>{textOf(before[name])}</del>} <ins>{textOf(after?.[name])}</ins>
          </li>
        ))}
      </ul>
    </details>
  )
}

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return "–"
  return typeof value === "string" ? value : JSON.stringify(value)
}
