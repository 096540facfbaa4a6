/** Tables of banks' statements. */
import { lineStates, unmatchedStates } from "@pix-payments/domain/Reconciliation"
import { oneOf } from "../Statements.ts"

export const statementTables = [
  `-- Statement files of banks, as they were read. The connection is the bank account: the oldest of its client.
  CREATE TABLE bank_statements (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL REFERENCES acquirer_connections,
    digest text NOT NULL, -- SHA-256 of the file
    format text NOT NULL ${oneOf("format", ["ofx", "cnab240"])},
    bank text, -- its three digits, as the file has them
    account text, -- the bank account's number, as the file has it
    from_day date,
    to_day date,
    opening_day date,
    opening bigint, -- cents
    closing_day date,
    closing bigint, -- cents
    has_ids boolean NOT NULL, -- whether its lines have the end-to-end ids of Pix
    lines_read integer NOT NULL,
    lines_new integer NOT NULL, -- that no file had before
    lines_unread integer NOT NULL,
    unread json NOT NULL, -- lines that were not read, those that may be movements first
    problems json NOT NULL, -- what the file says of itself and is not so
    created_at timestamptz NOT NULL
  )`,
  `CREATE UNIQUE INDEX bank_statements_once ON bank_statements (connection_id, digest)`,
  `CREATE INDEX bank_statements_of_connection ON bank_statements (connection_id, id)`,
  `-- Lines of the banks' statements, once for each bank account, whichever files have them. One without an id, or with one in capitals, gets that of a later file.
  CREATE TABLE bank_statement_lines (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL,
    statement_id uuid NOT NULL REFERENCES bank_statements, -- the first file that had it, with its id if one has that
    line integer NOT NULL, -- of that file
    day date NOT NULL, -- as the bank books it
    amount bigint NOT NULL CHECK (amount <> 0), -- cents; negative where money left
    end_to_end_id text,
    bank_id text, -- the bank's id of the line
    description text NOT NULL
  )`,
  `CREATE INDEX bank_statement_lines_of_id ON bank_statement_lines (connection_id, end_to_end_id) WHERE end_to_end_id IS NOT NULL`,
  `CREATE INDEX bank_statement_lines_of_day ON bank_statement_lines (connection_id, day, amount)`,
  `-- Days of bank accounts that are compared with the books: one row a day.
  CREATE TABLE reconciliations (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL REFERENCES acquirer_connections, -- the bank account: the oldest connection of its client
    day date NOT NULL,
    status text NOT NULL ${oneOf("status", ["requested", "done", "failed"])},
    reason text, -- why it failed
    due_at timestamptz, -- the next comparison; null: none is due
    opening bigint, -- cents; null: no statement says it
    closing bigint, -- cents; null: no statement says it
    bank_total bigint NOT NULL DEFAULT 0, -- cents of the bank's lines of the day
    books_total bigint NOT NULL DEFAULT 0, -- cents of the movements of the day
    states json NOT NULL DEFAULT '{}', -- count and cents of the difference by state
    unmatched integer NOT NULL DEFAULT 0, -- lines that differ and that nobody explained
    lines_left_out integer NOT NULL DEFAULT 0, -- beyond the most that are stored
    looked_up_to text, -- the last end-to-end id that was looked up, where more are to be; null: none
    balance_at timestamptz, -- when the bank was last asked for its balance; null: never
    balance bigint, -- cents that it has by its API
    balance_books bigint, -- cents that the books had then
    balance_before bigint, -- the difference of both at the reading before
    balance_problem text, -- why it could not be read
    done_at timestamptz,
    created_at timestamptz NOT NULL
  )`,
  `CREATE UNIQUE INDEX reconciliations_of_day ON reconciliations (connection_id, day)`,
  `CREATE INDEX reconciliations_of_connection ON reconciliations (connection_id, id)`,
  `CREATE INDEX reconciliations_due ON reconciliations (due_at) WHERE due_at IS NOT NULL`,
  `-- What a day has that is not the same on both sides. Replaced with each comparison, which keeps explanations.
  CREATE TABLE reconciliation_lines (
    id uuid PRIMARY KEY,
    reconciliation_id uuid NOT NULL REFERENCES reconciliations,
    day date NOT NULL,
    state text NOT NULL ${oneOf("state", lineStates)},
    difference bigint NOT NULL, -- cents that it adds to the difference of the day
    bank_line_id uuid, -- null: the bank has none
    bank_day date,
    bank_amount bigint, -- cents
    books_day date,
    books_amount bigint, -- cents
    transfer_id uuid, -- the first of the ledger; null: the books have none
    source_object text,
    source_id uuid,
    account_id uuid,
    end_to_end_id text,
    description text,
    suggestions json NOT NULL, -- movements of the same amount
    explanation text -- a person's, of a line that differs; null: none
  )`,
  `CREATE INDEX reconciliation_lines_of_state ON reconciliation_lines (reconciliation_id, state, id)`,
  `CREATE INDEX reconciliation_lines_unmatched ON reconciliation_lines (day) WHERE state IN (${unmatchedStates.map((state) => `'${state}'`).join(", ")}) AND explanation IS NULL`
]
