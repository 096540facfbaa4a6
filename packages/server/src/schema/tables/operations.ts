/** Tables of logs, statistics and maintenance. */

export const operationTables = [
  `-- The request log. Partitioned by the month of the request.
  CREATE TABLE requests (
    id uuid NOT NULL, -- the request id, where the caller sent none
    request_id text, -- that of the caller; null: it sent none
    key_id uuid,
    account_id uuid,
    route text NOT NULL,
    status integer NOT NULL,
    duration_us integer NOT NULL,
    at timestamptz NOT NULL,
    resource_id uuid, -- what the request created or names
    trace_id text -- of its trace; null: it is not sampled
  ) PARTITION BY RANGE (id)`,
  `CREATE INDEX requests_of_key ON requests (key_id, route, status, id) WHERE key_id IS NOT NULL`,
  `CREATE INDEX requests_of_nobody ON requests (route, status, id) WHERE key_id IS NULL`,
  `CREATE INDEX requests_refused ON requests (status, route, id) WHERE status >= 400`,
  `CREATE INDEX requests_of_resource ON requests (resource_id, id) WHERE resource_id IS NOT NULL`,
  `CREATE INDEX requests_of_request_id ON requests USING hash (request_id)`,

  `-- What operators did. Rows are inserted, never changed.
  CREATE TABLE audit (
    id uuid PRIMARY KEY,
    operator text NOT NULL, -- the name, as it was
    operator_id uuid, -- null: the installation's token
    via text, -- token or session
    address text,
    action text NOT NULL,
    resource_id uuid,
    request_id text NOT NULL,
    before json,
    after json,
    at timestamptz NOT NULL
  )`,
  `CREATE INDEX audit_of_action ON audit (action, id)`,
  `CREATE INDEX audit_of_operator ON audit (operator_id, id)`,
  `CREATE INDEX audit_of_operator_action ON audit (operator_id, action, id)`,

  `-- Charges and payouts of each account and state, counted from changes.
  CREATE TABLE status_counts (
    account_id uuid NOT NULL,
    resource text NOT NULL,
    status text NOT NULL,
    expires_at timestamptz NOT NULL, -- the end of the minute in which unpaid charges expire; infinity: never; -infinity: they have
    count bigint NOT NULL,
    PRIMARY KEY (account_id, resource, status, expires_at)
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX status_counts_expiring ON status_counts (expires_at)
    WHERE expires_at > '-infinity' AND expires_at < 'infinity'`,
  `-- Which changes are counted. One row.
  CREATE TABLE status_counts_position (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    transaction_id xid8 NOT NULL,
    change_id uuid NOT NULL
  )`,
  `INSERT INTO status_counts_position (transaction_id, change_id) VALUES ('0', '00000000-0000-0000-0000-000000000000')`,
  `-- What was paid (charge) and what was completed (payout) of each account and day of the installation's time zone.
  CREATE TABLE daily_volumes (
    date date NOT NULL,
    account_id uuid NOT NULL,
    resource text NOT NULL,
    count bigint NOT NULL,
    amount bigint NOT NULL, -- cents
    PRIMARY KEY (date, account_id, resource)
  ) WITH (fillfactor = 50)`,

  `-- What was paid (charge), completed (payout) and what failed in each hour.
  CREATE TABLE hourly_volumes (
    at timestamptz NOT NULL, -- the hour's first instant
    account_id uuid NOT NULL,
    resource text NOT NULL, -- charge, payout; failed_charge, failed_payout
    reason text NOT NULL, -- of a failure, up to 300 characters, which the filter of the lists takes; else empty
    count bigint NOT NULL,
    amount bigint NOT NULL, -- cents
    PRIMARY KEY (at, account_id, resource, reason)
  ) WITH (fillfactor = 50)`,

  `-- Partitions that retention has removed.
  CREATE TABLE removed_partitions (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    parent text NOT NULL,
    name text NOT NULL,
    from_id uuid, -- null: no lower bound
    before_id uuid NOT NULL,
    kept bigint NOT NULL, -- rows that were still needed, and moved to the default partition
    removed_at timestamptz NOT NULL DEFAULT now()
  )`
]
