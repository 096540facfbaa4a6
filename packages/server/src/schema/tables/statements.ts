/** Tables of banks' statements. */
import { oneOf } from "../Statements.ts"

export const statementTables = [
  `-- Statement files of banks, as they were read. The connection is the bank account: the oldest of its client.
  CREATE TABLE bank_statements (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL REFERENCES acquirer_connections,
    digest text NOT NULL, -- SHA-256 of the file
    format text NOT NULL ${oneOf("format", ["ofx", "cnab240"])},
    account text, -- the bank account's number, as the file has it
    from_day date,
    to_day date,
    opening_day date,
    opening bigint, -- cents
    closing_day date,
    closing bigint, -- cents
    lines_read integer NOT NULL,
    lines_new integer NOT NULL, -- that no file had before
    lines_unread integer NOT NULL,
    unread json NOT NULL, -- the first lines that could not be read
    problems json NOT NULL, -- what the file says of itself and is not so
    created_at timestamptz NOT NULL
  )`,
  `CREATE UNIQUE INDEX bank_statements_once ON bank_statements (connection_id, digest)`,
  `CREATE INDEX bank_statements_of_connection ON bank_statements (connection_id, id)`,
  `-- Lines of the banks' statements, once for each bank account, whichever files have them. Rows are inserted, never changed.
  CREATE TABLE bank_statement_lines (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL,
    statement_id uuid NOT NULL REFERENCES bank_statements, -- the first file that had it
    line integer NOT NULL, -- of that file
    day date NOT NULL, -- as the bank books it
    amount bigint NOT NULL CHECK (amount <> 0), -- cents; negative where money left
    occurrence integer NOT NULL, -- among the lines of the day with its amount and end-to-end id
    end_to_end_id text,
    bank_id text, -- the bank's id of the line
    description text NOT NULL
  )`,
  `CREATE UNIQUE INDEX bank_statement_lines_once
    ON bank_statement_lines (connection_id, day, amount, (coalesce(end_to_end_id, '')), occurrence)`
]
