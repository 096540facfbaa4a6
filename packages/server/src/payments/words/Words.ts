/**
 * The words by which charges and payouts are found: of names and references, accents and case folded, and their beginnings.
 *
 * Guarantees:
 * - A text has few words, each of bounded length; `search_words` of the schema says which, for what is stored and for what is
 *   asked.
 * - Amounts and phones are words that no text contains: their first character is none of a word.
 *
 * `StatusCounts.ts` writes them in the background.
 */
import { hash } from "node:crypto"
import { type Condition } from "../../database/statements/Condition.ts"
import { type AccessPath, inSubquery, is } from "../../database/statements/Seek.ts"

/** A charge or payout that has this amount. */
export const amountWord = (cents: number): string => `$${cents}`

/** A charge whose payer has this phone. */
export const phoneWord = (phone: string): string => `+${phone.replaceAll(/\D/g, "")}`

/** A charge with this Copia e Cola, where it does not contain the txid. */
export const brCodeWord = (brCode: string): string => `=${hash("md5", brCode, "hex").slice(0, 24)}`

/** The columns that have words. */
export const wordsOf = {
  charges: "ARRAY[customer_name, reference]",
  payouts: "ARRAY[recipient_name, reference]"
} as const

type Table = keyof typeof wordsOf

const tables = {
  charges: { table: "charge_words", id: "charge_id" },
  payouts: { table: "payout_words", id: "payout_id" }
} as const

/** The statement's CTE that stores the words of rows of a table: `source` has their ids in a column `resource_id`. */
export const insertedWords = (of: Table, source: string): string => {
  const { id, table } = tables[of]
  const others = of === "charges" ? ` || ${CHARGE_WORDS}` : ""
  return `inserted_${table} AS (
    INSERT INTO ${table} (word, ${id})
    SELECT word, t.id FROM (${source}) s CROSS JOIN LATERAL (SELECT * FROM ${of} WHERE id = s.resource_id OFFSET 0) t
    CROSS JOIN LATERAL unnest(search_words(${wordsOf[of]}) || ('$' || t.amount)${others}) AS word
    WHERE length(word) <= 32
    ON CONFLICT DO NOTHING
  )`
}

/** The statement's CTE that removes the words of the payers of charges, whose rows `source` has. */
export const removedPayerWords = (source: string): string => `removed_words AS (
    DELETE FROM charge_words w USING ${source} t
      CROSS JOIN LATERAL unnest(search_words(ARRAY[t.customer_name]) || ${PHONE_WORDS}) AS gone(word)
    WHERE w.word = gone.word AND w.charge_id = t.id AND gone.word <> ALL (search_words(ARRAY[t.reference]))
  )`

const PHONE_WORDS = `ARRAY(SELECT '+' || regexp_replace(t.customer_phone, '\\D', '', 'g') WHERE t.customer_phone IS NOT NULL)`

/** The phone of a charge, and its Copia e Cola. */
const CHARGE_WORDS = `ARRAY(
      SELECT '+' || regexp_replace(t.customer_phone, '\\D', '', 'g') WHERE t.customer_phone IS NOT NULL
      UNION ALL SELECT '=' || left(md5(t.br_code), 24) WHERE strpos(t.br_code, replace(t.id::text, '-', '')) = 0
    )`

/** The rows that have exactly this word. */
export const withWord = (of: Table, word: string): AccessPath => ({
  columns: [is("word", "text", word)],
  through: tables[of]
})

/** How many words with a beginning are looked at. */
const WORDS = 10

/** The rows with a word that begins as the longest one of a text does. A row may have several. */
export const withWordsLike = (of: Table, text: string): AccessPath => {
  const { table } = tables[of]
  return {
    columns: [
      inSubquery(
        "word",
        "text",
        (bind) => `
        WITH RECURSIVE sought AS (
          SELECT word AS prefix FROM unnest(search_words(ARRAY[${bind(text)}::text])) AS word
          ORDER BY length(word) DESC, word LIMIT 1
        ),
        found AS (
          SELECT (SELECT w.word FROM ${table} w WHERE w.word >= s.prefix COLLATE "C" ORDER BY w.word LIMIT 1), 1 AS n FROM sought s
          UNION ALL
          SELECT (SELECT w.word FROM ${table} w WHERE w.word > f.word ORDER BY w.word LIMIT 1), f.n + 1
          FROM found f WHERE f.word IS NOT NULL AND f.n < ${WORDS}
        )
        SELECT f.word FROM found f, sought WHERE starts_with(f.word, prefix)`
      )
    ],
    through: tables[of]
  }
}

/** Each word of a text is the beginning of a word of the row. */
export const hasWordsLike =
  (of: Table, text: string): Condition =>
  (bind) =>
    `NOT EXISTS (
      SELECT FROM unnest(search_words(ARRAY[${bind(text)}::text])) AS asked(word)
      WHERE NOT EXISTS (SELECT FROM unnest(search_words(${wordsOf[of]})) AS own(word) WHERE starts_with(own.word, asked.word))
    )`
