-- accounts/AccountPages.ts pagesOf
SELECT
  page.id, page.account_id, page.application_id, page.origin, page.idempotency_key, page.status, page.method, page.amount, page.fee,
  page.description, page.reference, page.recipient_name, page.recipient_document, page.pix_key_type, page.bank_account,
  page.pix_key, page.webhook_url, page.webhook_secret, page.end_to_end_id, page.failure_reason, page.duplicate_of,
  page.processed_at, page.created_at, page.sequence, page.connection_id, page.provider_reference, page.trace, q.n,
  NULL::uuid AS generation, NULL::float8 AS now_ms
FROM
  (
    SELECT n, account_id, cursor, from_id, before_id, most
    FROM
      unnest($1::integer[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::integer[]) AS t (n, account_id, cursor, from_id, before_id, most)
  ) AS q
  LEFT JOIN payouts AS named ON named.id = q.cursor
  AND named.id >= $7::uuid
  LEFT JOIN LATERAL (
    SELECT *
    FROM
      (
        SELECT *
        FROM payouts
        WHERE (account_id, id) >= (q.account_id, q.from_id) AND (account_id, id) < (q.account_id, q.before_id)
        ORDER BY account_id DESC, id DESC
        LIMIT 101
      ) AS newest
    LIMIT q.most
  ) AS page ON true
WHERE q.cursor IS NULL OR (named.account_id = q.account_id)
UNION ALL
SELECT
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, (SELECT g.generation FROM caller_generation g WHERE g.id) AS generation,
  extract(epoch FROM now())::float8 * 1000 AS now_ms;

-- accounts/AccountPages.ts pagesOf
SELECT
  page.id, page.account_id, page.origin, page.status, page.method, page.amount, page.description, page.reference,
  page.customer_name, page.customer_email, page.customer_document, page.webhook_url, page.br_code, page.end_to_end_id,
  page.receiver_id, page.expires_at, page.paid_at, page.refunded_amount, page.failure_reason, page.created_at, page.sequence, q.n,
  NULL::uuid AS generation, NULL::float8 AS now_ms
FROM
  (
    SELECT n, account_id, cursor, from_id, before_id, most
    FROM
      unnest($1::integer[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::integer[]) AS t (n, account_id, cursor, from_id, before_id, most)
  ) AS q
  LEFT JOIN charges AS named ON named.id = q.cursor
  AND named.id >= $7::uuid
  LEFT JOIN LATERAL (
    SELECT *
    FROM
      (
        SELECT *
        FROM charges
        WHERE
          (account_id, origin, id) >= (q.account_id, 'api', q.from_id)
          AND (account_id, origin, id) < (q.account_id, 'api', q.before_id)
        ORDER BY account_id DESC, origin DESC, id DESC
        LIMIT 101
      ) AS newest
    LIMIT q.most
  ) AS page ON true
WHERE q.cursor IS NULL OR (named.account_id = q.account_id AND named.origin = 'api')
UNION ALL
SELECT
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, (SELECT g.generation FROM caller_generation g WHERE g.id) AS generation, extract(epoch FROM now())::float8 * 1000 AS now_ms;

-- accounts/Accounts.ts findNames
SELECT id, name
FROM accounts
WHERE id = ANY ($1::uuid[]);

-- accounts/Accounts.ts findStatement
SELECT
  a.id, a.name, a.legal_name, a.document, a.document_type, a.phone, a.status, a.onboarding_status, a.auto_payout_enabled,
  a.payout_fee_fixed, a.payout_fee_basis_points, a.default_expires_in, a.release_delay, a.payout_duplicate_window, a.payouts_paused,
  a.charges_paused,
  (
    a.charges_paused
    OR (SELECT i.charges_paused FROM installation_settings i WHERE i.id)
    OR EXISTS (SELECT FROM acquirer_connections k WHERE k.id = a.connection_id AND k.charges_paused)
  ) AS charges_stopped, a.moved_to, a.connection_id,
  (SELECT d.id FROM acquirer_connections d WHERE d.is_default) AS default_connection_id, a.approval_limit, a.statement_account,
  (
    SELECT
      json_build_object(
        'requests_per_minute', l.requests_per_minute, 'payouts_per_hour', l.payouts_per_hour, 'payouts_per_day', l.payouts_per_day,
        'payout_cents_per_day', l.payout_cents_per_day, 'recipients', l.recipients
      )
    FROM limits l
    WHERE l.owner_id = a.id
  ) AS limits, a.created_at,
  coalesce((SELECT l.balance FROM ledger_accounts l WHERE l.owner_id = a.id AND l.kind = 'available'), 0) AS available,
  coalesce((SELECT l.balance FROM ledger_accounts l WHERE l.owner_id = a.id AND l.kind = 'pending'), 0) AS pending
FROM accounts a
WHERE a.id = $1::uuid;

-- accounts/Accounts.ts findStatement
SELECT
  a.id, a.name, a.legal_name, a.document, a.document_type, a.phone, a.status, a.onboarding_status, a.auto_payout_enabled,
  a.payout_fee_fixed, a.payout_fee_basis_points, a.default_expires_in, a.release_delay, a.payout_duplicate_window, a.payouts_paused,
  a.charges_paused,
  (
    a.charges_paused
    OR (SELECT i.charges_paused FROM installation_settings i WHERE i.id)
    OR EXISTS (
      SELECT
      FROM acquirer_connections k
      WHERE k.id = coalesce(a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default)) AND k.charges_paused
    )
  ) AS charges_stopped, a.moved_to, a.connection_id,
  (SELECT d.id FROM acquirer_connections d WHERE d.is_default) AS default_connection_id, a.approval_limit, a.statement_account,
  (
    SELECT
      json_build_object(
        'requests_per_minute', l.requests_per_minute, 'payouts_per_hour', l.payouts_per_hour, 'payouts_per_day', l.payouts_per_day,
        'payout_cents_per_day', l.payout_cents_per_day, 'recipients', l.recipients
      )
    FROM limits l
    WHERE l.owner_id = a.id
  ) AS limits, a.created_at,
  coalesce((SELECT l.balance FROM ledger_accounts l WHERE l.owner_id = a.id AND l.kind = 'available'), 0) AS available,
  coalesce((SELECT l.balance FROM ledger_accounts l WHERE l.owner_id = a.id AND l.kind = 'pending'), 0) AS pending
FROM accounts a
WHERE a.id = $1::uuid;

-- accounts/Adjustments.ts findOne
SELECT id, account_id, amount, reason, created_at
FROM adjustments
WHERE id = $1::uuid;

-- accounts/Adjustments.ts insertOne
WITH
  changed AS (
    INSERT INTO adjustments (id, account_id, amount, reason, created_at)
    VALUES ($1::uuid, $2::uuid, $3::bigint, $4::text, to_timestamp($5::double precision / 1000))
    RETURNING id, account_id, amount, reason, created_at
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $6::uuid[], $7::uuid[], $8::text[], $9::text[], $10::bigint[], $11::uuid[], $12::uuid[], $13::uuid[], $14::bigint[],
            $15::text[], $16::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT *
FROM changed;

-- accounts/ApiKeys.ts callersStatement
SELECT
  k.hash, k.id AS key_id, k.scopes, k.expires_at, p.id AS application_id, a.id AS account_id, a.name, a.document, a.status,
  a.onboarding_status, a.default_expires_in,
  (
    a.charges_paused
    OR (SELECT i.charges_paused FROM installation_settings i WHERE i.id)
    OR EXISTS (SELECT FROM acquirer_connections k WHERE k.id = a.connection_id AND k.charges_paused)
  ) AS charges_paused, a.moved_to IS NOT NULL AS is_moved, a.connection_id,
  (SELECT d.id FROM acquirer_connections d WHERE d.is_default) AS default_connection_id,
  (SELECT g.generation FROM caller_generation g WHERE g.id) AS generation, of_key.requests_per_minute,
  of_account.requests_per_minute AS account_requests_per_minute,
  num_nonnulls (of_key.payouts_per_hour, of_key.payouts_per_day, of_key.payout_cents_per_day, of_key.recipients) > 0 AS is_payout_limited
FROM
  api_keys k
  JOIN applications p ON p.id = k.application_id
  JOIN accounts a ON a.id = p.account_id
  LEFT JOIN limits of_key ON of_key.owner_id = k.id
  LEFT JOIN limits of_account ON of_account.owner_id = a.id
WHERE
  k.hash = ANY (string_to_array($1, ','))
  AND k.revoked_at IS NULL
  AND (k.expires_at IS NULL OR k.expires_at > now())
  AND p.active;

-- accounts/ApiKeys.ts callersStatement
SELECT
  k.hash, k.id AS key_id, k.scopes, k.expires_at, p.id AS application_id, a.id AS account_id, a.name, a.document, a.status,
  a.onboarding_status, a.default_expires_in,
  (
    a.charges_paused
    OR (SELECT i.charges_paused FROM installation_settings i WHERE i.id)
    OR EXISTS (
      SELECT
      FROM acquirer_connections k
      WHERE k.id = coalesce(a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default)) AND k.charges_paused
    )
  ) AS charges_paused, a.moved_to IS NOT NULL AS is_moved, a.connection_id,
  (SELECT d.id FROM acquirer_connections d WHERE d.is_default) AS default_connection_id,
  (SELECT g.generation FROM caller_generation g WHERE g.id) AS generation, of_key.requests_per_minute,
  of_account.requests_per_minute AS account_requests_per_minute,
  num_nonnulls (of_key.payouts_per_hour, of_key.payouts_per_day, of_key.payout_cents_per_day, of_key.recipients) > 0 AS is_payout_limited
FROM
  api_keys k
  JOIN applications p ON p.id = k.application_id
  JOIN accounts a ON a.id = p.account_id
  LEFT JOIN limits of_key ON of_key.owner_id = k.id
  LEFT JOIN limits of_account ON of_account.owner_id = a.id
WHERE
  k.hash = ANY (string_to_array($1, ','))
  AND k.revoked_at IS NULL
  AND (k.expires_at IS NULL OR k.expires_at > now())
  AND p.active;

-- alerts/Alerts.ts raiseOne
INSERT INTO alerts (channel_id, key, event, title, path, is_urgent)
SELECT c.id, f.key, f.event, f.title, f.path, f.is_urgent
FROM
  (
    SELECT *
    FROM
      (
        SELECT key, event, title, path, is_urgent
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[]) AS t (key, event, title, path, is_urgent)
      ) AS r
  ) f
  JOIN alert_channels c ON c.active
  AND c.deleted_at IS NULL
  AND f.event = ANY (c.events)
ON CONFLICT (channel_id, key) DO NOTHING;

-- events/EventLog.ts findChange
WITH
  start AS MATERIALIZED (
    SELECT split_part(value, '.', 1)::xid8 AS transaction_id, split_part(value, '.', 2)::uuid AS id
    FROM installation
    WHERE name = 'event_log_start'
  ),
  found AS (
    SELECT transaction_id, id
    FROM changes
    WHERE id = $1::uuid
    UNION ALL
    SELECT transaction_id, id
    FROM start
    WHERE id = $1::uuid
  )
SELECT transaction_id::text AS transaction_id, id
FROM found f
WHERE
  NOT EXISTS (SELECT FROM start s WHERE (s.transaction_id, s.id) > (f.transaction_id, f.id) OR s.id = f.id AND $2::integer < 999)
LIMIT 1;

-- events/EventLog.ts readPage
WITH
  start AS MATERIALIZED (
    SELECT split_part(value, '.', 1)::xid8 AS transaction_id, split_part(value, '.', 2)::uuid AS id
    FROM installation
    WHERE name = 'event_log_start'
  ),
  scanned AS MATERIALIZED (
    SELECT transaction_id, id, account_id
    FROM changes
    WHERE (transaction_id, id) > ($1::text::xid8, $2::uuid) AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY transaction_id, id
    LIMIT 5000
  ),
  scan AS MATERIALIZED (
    SELECT
      count(*)::integer AS scanned,
      EXISTS (SELECT FROM start WHERE (start.transaction_id, start.id) > ($1::text::xid8, $2::uuid)) AS is_expired,
      (SELECT transaction_id::text FROM scanned ORDER BY scanned.transaction_id DESC LIMIT 1) AS end_transaction_id,
      (SELECT id FROM scanned ORDER BY scanned.transaction_id DESC, scanned.id DESC LIMIT 1) AS end_id
    FROM scanned
  )
SELECT t.*, scan.*
FROM
  scan
  LEFT JOIN (
    SELECT
      s.transaction_id::text AS transaction_id, s.id, s.account_id, c.application_id,
      ARRAY(SELECT c.kind || '.' || a FROM unnest(c.actions) AS a) AS names, c.created_at, c.sequence,
      CASE
        WHEN left(c.data, 1) <> '[' THEN c.data
        ELSE c.data || E'\n' || (
          SELECT
            array_to_json(
              ARRAY[
                r.id::text, r.amount::text, r.method, r.description, r.reference, r.customer_name, r.customer_email,
                r.customer_document, r.br_code, s.receiver::text, r.webhook_url,
                to_char(r.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), c.sequence::text
              ]
            )::text
          FROM charges r LEFT JOIN receivers s ON s.id = r.receiver_id
          WHERE r.id = c.resource_id
        )
      END AS data
    FROM
      (SELECT * FROM scanned WHERE $3::boolean OR account_id = ANY ($4::uuid[]) ORDER BY transaction_id, id) s
      CROSS JOIN LATERAL (
        SELECT *
        FROM changes
        WHERE
          id = s.id
          AND ($5::uuid IS NULL OR application_id = $5::uuid)
          AND ($6::boolean OR EXISTS (SELECT FROM unnest(actions) AS a WHERE kind || '.' || a = ANY (string_to_array($7, ','))))
        OFFSET 0
      ) c
    ORDER BY s.transaction_id, s.id
    LIMIT 200
  ) t ON true
ORDER BY t.transaction_id::xid8, t.id;

-- ledger/ChainCheck.ts closesSince
SELECT
  id, owner_id, book, day::text AS day, opening, credits, debits, fees, closing, lines, last_position, balances, lines_hash,
  previous_hash, hash, closed_at
FROM closes
WHERE owner_id = $1::uuid AND book = $2::text AND day >= $3::text::date
ORDER BY owner_id, book, closes.day;

-- ledger/ChainCheck.ts ofNewestDayBeside
SELECT owner_id, book, day::text AS since, day::text AS through
FROM closes
WHERE day = (SELECT max(day) FROM closes) AND owner_id <> ALL ($1::uuid[])
ORDER BY owner_id, book;

-- ledger/ChainCheck.ts ofOwners
SELECT
  owner_id, 'ledger' AS book, '-infinity' AS since,
  (coalesce(min(open_day), (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date) - 1)::text AS through
FROM ledger_accounts
WHERE kind IN ('available', 'unallocated') AND owner_id = ANY ($1::uuid[])
GROUP BY owner_id
UNION ALL
SELECT owner_id, book, '-infinity', max(day)::text
FROM closes
WHERE book = 'bank' AND owner_id = ANY ($1::uuid[])
GROUP BY owner_id, book
ORDER BY owner_id, book;

-- ledger/Closes.ts areOpen
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'virtualxid' AND virtualxid = ANY (string_to_array($1, ','))) AS some;

-- ledger/Closes.ts findBetween
SELECT
  id, owner_id, book, day::text AS day, opening, credits, debits, fees, closing, lines, last_position, balances, lines_hash,
  previous_hash, hash, closed_at
FROM closes
WHERE owner_id = $1::uuid AND book = $2::text AND day >= $3::text::date AND day <= $4::text::date
ORDER BY owner_id, book, closes.day;

-- ledger/Closes.ts findDue
SELECT owner_id, open_day::text AS open_day
FROM ledger_accounts
WHERE open_day IS NOT NULL AND open_day <= $1::text::date AND (open_day, owner_id) > ($2::text::date, $3::uuid)
ORDER BY open_day, owner_id
LIMIT 200;

-- ledger/Closes.ts findDueConnections
SELECT c.id, due.day
FROM
  acquirer_connections c
  LEFT JOIN LATERAL (
    SELECT day
    FROM closes
    WHERE owner_id = c.id AND book = 'bank'
    ORDER BY owner_id DESC, book DESC, day DESC
    LIMIT 1
  ) last ON true
  CROSS JOIN LATERAL (
    SELECT t.day
    FROM ledger_transfers t
    WHERE
      t.connection_id IS NOT NULL
      AND (t.connection_id, t.day) > (c.id, coalesce(last.day, '-infinity'))
      AND (t.connection_id, t.day) <= (c.id, $1::text::date)
    ORDER BY t.connection_id, t.day
    LIMIT 1
  ) due;

-- ledger/Closes.ts findLast
SELECT
  id, owner_id, book, day::text AS day, opening, credits, debits, fees, closing, lines, last_position, balances, lines_hash,
  previous_hash, hash, closed_at
FROM closes
WHERE owner_id = $1::uuid AND book = $2::text AND day < $3::text::date
ORDER BY owner_id DESC, book DESC, closes.day DESC
LIMIT 1;

-- ledger/Closes.ts findReach
SELECT
  greatest(
    $2::text::date, least($3::text::date, (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date)
  )::text AS until, $3::text::date < (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date
  AND NOT EXISTS (SELECT FROM ledger_accounts WHERE owner_id = $1::uuid AND kind = 'available' AND open_day <= $3::text::date)
  AND NOT EXISTS (
    SELECT
    FROM
      (
        SELECT c.id, due.day
        FROM
          acquirer_connections c
          LEFT JOIN LATERAL (
            SELECT day
            FROM closes
            WHERE owner_id = c.id AND book = 'bank'
            ORDER BY owner_id DESC, book DESC, day DESC
            LIMIT 1
          ) last ON true
          CROSS JOIN LATERAL (
            SELECT t.day
            FROM ledger_transfers t
            WHERE
              t.connection_id IS NOT NULL
              AND (t.connection_id, t.day) > (c.id, coalesce(last.day, '-infinity'))
              AND (t.connection_id, t.day) <= (c.id, $3::text::date)
            ORDER BY t.connection_id, t.day
            LIMIT 1
          ) due
      ) c
    WHERE c.id = $1::uuid
  ) AS is_closed;

-- ledger/Closes.ts insertClose
INSERT INTO
  closes (
    id, owner_id, book, day, opening, credits, debits, fees, closing, lines, last_position, balances, lines_hash, previous_hash,
    hash, closed_at
  )
SELECT
  id, owner_id, book, day, opening, credits, debits, fees, closing, lines, last_position, balances, lines_hash, previous_hash, hash,
  closed_at
FROM
  (
    SELECT
      id, owner_id, book, day::date AS day, opening, credits, debits, fees, closing, lines, last_position,
      balances::jsonb AS balances, lines_hash, previous_hash, hash, closed_at
    FROM
      unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
        $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::timestamptz[]
      ) AS t (
        id, owner_id, book, day, opening, credits, debits, fees, closing, lines, last_position, balances, lines_hash, previous_hash,
        hash, closed_at
      )
  ) AS c
ON CONFLICT (owner_id, book, day) DO NOTHING
RETURNING id;

-- ledger/Closes.ts lastDayAt
SELECT ((to_timestamp($1::double precision / 1000) AT TIME ZONE(SELECT timezone FROM installation_settings))::date - 1)::text AS day;

-- ledger/Closes.ts raiseDays
WITH
  locked AS MATERIALIZED (
    SELECT owner_id, kind
    FROM ledger_accounts
    WHERE owner_id = ANY ($1::uuid[]) AND kind IN ('available', 'unallocated')
    ORDER BY owner_id
    FOR NO KEY UPDATE SKIP LOCKED
  )
UPDATE ledger_accounts l
SET day = greatest(l.day, $2::text::date + 1)
FROM locked
WHERE l.owner_id = locked.owner_id AND l.kind = locked.kind
RETURNING l.owner_id, l.open_day::text AS open_day;

-- ledger/Closes.ts reopen
UPDATE ledger_accounts l
SET
  open_day = CASE
    WHEN l.position > coalesce(
      (
        SELECT last_position
        FROM closes
        WHERE owner_id = l.owner_id AND book = 'ledger'
        ORDER BY owner_id DESC, book DESC, day DESC
        LIMIT 1
      ), 0
    ) THEN $2::text::date + 1
  END
WHERE l.owner_id = $1::uuid AND l.open_day IS NOT NULL;

-- ledger/Ledger.ts lockAllWith
SELECT owner_id AS id, kind
FROM ledger_accounts
WHERE owner_id = ANY ($1::uuid[]) AND kind IN ('available', 'unallocated')
ORDER BY owner_id
FOR NO KEY UPDATE;

-- ledger/Ledger.ts lockAllWith
SELECT owner_id AS id, kind
FROM ledger_accounts
WHERE owner_id = ANY ($1::uuid[]) AND kind IN ('available', 'unallocated')
ORDER BY owner_id
FOR NO KEY UPDATE SKIP LOCKED;

-- ledger/LedgerReports.ts findBalances
SELECT a.owner_id, a.balance AS available, p.balance AS pending
FROM ledger_accounts a JOIN ledger_accounts p ON p.owner_id = a.owner_id AND p.kind = 'pending'
WHERE a.owner_id = ANY ($1::uuid[]) AND a.kind = 'available';

-- ledger/LedgerVerification.ts fromTransfersOf
WITH
  computed AS (
    SELECT e.owner_id, e.kind, sum(e.amount)::bigint AS balance
    FROM
      (SELECT t.* FROM unnest($1::uuid[]) o JOIN ledger_transfers t ON t.account_id = o AND t.position > 0) t
      CROSS JOIN LATERAL (
        VALUES (t.account_id, t.credit, t.amount), (t.account_id, t.debit, - t.amount)
      ) AS e (owner_id, kind, amount)
    GROUP BY 1, 2
  )
SELECT
  coalesce(k.owner_id, c.owner_id) AS owner_id, coalesce(k.kind, c.kind) AS kind, coalesce(k.balance, 0) AS kept,
  coalesce(c.balance, 0) AS computed
FROM
  (SELECT * FROM ledger_accounts WHERE owner_id = ANY ($1::uuid[])) k
  FULL JOIN computed c ON c.owner_id = k.owner_id
  AND c.kind = k.kind
ORDER BY 1, 2;

-- ledger/LineDetails.ts listed
(
  SELECT DISTINCT ON (charge_id) charge_id AS id, id AS dispute_id
  FROM disputes
  WHERE charge_id = ANY ($1::uuid[])
  ORDER BY charge_id DESC, id DESC
)
UNION ALL
(
  SELECT DISTINCT ON (exception_id) exception_id, id
  FROM disputes
  WHERE exception_id IS NOT NULL AND exception_id = ANY ($1::uuid[])
  ORDER BY exception_id DESC, id DESC
);

-- ledger/LineDetails.ts listed
SELECT d.id, coalesce(d.return_id, r.provider_id) AS provider_id
FROM disputes d LEFT JOIN refunds r ON r.charge_id = d.charge_id AND r.dispute_id = d.id
WHERE d.id = ANY ($1::uuid[]);

-- ledger/LineDetails.ts listed
SELECT charge_id AS id, due_at
FROM releases
WHERE charge_id = ANY ($1::uuid[]);

-- ledger/LineDetails.ts listed
SELECT id, kind, charge_id, payout_id, end_to_end_id, external_id, txid, payer
FROM acquirer_exceptions
WHERE id = ANY ($1::uuid[]);

-- ledger/LineDetails.ts listed
SELECT id, provider_id, dispute_id
FROM refunds
WHERE id = ANY ($1::uuid[]);

-- ledger/LineDetails.ts listed
SELECT id, return_id AS provider_id
FROM exception_returns
WHERE id = ANY ($1::uuid[]);

-- ledger/LineDetails.ts pruned
SELECT id, method, reference, end_to_end_id, customer_name, customer_document, payer
FROM charges
WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid;

-- ledger/LineDetails.ts pruned
SELECT id, reference, end_to_end_id, recipient_name, recipient_document, fee
FROM payouts
WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid;

-- ledger/Lines.ts findAtBank
SELECT
  id, account_id, connection_id, resource_id, source_id, position, amount, fee, created_at, debit, credit, debit_after,
  credit_after, day::text AS day, reason,
  CASE
    WHEN debit = 'blocked'
    AND credit = 'available' THEN 'dispute_release'
    WHEN debit = 'payouts_in_transit'
    AND credit = 'fees' THEN 'payout_fee'
    ELSE CASE reason
      WHEN 'charge.paid' THEN 'charge'
      WHEN 'charge.released' THEN 'release'
      WHEN 'charge.refund_ordered' THEN 'charge_refund'
      WHEN 'charge.refunded' THEN 'charge_refund'
      WHEN 'charge.refund_failed' THEN 'charge_refund_return'
      WHEN 'charge.infraction' THEN 'dispute_hold'
      WHEN 'charge.dispute_won' THEN 'dispute_release'
      WHEN 'charge.charged_back' THEN 'dispute_loss'
      WHEN 'payout.created' THEN 'payout'
      WHEN 'payout.completed' THEN 'payout'
      WHEN 'payout.failed' THEN 'payout_return'
      WHEN 'payout.canceled' THEN 'payout_return'
      WHEN 'exception.received' THEN 'exception'
      WHEN 'exception.accepted' THEN 'exception'
      WHEN 'exception.matched' THEN 'exception'
      WHEN 'exception.reversed' THEN 'exception'
      WHEN 'exception.returned' THEN 'exception'
      WHEN 'exception.refund_ordered' THEN 'exception'
      WHEN 'exception.refunded' THEN 'exception'
      WHEN 'exception.refund_failed' THEN 'exception'
      WHEN 'exception.infraction' THEN 'dispute_hold'
      WHEN 'exception.dispute_won' THEN 'dispute_release'
      WHEN 'exception.charged_back' THEN 'dispute_loss'
      WHEN 'adjustment' THEN 'adjustment'
    END
  END AS type,
  CASE
    WHEN reason = 'adjustment' THEN (
      SELECT a.reason
      FROM adjustments a
      WHERE
        a.id = t.resource_id
        AND a.account_id = t.account_id
        AND a.created_at = t.created_at
        AND a.amount = CASE t.credit WHEN 'available' THEN t.amount ELSE - t.amount
        END
    )
  END AS adjusted_because
FROM ledger_transfers t
WHERE resource_id = ANY ($2::uuid[]) AND connection_id IS NOT NULL AND connection_id = ANY ($1::uuid[]) AND id > $3::uuid
ORDER BY id
LIMIT $4::integer;

-- ledger/OverdueCloses.ts findAll
SELECT owner_id, bool_or(is_connection) AS is_connection, min(day)::text AS day
FROM
  (
    (
      SELECT owner_id, kind = 'unallocated' AS is_connection, open_day AS day
      FROM ledger_accounts
      WHERE open_day IS NOT NULL AND open_day <= $1::text::date
      ORDER BY open_day, owner_id
      LIMIT $2::integer
    )
    UNION ALL
    SELECT id, true, day
    FROM
      (
        SELECT c.id, due.day
        FROM
          acquirer_connections c
          LEFT JOIN LATERAL (
            SELECT day
            FROM closes
            WHERE owner_id = c.id AND book = 'bank'
            ORDER BY owner_id DESC, book DESC, day DESC
            LIMIT 1
          ) last ON true
          CROSS JOIN LATERAL (
            SELECT t.day
            FROM ledger_transfers t
            WHERE
              t.connection_id IS NOT NULL
              AND (t.connection_id, t.day) > (c.id, coalesce(last.day, '-infinity'))
              AND (t.connection_id, t.day) <= (c.id, $1::text::date)
            ORDER BY t.connection_id, t.day
            LIMIT 1
          ) due
      ) c
  ) owners
GROUP BY owner_id
ORDER BY min(day), owner_id
LIMIT $2::integer;

-- ledger/OverdueCloses.ts findOf
SELECT owner_id, is_connection, day::text AS day
FROM
  (
    SELECT owner_id, kind = 'unallocated' AS is_connection, open_day AS day
    FROM ledger_accounts
    WHERE open_day IS NOT NULL AND open_day <= $1::text::date AND owner_id = ANY ($3::uuid[])
    ORDER BY open_day, owner_id
    LIMIT $2::integer
  ) owners
ORDER BY day, owner_id;

-- ledger/Releases.ts lockDue
SELECT d.*
FROM
  unnest($1::uuid[]) AS a (id)
  CROSS JOIN LATERAL (
    SELECT charge_id, account_id, amount
    FROM releases
    WHERE released_at IS NULL AND (account_id, due_at) >= (a.id, '-infinity') AND (account_id, due_at) <= (a.id, now())
    ORDER BY account_id, due_at
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED
  ) d;

-- ledger/Releases.ts release
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($13::uuid[], $14::text[], $15::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  changed AS (
    UPDATE releases r
    SET released_at = now()
    WHERE charge_id = ANY ($1::uuid[]) AND (r.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
    RETURNING charge_id AS id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::uuid[], $8::uuid[], $9::uuid[], $10::bigint[],
            $11::text[], $12::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT count(*)
FROM changed;

-- ledger/statements/Statements.ts accountMoved
SELECT coalesce(sum(CASE 'available' WHEN credit THEN amount WHEN debit THEN - amount ELSE 0 END), 0)::bigint AS moved
FROM ledger_transfers
WHERE position > 0 AND (account_id, day) > ($1::uuid, $2::text::date) AND (account_id, day) < ($1::uuid, $3::text::date);

-- ledger/statements/Statements.ts bankMoved
SELECT coalesce(sum(CASE 'acquirer' WHEN debit THEN amount WHEN credit THEN - amount ELSE 0 END), 0)::bigint AS moved
FROM ledger_transfers
WHERE
  connection_id IS NOT NULL
  AND (connection_id, day) > ($1::uuid, $2::text::date)
  AND (connection_id, day) < ($1::uuid, $3::text::date);

-- operations/AuditLog.ts entriesBetween
SELECT id, operator, action, resource_id, request_id, at, operator_id, via, address, before, after
FROM audit
WHERE id >= $1::uuid AND id < $2::uuid
ORDER BY id
LIMIT $3::integer
OFFSET $4::integer;

-- operations/RequestLog.ts insertedBy
WITH
  lines AS (
    INSERT INTO requests (id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id)
    SELECT id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id
    FROM
      (
        SELECT id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id
        FROM
          unnest(
            $1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::integer[], $8::integer[], $9::timestamptz[],
            $10::text[]
          ) AS t (id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id)
      ) AS r
    RETURNING key_id, at
  )
UPDATE api_keys k
SET last_used_at = greatest(k.last_used_at, u.at)
FROM (SELECT key_id, max(at) AS at FROM lines WHERE key_id IS NOT NULL GROUP BY key_id) u
WHERE k.id = u.key_id;

-- operations/RequestLog.ts insertedBy
WITH
  lines AS (
    INSERT INTO requests (id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id)
    SELECT id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id
    FROM
      (
        SELECT id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id
        FROM
          unnest(
            $1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::integer[], $8::integer[], $9::timestamptz[],
            $10::text[]
          ) AS t (id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id)
      ) AS r
    ON CONFLICT (id) DO NOTHING
    RETURNING key_id, at
  )
UPDATE api_keys k
SET last_used_at = greatest(k.last_used_at, u.at)
FROM (SELECT key_id, max(at) AS at FROM lines WHERE key_id IS NOT NULL GROUP BY key_id) u
WHERE k.id = u.key_id;

-- operations/SearchStatements.ts all
(
  SELECT 'account' AS kind, t.id, t.id AS account_id, (t.name)::text AS label, (NULL)::bigint AS amount
  FROM (SELECT * FROM accounts ORDER BY id DESC LIMIT 5000) t
  WHERE
    ($2::text::uuid[] IS NULL OR t.id = ANY ($2::text::uuid[]))
    AND NOT EXISTS (
      SELECT
      FROM unnest(search_words (ARRAY[$1::text])) AS asked (word)
      WHERE
        NOT EXISTS (
          SELECT
          FROM unnest(search_words (ARRAY[t.name, t.legal_name])) AS own (word)
          WHERE starts_with(own.word, asked.word)
        )
    )
    AND cardinality(search_words (ARRAY[$1::text])) > 0
  ORDER BY t.id DESC
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  SELECT 'account' AS kind, t.id, t.id AS account_id, (t.name)::text AS label, (NULL)::bigint AS amount
  FROM (SELECT * FROM accounts ORDER BY id DESC LIMIT 5000) t
  WHERE
    ($2::text::uuid[] IS NULL OR t.id = ANY ($2::text::uuid[]))
    AND regexp_replace(t.phone, '\D', '', 'g') IN (substr($1::text, 2), substr($1::text, 4))
  ORDER BY t.id DESC
  LIMIT 10
)
UNION ALL
(
  WITH RECURSIVE
    owners (account_id, n) AS (
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.pix_key, t.account_id) > ($1::text, '00000000-0000-0000-0000-000000000000'::uuid) AND t.pix_key <= $1::text
          ORDER BY t.pix_key, t.account_id
          LIMIT 1
        ), 1
      WHERE $2::text::uuid[] IS NULL
      UNION ALL
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.pix_key, t.account_id) > ($1::text, o.account_id) AND t.pix_key <= $1::text
          ORDER BY t.pix_key, t.account_id
          LIMIT 1
        ), o.n + 1
      FROM owners o
      WHERE o.account_id IS NOT NULL AND o.n < 20
    )
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest($2::text::uuid[])) o
    CROSS JOIN LATERAL (
      SELECT *
      FROM payouts t
      WHERE
        (t.pix_key, t.account_id) >= ($1::text, o.account_id)
        AND (t.pix_key, t.account_id) <= ($1::text, o.account_id)
        AND t.pix_key <= $1::text
      ORDER BY t.pix_key DESC, t.account_id DESC, t.id DESC
      LIMIT 5
    ) t
  ORDER BY t.id DESC
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  SELECT 'account' AS kind, t.id, t.id AS account_id, (t.name)::text AS label, (NULL)::bigint AS amount
  FROM accounts t
  WHERE t.document = $1::text AND ($2::text::uuid[] IS NULL OR t.id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  WITH RECURSIVE
    owners (account_id, n) AS (
      SELECT
        (
          SELECT t.account_id
          FROM charges t
          WHERE
            (t.customer_document, t.account_id) > ($1::text, '00000000-0000-0000-0000-000000000000'::uuid)
            AND t.customer_document <= $1::text
          ORDER BY t.customer_document, t.account_id
          LIMIT 1
        ), 1
      WHERE $2::text::uuid[] IS NULL
      UNION ALL
      SELECT
        (
          SELECT t.account_id
          FROM charges t
          WHERE (t.customer_document, t.account_id) > ($1::text, o.account_id) AND t.customer_document <= $1::text
          ORDER BY t.customer_document, t.account_id
          LIMIT 1
        ), o.n + 1
      FROM owners o
      WHERE o.account_id IS NOT NULL AND o.n < 20
    )
  SELECT 'charge' AS kind, t.id, t.account_id AS account_id, (t.customer_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest($2::text::uuid[])) o
    CROSS JOIN LATERAL (
      SELECT *
      FROM charges t
      WHERE
        (t.customer_document, t.account_id) >= ($1::text, o.account_id)
        AND (t.customer_document, t.account_id) <= ($1::text, o.account_id)
        AND t.customer_document <= $1::text
      ORDER BY t.customer_document DESC, t.account_id DESC, t.id DESC
      LIMIT 5
    ) t
  ORDER BY t.id DESC
  LIMIT 10
)
UNION ALL
(
  WITH RECURSIVE
    owners (account_id, n) AS (
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE
            (t.recipient_document, t.account_id) > ($1::text, '00000000-0000-0000-0000-000000000000'::uuid)
            AND t.recipient_document <= $1::text
          ORDER BY t.recipient_document, t.account_id
          LIMIT 1
        ), 1
      WHERE $2::text::uuid[] IS NULL
      UNION ALL
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.recipient_document, t.account_id) > ($1::text, o.account_id) AND t.recipient_document <= $1::text
          ORDER BY t.recipient_document, t.account_id
          LIMIT 1
        ), o.n + 1
      FROM owners o
      WHERE o.account_id IS NOT NULL AND o.n < 20
    )
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest($2::text::uuid[])) o
    CROSS JOIN LATERAL (
      SELECT *
      FROM payouts t
      WHERE
        (t.recipient_document, t.account_id) >= ($1::text, o.account_id)
        AND (t.recipient_document, t.account_id) <= ($1::text, o.account_id)
        AND t.recipient_document <= $1::text
      ORDER BY t.recipient_document DESC, t.account_id DESC, t.id DESC
      LIMIT 5
    ) t
  ORDER BY t.id DESC
  LIMIT 10
)
UNION ALL
(
  WITH RECURSIVE
    owners (account_id, n) AS (
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.pix_key, t.account_id) > ($1::text, '00000000-0000-0000-0000-000000000000'::uuid) AND t.pix_key <= $1::text
          ORDER BY t.pix_key, t.account_id
          LIMIT 1
        ), 1
      WHERE $2::text::uuid[] IS NULL
      UNION ALL
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.pix_key, t.account_id) > ($1::text, o.account_id) AND t.pix_key <= $1::text
          ORDER BY t.pix_key, t.account_id
          LIMIT 1
        ), o.n + 1
      FROM owners o
      WHERE o.account_id IS NOT NULL AND o.n < 20
    )
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest($2::text::uuid[])) o
    CROSS JOIN LATERAL (
      SELECT *
      FROM payouts t
      WHERE
        (t.pix_key, t.account_id) >= ($1::text, o.account_id)
        AND (t.pix_key, t.account_id) <= ($1::text, o.account_id)
        AND t.pix_key <= $1::text
      ORDER BY t.pix_key DESC, t.account_id DESC, t.id DESC
      LIMIT 5
    ) t
  ORDER BY t.id DESC
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  SELECT 'charge' AS kind, t.id, t.account_id AS account_id, (t.customer_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (
      SELECT
        lpad(
          to_hex(((extract(epoch FROM now()) * 1000)::bigint >> 32) - n), 4, '0'
        ) || left($1::text, 4) || '-' || right($1::text, 4) AS start
      FROM generate_series(0, 15) n
    ) period
    CROSS JOIN LATERAL (
      SELECT t.*
      FROM charges t
      WHERE t.id >= (start || '-0000-0000-000000000000')::uuid AND t.id <= (start || '-ffff-ffff-ffffffffffff')::uuid
      ORDER BY t.id
      LIMIT 10
    ) t
  WHERE ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (
      SELECT
        lpad(
          to_hex(((extract(epoch FROM now()) * 1000)::bigint >> 32) - n), 4, '0'
        ) || left($1::text, 4) || '-' || right($1::text, 4) AS start
      FROM generate_series(0, 15) n
    ) period
    CROSS JOIN LATERAL (
      SELECT t.*
      FROM payouts t
      WHERE t.id >= (start || '-0000-0000-000000000000')::uuid AND t.id <= (start || '-ffff-ffff-ffffffffffff')::uuid
      ORDER BY t.id
      LIMIT 10
    ) t
  WHERE ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'refund' AS kind, t.id, t.account_id AS account_id, (NULL)::text AS label, (t.amount)::bigint AS amount
  FROM
    (
      SELECT
        lpad(
          to_hex(((extract(epoch FROM now()) * 1000)::bigint >> 32) - n), 4, '0'
        ) || left($1::text, 4) || '-' || right($1::text, 4) AS start
      FROM generate_series(0, 15) n
    ) period
    CROSS JOIN LATERAL (
      SELECT t.*
      FROM refunds t
      WHERE t.id >= (start || '-0000-0000-000000000000')::uuid AND t.id <= (start || '-ffff-ffff-ffffffffffff')::uuid
      ORDER BY t.id
      LIMIT 10
    ) t
  WHERE ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'dispute' AS kind, t.id, t.account_id AS account_id, (t.reason)::text AS label, (t.amount)::bigint AS amount
  FROM
    (
      SELECT
        lpad(
          to_hex(((extract(epoch FROM now()) * 1000)::bigint >> 32) - n), 4, '0'
        ) || left($1::text, 4) || '-' || right($1::text, 4) AS start
      FROM generate_series(0, 15) n
    ) period
    CROSS JOIN LATERAL (
      SELECT t.*
      FROM disputes t
      WHERE t.id >= (start || '-0000-0000-000000000000')::uuid AND t.id <= (start || '-ffff-ffff-ffffffffffff')::uuid
      ORDER BY t.id
      LIMIT 10
    ) t
  WHERE ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM
    (
      SELECT
        lpad(
          to_hex(((extract(epoch FROM now()) * 1000)::bigint >> 32) - n), 4, '0'
        ) || left($1::text, 4) || '-' || right($1::text, 4) AS start
      FROM generate_series(0, 15) n
    ) period
    CROSS JOIN LATERAL (
      SELECT t.*
      FROM acquirer_exceptions t
      WHERE t.id >= (start || '-0000-0000-000000000000')::uuid AND t.id <= (start || '-ffff-ffff-ffffffffffff')::uuid
      ORDER BY t.id
      LIMIT 10
    ) t
  WHERE ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  SELECT 'charge' AS kind, t.id, t.account_id AS account_id, (t.customer_name)::text AS label, (t.amount)::bigint AS amount
  FROM charges t
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM payouts t
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM payouts t
  WHERE
    t.id = (SELECT resource_id FROM idempotency_keys WHERE digest = $1::text::uuid)
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'refund' AS kind, t.id, t.account_id AS account_id, (NULL)::text AS label, (t.amount)::bigint AS amount
  FROM refunds t
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'dispute' AS kind, t.id, t.account_id AS account_id, (t.reason)::text AS label, (t.amount)::bigint AS amount
  FROM disputes t
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM acquirer_exceptions t
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'delivery' AS kind, t.id, t.account_id AS account_id, (t.event)::text AS label, (NULL)::bigint AS amount
  FROM deliveries t
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'account' AS kind, t.id, t.id AS account_id, (t.name)::text AS label, (NULL)::bigint AS amount
  FROM accounts t
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR t.id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'application' AS kind, t.id, t.account_id AS account_id, (t.name)::text AS label, (NULL)::bigint AS amount
  FROM applications t
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'endpoint' AS kind, t.id, p.account_id AS account_id, (t.url)::text AS label, (NULL)::bigint AS amount
  FROM webhook_endpoints t JOIN applications p ON p.id = t.application_id
  WHERE t.id = $1::text::uuid AND ($2::text::uuid[] IS NULL OR p.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'request' AS kind, t.id, t.account_id AS account_id, (t.route || ' ' || t.status)::text AS label, (NULL)::bigint AS amount
  FROM requests t
  WHERE t.id = $1::text::uuid AND t.request_id IS NULL AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  SELECT 'charge' AS kind, t.id, t.account_id AS account_id, (t.customer_name)::text AS label, (t.amount)::bigint AS amount
  FROM charges t
  WHERE
    t.id = ANY (
      ARRAY(
        SELECT s.charge_id
        FROM
          (
            SELECT charge_id, end_to_end_id
            FROM charge_settlements
            WHERE
              end_to_end_id >= upper(left($1::text, 21)) || '00000000000'
              AND end_to_end_id <= upper(left($1::text, 21)) || 'zzzzzzzzzzz'
            ORDER BY end_to_end_id
            LIMIT 5000
          ) s
        WHERE lower(s.end_to_end_id) = lower($1::text)
        LIMIT 10
      )
    )
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM payouts t
  WHERE
    t.id = ANY (
      ARRAY(
        SELECT s.id
        FROM
          (
            SELECT id, end_to_end_id
            FROM payouts
            WHERE
              end_to_end_id >= upper(left($1::text, 21)) || '00000000000'
              AND end_to_end_id <= upper(left($1::text, 21)) || 'zzzzzzzzzzz'
            ORDER BY end_to_end_id
            LIMIT 5000
          ) s
        WHERE lower(s.end_to_end_id) = lower($1::text)
        LIMIT 10
      )
    )
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM acquirer_exceptions t
  WHERE
    t.id = ANY (
      ARRAY(
        SELECT s.id
        FROM
          (
            SELECT id, end_to_end_id
            FROM acquirer_exceptions
            WHERE
              end_to_end_id >= upper(left($1::text, 21)) || '00000000000'
              AND end_to_end_id <= upper(left($1::text, 21)) || 'zzzzzzzzzzz'
            ORDER BY end_to_end_id
            LIMIT 5000
          ) s
        WHERE lower(s.end_to_end_id) = lower($1::text)
        LIMIT 10
      )
    )
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM acquirer_exceptions t
  WHERE
    t.id = ANY (
      ARRAY(
        SELECT s.id
        FROM
          (
            SELECT id, external_id
            FROM acquirer_exceptions
            WHERE
              external_id >= upper(left($1::text, 21)) || '00000000000'
              AND external_id <= upper(left($1::text, 21)) || 'zzzzzzzzzzz'
            ORDER BY external_id
            LIMIT 5000
          ) s
        WHERE lower(s.external_id) = lower($1::text)
        LIMIT 10
      )
    )
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM acquirer_exceptions t
  WHERE
    t.id = ANY (
      ARRAY(
        SELECT s.exception_id
        FROM
          (
            SELECT exception_id, return_id
            FROM exception_returns
            WHERE
              return_id >= upper(left($1::text, 21)) || '00000000000'
              AND return_id <= upper(left($1::text, 21)) || 'zzzzzzzzzzz'
            ORDER BY return_id
            LIMIT 5000
          ) s
        WHERE lower(s.return_id) = lower($1::text)
        LIMIT 10
      )
    )
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'dispute' AS kind, t.id, t.account_id AS account_id, (t.reason)::text AS label, (t.amount)::bigint AS amount
  FROM disputes t
  WHERE
    t.id = ANY (
      ARRAY(
        SELECT s.id
        FROM
          (
            SELECT id, return_id
            FROM disputes
            WHERE
              return_id >= upper(left($1::text, 21)) || '00000000000'
              AND return_id <= upper(left($1::text, 21)) || 'zzzzzzzzzzz'
            ORDER BY return_id
            LIMIT 5000
          ) s
        WHERE lower(s.return_id) = lower($1::text)
        LIMIT 10
      )
    )
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'refund' AS kind, t.id, t.account_id AS account_id, (NULL)::text AS label, (t.amount)::bigint AS amount
  FROM refunds t
  WHERE
    t.id = ANY (
      ARRAY(
        SELECT s.id
        FROM
          (
            SELECT id, provider_id
            FROM refunds
            WHERE
              provider_id >= upper(left($1::text, 21)) || '00000000000'
              AND provider_id <= upper(left($1::text, 21)) || 'zzzzzzzzzzz'
            ORDER BY provider_id
            LIMIT 5000
          ) s
        WHERE lower(s.provider_id) = lower($1::text)
        LIMIT 10
      )
    )
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  SELECT 'charge' AS kind, t.id, t.account_id AS account_id, (t.customer_name)::text AS label, (t.amount)::bigint AS amount
  FROM charges t
  WHERE
    t.id = ANY (ARRAY(SELECT charge_id FROM charge_settlements WHERE end_to_end_id = $1::text LIMIT 10))
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM payouts t
  WHERE
    t.id = ANY (ARRAY(SELECT id FROM payouts WHERE end_to_end_id = $1::text LIMIT 10))
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM acquirer_exceptions t
  WHERE
    t.id = ANY (ARRAY(SELECT id FROM acquirer_exceptions WHERE end_to_end_id = $1::text LIMIT 10))
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM acquirer_exceptions t
  WHERE
    t.id = ANY (ARRAY(SELECT id FROM acquirer_exceptions WHERE external_id = $1::text LIMIT 10))
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM acquirer_exceptions t
  WHERE
    t.id = ANY (ARRAY(SELECT exception_id FROM exception_returns WHERE return_id = $1::text LIMIT 10))
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'dispute' AS kind, t.id, t.account_id AS account_id, (t.reason)::text AS label, (t.amount)::bigint AS amount
  FROM disputes t
  WHERE
    t.id = ANY (ARRAY(SELECT id FROM disputes WHERE return_id = $1::text LIMIT 10))
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
)
UNION ALL
(
  SELECT 'refund' AS kind, t.id, t.account_id AS account_id, (NULL)::text AS label, (t.amount)::bigint AS amount
  FROM refunds t
  WHERE
    t.id = ANY (ARRAY(SELECT id FROM refunds WHERE provider_id = $1::text LIMIT 10))
    AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  SELECT 'exception' AS kind, t.id, t.account_id AS account_id, (t.kind)::text AS label, (t.amount)::bigint AS amount
  FROM acquirer_exceptions t
  WHERE t.txid = $1::text AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  SELECT 'request' AS kind, t.id, t.account_id AS account_id, (t.route || ' ' || t.status)::text AS label, (NULL)::bigint AS amount
  FROM requests t
  WHERE t.request_id = $1::text AND ($2::text::uuid[] IS NULL OR t.account_id = ANY ($2::text::uuid[]))
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  WITH RECURSIVE
    owners (account_id, n) AS (
      SELECT
        (
          SELECT t.account_id
          FROM charges t
          WHERE
            (t.customer_email, t.account_id) > ($1::text, '00000000-0000-0000-0000-000000000000'::uuid)
            AND t.customer_email <= $1::text
          ORDER BY t.customer_email, t.account_id
          LIMIT 1
        ), 1
      WHERE $2::text::uuid[] IS NULL
      UNION ALL
      SELECT
        (
          SELECT t.account_id
          FROM charges t
          WHERE (t.customer_email, t.account_id) > ($1::text, o.account_id) AND t.customer_email <= $1::text
          ORDER BY t.customer_email, t.account_id
          LIMIT 1
        ), o.n + 1
      FROM owners o
      WHERE o.account_id IS NOT NULL AND o.n < 20
    )
  SELECT 'charge' AS kind, t.id, t.account_id AS account_id, (t.customer_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest($2::text::uuid[])) o
    CROSS JOIN LATERAL (
      SELECT *
      FROM charges t
      WHERE
        (t.customer_email, t.account_id) >= ($1::text, o.account_id)
        AND (t.customer_email, t.account_id) <= ($1::text, o.account_id)
        AND t.customer_email <= $1::text
      ORDER BY t.customer_email DESC, t.account_id DESC, t.id DESC
      LIMIT 5
    ) t
  ORDER BY t.id DESC
  LIMIT 10
)
UNION ALL
(
  WITH RECURSIVE
    owners (account_id, n) AS (
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.pix_key, t.account_id) > ($1::text, '00000000-0000-0000-0000-000000000000'::uuid) AND t.pix_key <= $1::text
          ORDER BY t.pix_key, t.account_id
          LIMIT 1
        ), 1
      WHERE $2::text::uuid[] IS NULL
      UNION ALL
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.pix_key, t.account_id) > ($1::text, o.account_id) AND t.pix_key <= $1::text
          ORDER BY t.pix_key, t.account_id
          LIMIT 1
        ), o.n + 1
      FROM owners o
      WHERE o.account_id IS NOT NULL AND o.n < 20
    )
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest($2::text::uuid[])) o
    CROSS JOIN LATERAL (
      SELECT *
      FROM payouts t
      WHERE
        (t.pix_key, t.account_id) >= ($1::text, o.account_id)
        AND (t.pix_key, t.account_id) <= ($1::text, o.account_id)
        AND t.pix_key <= $1::text
      ORDER BY t.pix_key DESC, t.account_id DESC, t.id DESC
      LIMIT 5
    ) t
  ORDER BY t.id DESC
  LIMIT 10
);

-- operations/SearchStatements.ts all
(
  WITH RECURSIVE
    owners (account_id, n) AS (
      SELECT
        (
          SELECT t.account_id
          FROM charges t
          WHERE (t.reference, t.account_id) > ($1::text, '00000000-0000-0000-0000-000000000000'::uuid) AND t.reference <= $1::text
          ORDER BY t.reference, t.account_id
          LIMIT 1
        ), 1
      WHERE $2::text::uuid[] IS NULL
      UNION ALL
      SELECT
        (
          SELECT t.account_id
          FROM charges t
          WHERE (t.reference, t.account_id) > ($1::text, o.account_id) AND t.reference <= $1::text
          ORDER BY t.reference, t.account_id
          LIMIT 1
        ), o.n + 1
      FROM owners o
      WHERE o.account_id IS NOT NULL AND o.n < 20
    )
  SELECT 'charge' AS kind, t.id, t.account_id AS account_id, (t.customer_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest($2::text::uuid[])) o
    CROSS JOIN LATERAL (
      SELECT *
      FROM charges t
      WHERE
        (t.reference, t.account_id) >= ($1::text, o.account_id)
        AND (t.reference, t.account_id) <= ($1::text, o.account_id)
        AND t.reference <= $1::text
      ORDER BY t.reference DESC, t.account_id DESC, t.origin DESC, t.id DESC
      LIMIT 5
    ) t
  ORDER BY t.id DESC
  LIMIT 10
)
UNION ALL
(
  WITH RECURSIVE
    owners (account_id, n) AS (
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.reference, t.account_id) > ($1::text, '00000000-0000-0000-0000-000000000000'::uuid) AND t.reference <= $1::text
          ORDER BY t.reference, t.account_id
          LIMIT 1
        ), 1
      WHERE $2::text::uuid[] IS NULL
      UNION ALL
      SELECT
        (
          SELECT t.account_id
          FROM payouts t
          WHERE (t.reference, t.account_id) > ($1::text, o.account_id) AND t.reference <= $1::text
          ORDER BY t.reference, t.account_id
          LIMIT 1
        ), o.n + 1
      FROM owners o
      WHERE o.account_id IS NOT NULL AND o.n < 20
    )
  SELECT 'payout' AS kind, t.id, t.account_id AS account_id, (t.recipient_name)::text AS label, (t.amount)::bigint AS amount
  FROM
    (SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest($2::text::uuid[])) o
    CROSS JOIN LATERAL (
      SELECT *
      FROM payouts t
      WHERE
        (t.reference, t.account_id) >= ($1::text, o.account_id)
        AND (t.reference, t.account_id) <= ($1::text, o.account_id)
        AND t.reference <= $1::text
      ORDER BY t.reference DESC, t.account_id DESC, t.id DESC
      LIMIT 5
    ) t
  ORDER BY t.id DESC
  LIMIT 10
);

-- operations/StatusCounts.ts advanceWith
WITH
  scanned AS MATERIALIZED (
    SELECT transaction_id, id, account_id, kind, status, sequence, resource_id, created_at
    FROM changes
    WHERE (transaction_id, id) > ($1::text::xid8, $2::uuid) AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY transaction_id, id
    LIMIT 2000
  ),
  moved AS MATERIALIZED (
    SELECT
      c.*, h.amount, h.paid_at,
      coalesce(
        date_bin('1 minute', h.expires_at + interval '59.999999 seconds', timestamptz '2000-01-01 00:00:00Z'), 'infinity'
      ) AS expires_at
    FROM
      (
        SELECT
          c.account_id, c.resource, c.resource_id, c.status, c.created_at,
          CASE
            WHEN c.sequence <= CASE c.resource WHEN 'charge' THEN 2 ELSE 1
            END THEN NULL
            WHEN c.resource = 'charge'
            AND c.status = 'paid'
            AND c.sequence = 3 THEN 'pending'
            ELSE coalesce(
              (
                SELECT status
                FROM changes
                WHERE
                  resource_id = c.resource_id
                  AND sequence = c.sequence - 1
                  AND id >= coalesce(
                    (
                      lpad(
                        to_hex((extract(epoch FROM uuid_extract_timestamp(c.resource_id) - interval '1 day') * 1000)::bigint), 12,
                        '0'
                      ) || '00000000000000000000'
                    )::uuid, '00000000-0000-0000-0000-000000000000'
                  )
                LIMIT 1
              ),
              CASE
                WHEN c.resource = 'charge'
                AND c.status IN ('refunded', 'infraction', 'charged_back') THEN 'paid'
                WHEN c.resource = 'payout'
                AND c.status IN ('completed', 'failed') THEN 'processing'
                ELSE 'pending'
              END
            )
          END AS previous
        FROM
          (
            SELECT *, CASE WHEN kind LIKE 'charge.%' THEN 'charge' ELSE 'payout' END AS resource
            FROM scanned s
            WHERE
              (kind LIKE 'charge.%' OR kind LIKE 'payment.%')
              AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = s.account_id AND s.transaction_id <= a.arrived_until)
            OFFSET 0
          ) c
        OFFSET 0
      ) c
      LEFT JOIN charges h ON c.resource = 'charge'
      AND h.id = c.resource_id
    WHERE c.previous IS DISTINCT FROM c.status
  ),
  added_counts AS (
    SELECT account_id, resource, status, expires_at, sum(count)::bigint AS count
    FROM
      (
        SELECT
          account_id, resource, status, CASE WHEN resource = 'charge' AND status = 'pending' THEN expires_at ELSE 'infinity'
          END AS expires_at, 1 AS count
        FROM moved
        UNION ALL
        SELECT
          account_id, resource, previous, CASE WHEN resource = 'charge' AND previous = 'pending' THEN expires_at ELSE 'infinity'
          END, -1
        FROM moved
        WHERE previous IS NOT NULL
      ) each
    GROUP BY account_id, resource, status, expires_at
    HAVING sum(count) <> 0
  ),
  added_volumes AS (
    SELECT
      (paid_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date AS date, account_id, resource, count(*) AS count,
      sum(amount)::bigint AS amount
    FROM moved
    WHERE resource = 'charge' AND status = 'paid' AND (previous IS NULL OR previous = 'pending')
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT
      (m.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, p.account_id, m.resource, count(*),
      sum(p.amount)::bigint
    FROM moved m JOIN payouts p ON p.id = m.resource_id
    WHERE m.resource = 'payout' AND m.status = 'completed'
    GROUP BY 1, 2, 3
  ),
  counted AS (
    INSERT INTO status_counts (account_id, resource, status, expires_at, count)
    SELECT account_id, resource, status, expires_at, count
    FROM added_counts
    ON CONFLICT (account_id, resource, status, expires_at) DO UPDATE
    SET count = status_counts.count + excluded.count
  ),
  summed AS (
    INSERT INTO daily_volumes (date, account_id, resource, count, amount)
    SELECT date, account_id, resource, count, amount
    FROM added_volumes
    ON CONFLICT (date, account_id, resource) DO UPDATE
    SET count = daily_volumes.count + excluded.count, amount = daily_volumes.amount + excluded.amount
  ),
  added_hours AS (
    INSERT INTO hourly_volumes (at, account_id, resource, reason, count, amount)
    SELECT date_trunc('hour', paid_at), account_id, 'charge', '', count(*), sum(amount)::bigint
    FROM moved
    WHERE resource = 'charge' AND status = 'paid' AND (previous IS NULL OR previous = 'pending')
    GROUP BY 1, 2
    UNION ALL
    SELECT date_trunc('hour', m.created_at), p.account_id, 'payout', '', count(*), sum(p.amount)::bigint
    FROM moved m JOIN payouts p ON p.id = m.resource_id
    WHERE m.resource = 'payout' AND m.status = 'completed'
    GROUP BY 1, 2
    UNION ALL
    SELECT
      date_trunc('hour', m.created_at), m.account_id, 'failed_' || m.resource,
      coalesce(left(CASE m.resource WHEN 'charge' THEN c.failure_reason ELSE p.failure_reason END, 300), ''), count(*),
      sum(coalesce(c.amount, p.amount, 0))::bigint
    FROM
      moved m
      LEFT JOIN charges c ON m.resource = 'charge'
      AND c.id = m.resource_id
      LEFT JOIN payouts p ON m.resource = 'payout'
      AND p.id = m.resource_id
    WHERE m.status = 'failed'
    GROUP BY 1, 2, 3, 4
    ON CONFLICT (at, account_id, resource, reason) DO UPDATE
    SET count = hourly_volumes.count + excluded.count, amount = hourly_volumes.amount + excluded.amount
  ),
  position_moved AS (
    UPDATE status_counts_position
    SET (transaction_id, change_id) = (SELECT transaction_id, id FROM scanned ORDER BY scanned.transaction_id DESC, id DESC LIMIT 1)
    WHERE EXISTS (SELECT FROM scanned)
  )
SELECT
  (SELECT count(*)::integer FROM scanned) AS scanned,
  (
    SELECT json_agg(e)
    FROM
      (
        SELECT m.resource, m.status, count(*) AS count, coalesce(sum(coalesce(m.amount, p.amount)), 0) AS cents
        FROM moved m LEFT JOIN payouts p ON m.resource = 'payout' AND p.id = m.resource_id
        GROUP BY 1, 2
      ) e
  ) AS entered;

-- operations/StatusCounts.ts advanceWith
WITH
  scanned AS MATERIALIZED (
    SELECT transaction_id, id, account_id, kind, status, sequence, resource_id, created_at
    FROM changes
    WHERE (transaction_id, id) > ($1::text::xid8, $2::uuid) AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY transaction_id, id
    LIMIT 2000
  ),
  moved AS MATERIALIZED (
    SELECT
      c.*, h.amount, h.paid_at,
      coalesce(
        date_bin('1 minute', h.expires_at + interval '59.999999 seconds', timestamptz '2000-01-01 00:00:00Z'), 'infinity'
      ) AS expires_at
    FROM
      (
        SELECT
          c.account_id, c.resource, c.resource_id, c.status, c.created_at,
          CASE
            WHEN c.sequence <= CASE c.resource WHEN 'charge' THEN 2 ELSE 1
            END THEN NULL
            WHEN c.resource = 'charge'
            AND c.status = 'paid'
            AND c.sequence = 3 THEN 'pending'
            ELSE coalesce(
              (
                SELECT status
                FROM changes
                WHERE
                  resource_id = c.resource_id
                  AND sequence = c.sequence - 1
                  AND id >= coalesce(
                    (
                      lpad(
                        to_hex((extract(epoch FROM uuid_extract_timestamp(c.resource_id) - interval '1 day') * 1000)::bigint), 12,
                        '0'
                      ) || '00000000000000000000'
                    )::uuid, '00000000-0000-0000-0000-000000000000'
                  )
                LIMIT 1
              ),
              CASE
                WHEN c.resource = 'charge'
                AND c.status IN ('refunded', 'infraction', 'charged_back') THEN 'paid'
                WHEN c.resource = 'payout'
                AND c.status IN ('completed', 'failed') THEN 'processing'
                ELSE 'pending'
              END
            )
          END AS previous
        FROM
          (
            SELECT *, CASE WHEN kind LIKE 'charge.%' THEN 'charge' ELSE 'payout' END AS resource
            FROM scanned s
            WHERE
              (kind LIKE 'charge.%' OR kind LIKE 'payment.%')
              AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = s.account_id AND s.transaction_id <= a.arrived_until)
            OFFSET 0
          ) c
        OFFSET 0
      ) c
      LEFT JOIN charges h ON c.resource = 'charge'
      AND h.id = c.resource_id
    WHERE c.previous IS DISTINCT FROM c.status
  ),
  added_counts AS (
    SELECT account_id, resource, status, expires_at, sum(count)::bigint AS count
    FROM
      (
        SELECT
          account_id, resource, status, CASE WHEN resource = 'charge' AND status = 'pending' THEN expires_at ELSE 'infinity'
          END AS expires_at, 1 AS count
        FROM moved
        UNION ALL
        SELECT
          account_id, resource, previous, CASE WHEN resource = 'charge' AND previous = 'pending' THEN expires_at ELSE 'infinity'
          END, -1
        FROM moved
        WHERE previous IS NOT NULL
      ) each
    GROUP BY account_id, resource, status, expires_at
    HAVING sum(count) <> 0
  ),
  added_volumes AS (
    SELECT
      (paid_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date AS date, account_id, resource, count(*) AS count,
      sum(amount)::bigint AS amount
    FROM moved
    WHERE resource = 'charge' AND status = 'paid' AND (previous IS NULL OR previous = 'pending')
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT
      (m.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, p.account_id, m.resource, count(*),
      sum(p.amount)::bigint
    FROM moved m JOIN payouts p ON p.id = m.resource_id
    WHERE m.resource = 'payout' AND m.status = 'completed'
    GROUP BY 1, 2, 3
  ),
  counted AS (
    INSERT INTO status_counts (account_id, resource, status, expires_at, count)
    SELECT account_id, resource, status, expires_at, count
    FROM added_counts
    ON CONFLICT (account_id, resource, status, expires_at) DO UPDATE
    SET count = status_counts.count + excluded.count
  ),
  summed AS (
    INSERT INTO daily_volumes (date, account_id, resource, count, amount)
    SELECT date, account_id, resource, count, amount
    FROM added_volumes
    ON CONFLICT (date, account_id, resource) DO UPDATE
    SET count = daily_volumes.count + excluded.count, amount = daily_volumes.amount + excluded.amount
  ),
  added_hours AS (
    INSERT INTO hourly_volumes (at, account_id, resource, reason, count, amount)
    SELECT date_trunc('hour', paid_at), account_id, 'charge', '', count(*), sum(amount)::bigint
    FROM moved
    WHERE resource = 'charge' AND status = 'paid' AND (previous IS NULL OR previous = 'pending')
    GROUP BY 1, 2
    UNION ALL
    SELECT date_trunc('hour', m.created_at), p.account_id, 'payout', '', count(*), sum(p.amount)::bigint
    FROM moved m JOIN payouts p ON p.id = m.resource_id
    WHERE m.resource = 'payout' AND m.status = 'completed'
    GROUP BY 1, 2
    UNION ALL
    SELECT
      date_trunc('hour', m.created_at), m.account_id, 'failed_' || m.resource,
      coalesce(left(CASE m.resource WHEN 'charge' THEN c.failure_reason ELSE p.failure_reason END, 300), ''), count(*),
      sum(coalesce(c.amount, p.amount, 0))::bigint
    FROM
      moved m
      LEFT JOIN charges c ON m.resource = 'charge'
      AND c.id = m.resource_id
      LEFT JOIN payouts p ON m.resource = 'payout'
      AND p.id = m.resource_id
    WHERE m.status = 'failed'
    GROUP BY 1, 2, 3, 4
    ON CONFLICT (at, account_id, resource, reason) DO UPDATE
    SET count = hourly_volumes.count + excluded.count, amount = hourly_volumes.amount + excluded.amount
  ),
  inserted_charge_words AS (
    INSERT INTO charge_words (word, charge_id)
    SELECT word, t.id
    FROM
      (SELECT DISTINCT resource_id FROM moved WHERE resource = 'charge' AND previous IS NULL) s
      CROSS JOIN LATERAL (SELECT * FROM charges WHERE id = s.resource_id OFFSET 0) t
      CROSS JOIN LATERAL unnest(
        search_words (ARRAY[customer_name, reference]) || ('$' || t.amount) || ARRAY(
          SELECT '+' || regexp_replace(t.customer_phone, '\D', '', 'g')
          WHERE t.customer_phone IS NOT NULL
          UNION ALL
          SELECT '=' || left(md5(t.br_code), 24)
          WHERE strpos(t.br_code, replace(t.id::text, '-', '')) = 0
        )
      ) AS word
    WHERE length(word) <= 32
    ON CONFLICT DO NOTHING
  ),
  inserted_payout_words AS (
    INSERT INTO payout_words (word, payout_id)
    SELECT word, t.id
    FROM
      (SELECT DISTINCT resource_id FROM moved WHERE resource = 'payout' AND previous IS NULL) s
      CROSS JOIN LATERAL (SELECT * FROM payouts WHERE id = s.resource_id OFFSET 0) t
      CROSS JOIN LATERAL unnest(search_words (ARRAY[recipient_name, reference]) || ('$' || t.amount)) AS word
    WHERE length(word) <= 32
    ON CONFLICT DO NOTHING
  ),
  position_moved AS (
    UPDATE status_counts_position
    SET (transaction_id, change_id) = (SELECT transaction_id, id FROM scanned ORDER BY scanned.transaction_id DESC, id DESC LIMIT 1)
    WHERE EXISTS (SELECT FROM scanned)
  )
SELECT
  (SELECT count(*)::integer FROM scanned) AS scanned,
  (
    SELECT json_agg(e)
    FROM
      (
        SELECT m.resource, m.status, count(*) AS count, coalesce(sum(coalesce(m.amount, p.amount)), 0) AS cents
        FROM moved m LEFT JOIN payouts p ON m.resource = 'payout' AND p.id = m.resource_id
        GROUP BY 1, 2
      ) e
  ) AS entered;

-- operations/TimelineStore.ts findAttempts
SELECT a.*
FROM
  unnest($1::uuid[]) AS d (id)
  CROSS JOIN LATERAL (
    (
      SELECT id, delivery_id, at, duration_ms, address, status_code, error, response_body
      FROM delivery_attempts
      WHERE delivery_id >= d.id AND delivery_id <= d.id
      ORDER BY delivery_id DESC, id DESC
      LIMIT $2::integer
    )
    UNION ALL
    SELECT
      '00000000-0000-0000-0000-000000000000'::uuid AS id, id AS delivery_id, first_attempt_at AS at,
      first_duration_ms AS duration_ms, first_address AS address, first_status_code::integer AS status_code, NULL AS error,
      first_response_body AS response_body
    FROM deliveries
    WHERE id = d.id AND first_attempt_at IS NOT NULL
    ORDER BY id DESC
    LIMIT $2::integer
  ) a;

-- operations/TimelineStore.ts findChanges
SELECT kind, actions, status, created_at
FROM changes
WHERE resource_id >= $1::uuid AND resource_id <= $1::uuid AND id >= $2::uuid
ORDER BY resource_id DESC, sequence DESC
LIMIT $3::integer;

-- operations/TimelineStore.ts findEmission
SELECT c.id, 'emission' AS kind, 'ordered' AS state, 0::bigint AS amount, n.attempts + 1 AS attempts, c.connection_id, c.created_at
FROM charge_recoveries n JOIN charges c ON c.id = n.id
WHERE n.id = $1::uuid AND n.account_id IS NOT NULL;

-- operations/TimelineStore.ts findSubmission
SELECT
  id, 'payout' AS kind, amount, attempts, connection_id, created_at,
  CASE
    WHEN status = 'processing' THEN 'ordered'
    WHEN status = 'completed' THEN 'done'
    WHEN processed_at IS NULL THEN 'refused'
    ELSE 'failed'
  END AS state
FROM payouts
WHERE id = $1::uuid AND attempts > 0;

-- operators/OperatorIdentities.ts findOne
SELECT o.id AS operator_id, o.name AS operator_name, o.email, o.role, o.account_ids, o.active
FROM operator_identities i JOIN operators o ON o.id = i.operator_id
WHERE i.issuer = $1::text AND i.subject = $2::text;

-- operators/OperatorIdentities.ts linkOne
WITH
  linked AS (
    INSERT INTO operator_identities (issuer, subject, operator_id, created_at)
    SELECT $1::text, $2::text, o.id, now()
    FROM operators o
    WHERE lower(o.email) = lower($3::text) AND o.active
    ON CONFLICT DO NOTHING
    RETURNING operator_id AS owner_id
  )
SELECT o.id AS operator_id, o.name AS operator_name, o.email, o.role, o.account_ids
FROM linked l JOIN operators o ON o.id = l.owner_id;

-- operators/OperatorSessions.ts endOne
WITH
  ended AS (
    UPDATE operator_sessions
    SET ended_at = coalesce(ended_at, now())
    WHERE id = $1::uuid AND ($2::uuid IS NULL OR operator_id = $2::uuid)
    RETURNING id, operator_id, address, user_agent, created_at, last_seen_at, expires_at, ended_at
  ),
  revoked AS (
    UPDATE operator_tokens t
    SET revoked_at = now()
    FROM ended e
    WHERE t.operator_id IS NOT DISTINCT FROM e.operator_id AND e.ended_at = now() AND t.kind = 'link' AND t.revoked_at IS NULL
  )
SELECT id, operator_id, address, user_agent, created_at, last_seen_at, expires_at, ended_at
FROM ended;

-- operators/OperatorSessions.ts endSignIns
WITH ended AS (UPDATE operator_sessions SET ended_at = now() WHERE operator_id = $1::uuid AND ended_at IS NULL)
UPDATE operator_tokens t
SET revoked_at = now()
WHERE t.operator_id = $1::uuid AND t.kind = 'link' AND t.revoked_at IS NULL;

-- operators/OperatorSessions.ts findOne
WITH
  found AS (
    SELECT
      s.id, s.last_seen_at, s.role AS session_role, s.made_by, o.id AS operator_id, o.name AS operator_name, o.email, o.role,
      o.account_ids, s.ended_at IS NULL
      AND s.expires_at > now()
      AND s.last_seen_at > now() - interval '30 minutes'
      AND (s.operator_id IS NULL OR o.active) AS live
    FROM operator_sessions s LEFT JOIN operators o ON o.id = s.operator_id
    WHERE s.hash = $1::text
  ),
  seen AS (
    UPDATE operator_sessions s
    SET last_seen_at = now()
    FROM found f
    WHERE s.id = f.id AND f.live AND f.last_seen_at < now() - interval '1 minute'
  )
SELECT id, live, session_role, operator_id, operator_name, email, role, account_ids, made_by
FROM found;

-- operators/OperatorSessions.ts revokeTokens
UPDATE operator_tokens
SET revoked_at = now()
WHERE operator_id = $1::uuid AND revoked_at IS NULL;

-- operators/OperatorTokens.ts exchangeOne
WITH
  used AS (
    UPDATE operator_tokens
    SET revoked_at = now()
    WHERE hash = $1::text AND kind = 'link' AND revoked_at IS NULL AND expires_at > now()
    RETURNING operator_id AS owner_id, name AS token_name, made_by AS maker_id
  ),
  created AS (
    INSERT INTO operator_tokens (id, operator_id, kind, name, prefix, hash, expires_at, created_at, made_by)
    SELECT $2::uuid, o.id, 'personal', u.token_name, $3::text, $4::text, now() + interval '90 days', now(), u.maker_id
    FROM used u JOIN operators o ON o.id = u.owner_id
    WHERE o.active
    RETURNING id, operator_id, name, prefix, expires_at, revoked_at, last_used_at, created_at
  )
SELECT c.*, o.name AS operator_name, o.email, o.role, o.account_ids
FROM created c JOIN operators o ON o.id = c.operator_id;

-- operators/OperatorTokens.ts findOwner
WITH
  found AS (
    SELECT t.id, t.last_used_at, t.made_by, o.id AS operator_id, o.name AS operator_name, o.email, o.role, o.account_ids
    FROM operator_tokens t JOIN operators o ON o.id = t.operator_id
    WHERE
      t.hash = $1::text
      AND t.kind = 'personal'
      AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > now())
      AND o.active
  ),
  used AS (
    UPDATE operator_tokens t
    SET last_used_at = now()
    FROM found f
    WHERE t.id = f.id AND (f.last_used_at IS NULL OR f.last_used_at < now() - interval '1 minute')
  )
SELECT operator_id, operator_name, email, role, account_ids, made_by
FROM found;

-- operators/OperatorTokens.ts revokeOne
UPDATE operator_tokens
SET revoked_at = coalesce(revoked_at, now())
WHERE id = $1::uuid AND kind = 'personal' AND ($2::uuid IS NULL OR operator_id = $2::uuid)
RETURNING id, operator_id, name, prefix, expires_at, revoked_at, last_used_at, created_at;

-- operators/OperatorTokens.ts useOne
WITH
  used AS (
    UPDATE operator_tokens
    SET revoked_at = now()
    WHERE hash = $1::text AND kind = 'link' AND revoked_at IS NULL AND expires_at > now()
    RETURNING operator_id AS owner_id, made_by, session_ends_at
  )
SELECT o.id AS operator_id, o.name AS operator_name, o.email, o.role, o.account_ids, u.made_by, u.session_ends_at
FROM used u LEFT JOIN operators o ON o.id = u.owner_id
WHERE u.owner_id IS NULL OR o.active;

-- operators/Operators.ts countAccounts
SELECT count(*) AS count
FROM accounts
WHERE id = ANY ($1::uuid[]);

-- operators/Operators.ts findEmail
SELECT 1
FROM operators
WHERE lower(email) = lower($1::text);

-- operators/Operators.ts findOne
SELECT id, name, email, role, account_ids, active, created_at
FROM operators
WHERE id = $1::uuid;

-- operators/Operators.ts insertOne
INSERT INTO operators (id, name, email, role, account_ids, active, created_at)
SELECT $1::uuid, $2::text, $3::text, $4::text, $5::text::uuid[], true, to_timestamp($6::double precision / 1000)
WHERE
  (
    $8::boolean
    OR NOT EXISTS (
      SELECT
      FROM installation_settings
      WHERE
        four_eyes = 'on'
        OR (
          four_eyes = 'auto'
          AND (
            four_eyes_since IS NOT NULL
            OR (SELECT count(*) FROM operators o WHERE o.active AND o.role IN ('operator', 'admin') AND o.account_ids IS NULL) >= 2
          )
        )
    )
    OR EXISTS (
      SELECT
      FROM approvals a
      WHERE
        a.id = $7::uuid
        AND a.action = 'operator.create'
        AND a.status = 'approved'
        AND a.used_at IS NULL
        AND a.expires_at > now()
        AND a.resource_id IS NOT DISTINCT FROM NULL::uuid
    )
  )
ON CONFLICT (lower(email)) DO NOTHING
RETURNING id, name, email, role, account_ids, active, created_at;

-- operators/Operators.ts updateOne
UPDATE operators
SET name = $2::text, role = $3::text, account_ids = $4::text::uuid[], active = $5::boolean
WHERE
  id = $1::uuid
  AND (
    (role = $3::text AND account_ids IS NOT DISTINCT FROM $4::text::uuid[] AND (active OR NOT $5::boolean))
    OR (
      $7::boolean
      OR NOT EXISTS (
        SELECT
        FROM installation_settings
        WHERE
          four_eyes = 'on'
          OR (
            four_eyes = 'auto'
            AND (
              four_eyes_since IS NOT NULL
              OR (
                SELECT count(*)
                FROM operators o
                WHERE o.active AND o.role IN ('operator', 'admin') AND o.account_ids IS NULL
              ) >= 2
            )
          )
      )
      OR EXISTS (
        SELECT
        FROM approvals a
        WHERE
          a.id = $6::uuid
          AND a.action = 'operator.update'
          AND a.status = 'approved'
          AND a.used_at IS NULL
          AND a.expires_at > now()
          AND a.resource_id IS NOT DISTINCT FROM operators.id
      )
    )
  )
RETURNING id, name, email, role, account_ids, active, created_at;

-- operators/OrderKeys.ts completeOne
INSERT INTO operator_order_keys AS k (digest, fingerprint, operator_id, result_id, created_at)
VALUES ($1::text, $2::text, $3::uuid, $4::uuid, now())
ON CONFLICT (digest) DO UPDATE
SET result_id = excluded.result_id
WHERE k.result_id IS NULL AND k.fingerprint = excluded.fingerprint AND k.operator_id IS NOT DISTINCT FROM excluded.operator_id
RETURNING digest;

-- operators/OrderKeys.ts findOne
SELECT fingerprint, operator_id, result_id
FROM operator_order_keys
WHERE digest = $1::text;

-- operators/OrderKeys.ts releaseOne
DELETE FROM operator_order_keys
WHERE digest = $1::text AND result_id IS NULL;

-- operators/OrderKeys.ts reserveOne
INSERT INTO operator_order_keys (digest, fingerprint, operator_id, created_at)
VALUES ($1::text, $2::text, $3::uuid, now())
ON CONFLICT (digest) DO NOTHING;

-- operators/approvals/ApprovalRow.ts findOne
SELECT
  a.id, a.action, a.resource_id, a.account_id, a.concerns, a.request, a.before, a.payout, a.sealed, a.requested_by,
  (
    SELECT json_build_object('id', o.id, 'name', o.name, 'email', o.email)
    FROM operators o
    WHERE o.id = a.requested_by
  ) AS requester, a.made_by,
  (SELECT json_build_object('id', o.id, 'name', o.name, 'email', o.email) FROM operators o WHERE o.id = a.made_by) AS maker,
  (SELECT json_build_object('id', o.id, 'name', o.name, 'email', o.email) FROM operators o WHERE o.id = a.decided_by) AS decider,
  CASE WHEN a.used_at IS NULL AND a.status <> 'rejected' AND a.expires_at <= now() THEN 'expired' ELSE a.status
  END AS status, a.decided_at, a.reason, a.expires_at, a.used_at, a.result_id, a.created_at,
  (
    SELECT l.balance
    FROM ledger_accounts l
    WHERE
      l.owner_id = CASE WHEN a.action = 'exception.accept' THEN (a.request ->> 'account_id')::uuid ELSE a.account_id
      END
      AND l.kind = 'available'
  ) AS available,
  (
    SELECT coalesce(json_object_agg(n.id, n.name), '{}')
    FROM
      (
        SELECT id, name
        FROM accounts
        WHERE
          id = ANY (
            ARRAY[a.account_id, a.resource_id] || ARRAY(
              SELECT e.id::uuid
              FROM
                (VALUES (a.request -> 'account_ids'), (a.before -> 'account_ids')) v (ids),
                json_array_elements_text(
                  CASE json_typeof(v.ids) WHEN 'array' THEN v.ids WHEN 'string' THEN json_build_array(v.ids)
                  END
                ) e (id)
            ) || ARRAY(
              SELECT e.id::uuid
              FROM
                (VALUES (a.request -> 'account_id'), (a.before -> 'account_id')) v (ids),
                json_array_elements_text(
                  CASE json_typeof(v.ids) WHEN 'array' THEN v.ids WHEN 'string' THEN json_build_array(v.ids)
                  END
                ) e (id)
            )
          )
        UNION ALL
        SELECT id, customer_name
        FROM charges
        WHERE
          id = ANY (
            ARRAY(
              SELECT e.id::uuid
              FROM
                (VALUES (a.request -> 'charge_id'), (a.before -> 'charge_id')) v (ids),
                json_array_elements_text(
                  CASE json_typeof(v.ids) WHEN 'array' THEN v.ids WHEN 'string' THEN json_build_array(v.ids)
                  END
                ) e (id)
            )
          )
          AND customer_name IS NOT NULL
        UNION ALL
        SELECT id, name
        FROM applications
        WHERE id = a.resource_id
        UNION ALL
        SELECT id, name
        FROM api_keys
        WHERE id = a.resource_id
        UNION ALL
        SELECT id, name
        FROM operators
        WHERE id = a.resource_id
        UNION ALL
        SELECT id, name
        FROM acquirer_connections
        WHERE
          id = ANY (
            ARRAY[a.resource_id] || ARRAY(
              SELECT e.id::uuid
              FROM
                (VALUES (a.request -> 'connection_id'), (a.before -> 'connection_id')) v (ids),
                json_array_elements_text(
                  CASE json_typeof(v.ids) WHEN 'array' THEN v.ids WHEN 'string' THEN json_build_array(v.ids)
                  END
                ) e (id)
            )
          )
      ) n
  ) AS names,
  ARRAY(
    SELECT e.id
    FROM approvals e
    WHERE
      e.intent = a.intent
      AND e.id <> a.id
      AND e.created_at > now() - interval '72 hours'
      AND (e.status = 'approved' OR (e.status = 'pending' AND e.expires_at > now()))
    ORDER BY e.id DESC
    LIMIT 10
  ) AS equal_requests,
  (
    SELECT e.id
    FROM
      (
        SELECT p.id, p.amount, p.status
        FROM payouts p
        WHERE
          p.pix_key = a.payout ->> 'recipient_key'
          AND p.account_id = a.account_id
          AND p.id > (SELECT uuidv7(interval '-72 hours'))
        ORDER BY p.id DESC
        LIMIT 1000
      ) e
    WHERE
      e.amount = (a.payout ->> 'amount')::bigint
      AND e.status NOT IN ('failed', 'canceled')
      AND e.id NOT IN (coalesce((a.payout ->> 'id')::uuid, a.id), coalesce(a.result_id, a.id))
    ORDER BY e.id DESC
    LIMIT 1
  ) AS equal_payout
FROM approvals a
WHERE a.id = $1::uuid;

-- operators/approvals/ApprovalStore.ts decideStatement
UPDATE approvals a
SET status = 'approved', decided_by = $2::uuid, decided_at = now(), reason = $4::text
WHERE
  a.id = $1::uuid
  AND a.status = 'pending'
  AND a.expires_at > now()
  AND NOT ARRAY[a.requested_by, a.made_by, a.concerns] && ARRAY[$2::uuid, $3::uuid]
  AND (
    $2::uuid IS NULL
    OR EXISTS (
      SELECT
      FROM operators o
      WHERE
        o.id = $2::uuid
        AND o.active
        AND o.role IN ('operator', 'admin')
        AND (o.account_ids IS NULL OR a.account_id = ANY (o.account_ids))
    )
  )
  AND EXISTS (
    SELECT
    FROM operators o
    WHERE
      o.id = a.requested_by
      AND o.active
      AND (
        a.action = 'payout.approve'
        AND o.role IN ('operator', 'admin')
        OR a.action = 'payout.create'
        AND o.role IN ('operator', 'admin')
        OR a.action = 'key.create'
        AND o.role IN ('admin')
        OR a.action = 'key.update'
        AND o.role IN ('admin')
        OR a.action = 'connection.create'
        AND o.role IN ('admin')
        OR a.action = 'connection.update'
        AND o.role IN ('admin')
        OR a.action = 'connection.register_webhook'
        AND o.role IN ('admin')
        OR a.action = 'account.update'
        AND o.role IN ('admin')
        OR a.action = 'account.move'
        AND o.role IN ('admin')
        OR a.action = 'operator.create'
        AND o.role IN ('admin')
        OR a.action = 'operator.update'
        AND o.role IN ('admin')
        OR a.action = 'operator_token.create'
        AND o.role IN ('admin')
        OR a.action = 'installation.update'
        AND o.role IN ('admin')
        OR a.action = 'installation.confirm_outward'
        AND o.role IN ('admin')
        OR a.action = 'exception.accept'
        AND o.role IN ('operator', 'admin')
        OR a.action = 'payout.settle'
        AND o.role IN ('operator', 'admin')
        OR a.action = 'refund.settle'
        AND o.role IN ('operator', 'admin')
        OR a.action = 'exception.settle'
        AND o.role IN ('operator', 'admin')
        OR a.action = 'payer.anonymise'
        AND o.role IN ('admin')
        OR a.action = 'adjustment.create'
        AND o.role IN ('operator', 'admin')
      )
      AND (o.account_ids IS NULL OR a.account_id = ANY (o.account_ids))
  )
RETURNING a.id;

-- operators/approvals/ApprovalStore.ts decideStatement
UPDATE approvals a
SET status = 'rejected', decided_by = $2::uuid, decided_at = now(), reason = $4::text
WHERE
  a.id = $1::uuid
  AND a.status = 'pending'
  AND a.expires_at > now()
  AND NOT ARRAY[a.requested_by, a.made_by, a.concerns] && ARRAY[$2::uuid, $3::uuid]
  AND (
    $2::uuid IS NULL
    OR EXISTS (
      SELECT
      FROM operators o
      WHERE
        o.id = $2::uuid
        AND o.active
        AND o.role IN ('operator', 'admin')
        AND (o.account_ids IS NULL OR a.account_id = ANY (o.account_ids))
    )
  )
RETURNING a.id;

-- operators/approvals/ApprovalStore.ts expireEqual
UPDATE approvals
SET status = 'expired'
WHERE fingerprint = $1::text AND status = 'pending' AND expires_at <= now();

-- operators/approvals/ApprovalStore.ts expireOne
UPDATE approvals
SET status = 'expired', reason = $2::text
WHERE id = $1::uuid AND status = 'pending';

-- operators/approvals/ApprovalStore.ts findApprovedEqual
SELECT id
FROM approvals
WHERE
  fingerprint = $1::text
  AND status = 'approved'
  AND used_at IS NULL
  AND expires_at > now()
  AND requested_by = $2::uuid
  AND made_by IS NOT DISTINCT FROM $3::uuid
ORDER BY id
LIMIT 1;

-- operators/approvals/ApprovalStore.ts findEqual
SELECT id
FROM approvals
WHERE fingerprint = $1::text AND status = 'pending';

-- operators/approvals/ApprovalStore.ts insertOne
INSERT INTO
  approvals (
    id, action, resource_id, account_id, concerns, request, before, payout, sealed, fingerprint, intent, requested_by, made_by,
    status, expires_at, created_at
  )
VALUES
  (
    $1::uuid, $2::text, $3::uuid, $4::uuid, $5::uuid, $6::text::json, $7::text::json, $8::text::json, $9::text, $10::text,
    $11::text, $12::uuid, $13::uuid, 'pending', now() + interval '72 hours', to_timestamp($14::double precision / 1000)
  )
ON CONFLICT (fingerprint)
WHERE status = 'pending' DO NOTHING
RETURNING id;

-- operators/approvals/ApprovalStore.ts lockAny
SELECT 1
FROM approvals
WHERE id = $1::uuid
FOR UPDATE;

-- operators/approvals/ApprovalStore.ts lockOne
SELECT 1
FROM approvals
WHERE id = $1::uuid AND status = 'approved' AND used_at IS NULL AND expires_at > now()
FOR UPDATE;

-- operators/approvals/ApprovalStore.ts useOne
UPDATE approvals
SET used_at = now(), result_id = $2::uuid
WHERE id = $1::uuid AND used_at IS NULL;

-- payments/charges/ChargeStatements.ts changePaid
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($40::uuid[], $41::text[], $42::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  changed AS (
    UPDATE charges c
    SET
      status = i.status, br_code = i.br_code, end_to_end_id = i.end_to_end_id, receiver_id = i.receiver_id, paid_at = i.paid_at,
      refunded_amount = i.refunded_amount, failure_reason = i.failure_reason, sequence = i.sequence,
      payer = coalesce(i.payer, c.payer)
    FROM
      (
        SELECT *
        FROM
          (
            SELECT
              id, status, br_code, end_to_end_id, paid_at, refunded_amount, failure_reason, sequence, receiver_id,
              settlement_claimed, payer::json AS payer
            FROM
              unnest(
                $1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::bigint[], $7::text[], $8::integer[],
                $9::uuid[], $10::boolean[], $11::text[]
              ) AS t (
                id, status, br_code, end_to_end_id, paid_at, refunded_amount, failure_reason, sequence, receiver_id,
                settlement_claimed, payer
              )
          ) AS r
        LIMIT $12::integer
      ) AS i
    WHERE
      c.id = i.id
      AND c.id >= $13::uuid
      AND c.sequence = i.sequence - 1
      AND c.status || '>' || i.status IN (
        'processing>pending', 'processing>failed', 'pending>paid', 'pending>failed', 'pending>canceled', 'paid>refunded',
        'infraction>refunded', 'paid>infraction', 'paid>charged_back', 'infraction>charged_back', 'infraction>paid'
      )
      AND (c.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
    RETURNING
      c.id, c.account_id, CASE new.status WHEN 'processing' THEN 'pending' ELSE new.status
      END AS status,
      CASE
        WHEN new.status IN ('processing', 'pending') THEN coalesce(
          (extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807
        )
        ELSE 0
      END AS lifetime_ms, CASE old.status WHEN 'processing' THEN 'pending' ELSE old.status
      END AS status_before,
      CASE
        WHEN old.status IN ('processing', 'pending') THEN coalesce(
          (extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807
        )
        ELSE 0
      END AS lifetime_ms_before, c.origin = 'api' AS is_listed,
      coalesce(c.connection_id, '00000000-0000-7000-8000-000000000001')::uuid AS connection_id, c.amount, c.end_to_end_id,
      new.status = 'paid'
      AND new.end_to_end_id IS NOT NULL AS is_settled, old.status = 'paid'
      AND old.end_to_end_id IS NOT NULL AS was_settled, old.end_to_end_id IS DISTINCT FROM new.end_to_end_id
      AND NOT i.settlement_claimed AS claims_settlement
  ), other_state AS MATERIALIZED (SELECT * FROM changed WHERE is_listed AND status <> status_before),
  inserted_receivers AS (
    INSERT INTO receivers (id, receiver)
    SELECT n.id, n.receiver
    FROM (SELECT id, receiver::json AS receiver FROM unnest($14::uuid[], $15::text[]) AS t (id, receiver)) AS n
    WHERE NOT EXISTS (SELECT FROM receivers e WHERE e.id = n.id)
    ON CONFLICT (id) DO NOTHING
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $16::uuid[], $17::uuid[], $18::uuid[], $19::uuid[], $20::text[], $21::text[], $22::text[], $23::text[], $24::integer[],
            $25::timestamptz[], $26::uuid[], $27::uuid[], $28::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  deleted_states AS (
    DELETE FROM charge_states s USING other_state m
    WHERE
      NOT m.was_settled
      AND s.account_id = m.account_id
      AND s.status = m.status_before
      AND s.lifetime_ms = m.lifetime_ms_before
      AND s.charge_id = m.id
  ),
  inserted_states AS (
    INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
    SELECT account_id, status, lifetime_ms, id
    FROM other_state
    WHERE NOT is_settled
  ),
  inserted_settlements AS (
    INSERT INTO charge_settlements (end_to_end_id, connection_id, charge_id, amount, account_id)
    SELECT end_to_end_id, connection_id, id, amount, CASE WHEN is_settled AND is_listed THEN account_id END
    FROM changed
    WHERE claims_settlement AND end_to_end_id IS NOT NULL
  ),
  changed_settlements AS (
    UPDATE charge_settlements s
    SET account_id = CASE WHEN m.is_settled THEN m.account_id END
    FROM other_state m
    WHERE
      m.is_settled <> m.was_settled
      AND NOT m.claims_settlement
      AND s.end_to_end_id = m.end_to_end_id
      AND s.connection_id = m.connection_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $29::uuid[], $30::uuid[], $31::text[], $32::text[], $33::bigint[], $34::uuid[], $35::uuid[], $36::uuid[], $37::bigint[],
            $38::text[], $39::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  ),
  inserted_notifications AS (
    INSERT INTO notifications (id, subject, report, outcome, connection_id, received_at)
    SELECT r.id, r.subject, r.report, 'applied', r.connection_id, r.received_at
    FROM
      (
        SELECT id, resource_id, subject, report::json AS report, connection_id, received_at
        FROM
          unnest($47::uuid[], $48::uuid[], $49::text[], $50::text[], $51::uuid[], $52::timestamptz[]) AS t (id, resource_id, subject, report, connection_id, received_at)
      ) AS r
    WHERE (r.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  claimed_keys AS (
    INSERT INTO notification_keys (key, notification_id)
    SELECT k.key, k.id
    FROM (SELECT key, id, resource_id FROM unnest($53::text[], $54::uuid[], $55::uuid[]) AS t (key, id, resource_id)) AS k
    WHERE (k.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_releases AS (
    INSERT INTO releases (charge_id, account_id, amount, due_at)
    SELECT r.charge_id, r.account_id, r.amount, now() + r.due_in_ms * interval '1 millisecond'
    FROM
      (
        SELECT charge_id, account_id, amount, due_in_ms
        FROM unnest($43::uuid[], $44::uuid[], $45::bigint[], $46::float8[]) AS t (charge_id, account_id, amount, due_in_ms)
      ) AS r
    WHERE (r.charge_id IN (SELECT id FROM changed)) IS TRUE
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/charges/ChargeStatements.ts changePaid
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($40::uuid[], $41::text[], $42::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l SKIP LOCKED
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  changed AS (
    UPDATE charges c
    SET
      status = i.status, br_code = i.br_code, end_to_end_id = i.end_to_end_id, receiver_id = i.receiver_id, paid_at = i.paid_at,
      refunded_amount = i.refunded_amount, failure_reason = i.failure_reason, sequence = i.sequence,
      payer = coalesce(i.payer, c.payer)
    FROM
      (
        SELECT *
        FROM
          (
            SELECT
              id, status, br_code, end_to_end_id, paid_at, refunded_amount, failure_reason, sequence, receiver_id,
              settlement_claimed, payer::json AS payer
            FROM
              unnest(
                $1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::bigint[], $7::text[], $8::integer[],
                $9::uuid[], $10::boolean[], $11::text[]
              ) AS t (
                id, status, br_code, end_to_end_id, paid_at, refunded_amount, failure_reason, sequence, receiver_id,
                settlement_claimed, payer
              )
          ) AS r
        LIMIT $12::integer
      ) AS i
    WHERE
      c.id = i.id
      AND c.id >= $13::uuid
      AND c.sequence = i.sequence - 1
      AND c.status || '>' || i.status IN (
        'processing>pending', 'processing>failed', 'pending>paid', 'pending>failed', 'pending>canceled', 'paid>refunded',
        'infraction>refunded', 'paid>infraction', 'paid>charged_back', 'infraction>charged_back', 'infraction>paid'
      )
      AND (c.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
    RETURNING
      c.id, c.account_id, CASE new.status WHEN 'processing' THEN 'pending' ELSE new.status
      END AS status,
      CASE
        WHEN new.status IN ('processing', 'pending') THEN coalesce(
          (extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807
        )
        ELSE 0
      END AS lifetime_ms, CASE old.status WHEN 'processing' THEN 'pending' ELSE old.status
      END AS status_before,
      CASE
        WHEN old.status IN ('processing', 'pending') THEN coalesce(
          (extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807
        )
        ELSE 0
      END AS lifetime_ms_before, c.origin = 'api' AS is_listed,
      coalesce(c.connection_id, '00000000-0000-7000-8000-000000000001')::uuid AS connection_id, c.amount, c.end_to_end_id,
      new.status = 'paid'
      AND new.end_to_end_id IS NOT NULL AS is_settled, old.status = 'paid'
      AND old.end_to_end_id IS NOT NULL AS was_settled, old.end_to_end_id IS DISTINCT FROM new.end_to_end_id
      AND NOT i.settlement_claimed AS claims_settlement
  ), other_state AS MATERIALIZED (SELECT * FROM changed WHERE is_listed AND status <> status_before),
  inserted_receivers AS (
    INSERT INTO receivers (id, receiver)
    SELECT n.id, n.receiver
    FROM (SELECT id, receiver::json AS receiver FROM unnest($14::uuid[], $15::text[]) AS t (id, receiver)) AS n
    WHERE NOT EXISTS (SELECT FROM receivers e WHERE e.id = n.id)
    ON CONFLICT (id) DO NOTHING
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $16::uuid[], $17::uuid[], $18::uuid[], $19::uuid[], $20::text[], $21::text[], $22::text[], $23::text[], $24::integer[],
            $25::timestamptz[], $26::uuid[], $27::uuid[], $28::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  deleted_states AS (
    DELETE FROM charge_states s USING other_state m
    WHERE
      NOT m.was_settled
      AND s.account_id = m.account_id
      AND s.status = m.status_before
      AND s.lifetime_ms = m.lifetime_ms_before
      AND s.charge_id = m.id
  ),
  inserted_states AS (
    INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
    SELECT account_id, status, lifetime_ms, id
    FROM other_state
    WHERE NOT is_settled
  ),
  inserted_settlements AS (
    INSERT INTO charge_settlements (end_to_end_id, connection_id, charge_id, amount, account_id)
    SELECT end_to_end_id, connection_id, id, amount, CASE WHEN is_settled AND is_listed THEN account_id END
    FROM changed
    WHERE claims_settlement AND end_to_end_id IS NOT NULL
  ),
  changed_settlements AS (
    UPDATE charge_settlements s
    SET account_id = CASE WHEN m.is_settled THEN m.account_id END
    FROM other_state m
    WHERE
      m.is_settled <> m.was_settled
      AND NOT m.claims_settlement
      AND s.end_to_end_id = m.end_to_end_id
      AND s.connection_id = m.connection_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $29::uuid[], $30::uuid[], $31::text[], $32::text[], $33::bigint[], $34::uuid[], $35::uuid[], $36::uuid[], $37::bigint[],
            $38::text[], $39::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  ),
  inserted_notifications AS (
    INSERT INTO notifications (id, subject, report, outcome, connection_id, received_at)
    SELECT r.id, r.subject, r.report, 'applied', r.connection_id, r.received_at
    FROM
      (
        SELECT id, resource_id, subject, report::json AS report, connection_id, received_at
        FROM
          unnest($47::uuid[], $48::uuid[], $49::text[], $50::text[], $51::uuid[], $52::timestamptz[]) AS t (id, resource_id, subject, report, connection_id, received_at)
      ) AS r
    WHERE (r.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  claimed_keys AS (
    INSERT INTO notification_keys (key, notification_id)
    SELECT k.key, k.id
    FROM (SELECT key, id, resource_id FROM unnest($53::text[], $54::uuid[], $55::uuid[]) AS t (key, id, resource_id)) AS k
    WHERE (k.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_releases AS (
    INSERT INTO releases (charge_id, account_id, amount, due_at)
    SELECT r.charge_id, r.account_id, r.amount, now() + r.due_in_ms * interval '1 millisecond'
    FROM
      (
        SELECT charge_id, account_id, amount, due_in_ms
        FROM unnest($43::uuid[], $44::uuid[], $45::bigint[], $46::float8[]) AS t (charge_id, account_id, amount, due_in_ms)
      ) AS r
    WHERE (r.charge_id IN (SELECT id FROM changed)) IS TRUE
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/charges/ChargeStatements.ts changeUnpaid
WITH
  changed AS (
    UPDATE charges c
    SET
      status = i.status, br_code = i.br_code, end_to_end_id = i.end_to_end_id, receiver_id = i.receiver_id, paid_at = i.paid_at,
      refunded_amount = i.refunded_amount, failure_reason = i.failure_reason, sequence = i.sequence
    FROM
      (
        SELECT *
        FROM
          (
            SELECT
              id, status, br_code, end_to_end_id, paid_at, refunded_amount, failure_reason, sequence, receiver_id,
              settlement_claimed
            FROM
              unnest(
                $1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::bigint[], $7::text[], $8::integer[],
                $9::uuid[], $10::boolean[]
              ) AS t (
                id, status, br_code, end_to_end_id, paid_at, refunded_amount, failure_reason, sequence, receiver_id,
                settlement_claimed
              )
          ) AS r
        LIMIT $11::integer
      ) AS i
    WHERE
      c.id = i.id
      AND c.id >= $12::uuid
      AND c.sequence = i.sequence - 1
      AND c.status || '>' || i.status IN (
        'processing>pending', 'processing>failed', 'pending>paid', 'pending>failed', 'pending>canceled', 'paid>refunded',
        'infraction>refunded', 'paid>infraction', 'paid>charged_back', 'infraction>charged_back', 'infraction>paid'
      )
      AND true
    RETURNING
      c.id, c.account_id, CASE new.status WHEN 'processing' THEN 'pending' ELSE new.status
      END AS status,
      CASE
        WHEN new.status IN ('processing', 'pending') THEN coalesce(
          (extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807
        )
        ELSE 0
      END AS lifetime_ms, CASE old.status WHEN 'processing' THEN 'pending' ELSE old.status
      END AS status_before,
      CASE
        WHEN old.status IN ('processing', 'pending') THEN coalesce(
          (extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807
        )
        ELSE 0
      END AS lifetime_ms_before, c.origin = 'api' AS is_listed
  ), other_state AS MATERIALIZED (SELECT * FROM changed WHERE is_listed AND status <> status_before),
  inserted_receivers AS (
    INSERT INTO receivers (id, receiver)
    SELECT n.id, n.receiver
    FROM (SELECT id, receiver::json AS receiver FROM unnest($13::uuid[], $14::text[]) AS t (id, receiver)) AS n
    WHERE NOT EXISTS (SELECT FROM receivers e WHERE e.id = n.id)
    ON CONFLICT (id) DO NOTHING
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $15::uuid[], $16::uuid[], $17::uuid[], $18::uuid[], $19::text[], $20::text[], $21::text[], $22::text[], $23::integer[],
            $24::timestamptz[], $25::uuid[], $26::uuid[], $27::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  deleted_states AS (
    DELETE FROM charge_states s USING other_state m
    WHERE
      true
      AND s.account_id = m.account_id
      AND s.status = m.status_before
      AND s.lifetime_ms = m.lifetime_ms_before
      AND s.charge_id = m.id
  ),
  inserted_states AS (
    INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
    SELECT account_id, status, lifetime_ms, id
    FROM other_state
    WHERE true
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows
FROM changed;

-- payments/charges/ChargeStatements.ts findAccount
SELECT account_id
FROM charges
WHERE id = $1::uuid;

-- payments/charges/ChargeStatements.ts findByIds
SELECT
  id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
  webhook_url, br_code, end_to_end_id, receiver_id, expires_at, paid_at, refunded_amount, failure_reason, created_at, sequence,
  application_id, idempotency_key, customer_phone, webhook_secret, connection_id, trace
FROM charges
WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid;

-- payments/charges/ChargeStatements.ts findOneByKey
SELECT
  id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
  webhook_url, br_code, end_to_end_id, receiver_id, expires_at, paid_at, refunded_amount, failure_reason, created_at, sequence,
  application_id, idempotency_key, customer_phone, webhook_secret, connection_id, trace
FROM charges
WHERE
  id = (SELECT resource_id FROM idempotency_keys WHERE digest = idempotency_digest ($1::uuid, 'charge', $2::text, $3::text))
  AND application_id = $1::uuid
  AND origin = $2::text
  AND idempotency_key = $3::text;

-- payments/charges/ChargeStatements.ts findShown
SELECT
  id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
  webhook_url, br_code, end_to_end_id, receiver_id, expires_at, paid_at, refunded_amount, failure_reason, created_at, sequence,
  NULL::uuid AS generation, NULL::float8 AS now_ms
FROM charges
WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid
UNION ALL
SELECT
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  (SELECT g.generation FROM caller_generation g WHERE g.id) AS generation, extract(epoch FROM now())::float8 * 1000 AS now_ms;

-- payments/charges/ChargeStatements.ts insertMany
WITH
  inserted_recoveries AS (
    INSERT INTO charge_recoveries (due_at, id, charge_ids)
    SELECT now() + $26::double precision * interval '1 millisecond', n.id, string_to_array(n.charge_ids, ',')::uuid[]
    FROM (SELECT id, charge_ids FROM unnest($24::uuid[], $25::text[]) AS t (id, charge_ids)) AS n
  ),
  requested AS MATERIALIZED (
    SELECT
      id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
      webhook_url, expires_at, created_at, sequence, application_id, idempotency_key, customer_phone, webhook_secret, connection_id,
      trace
    FROM
      (
        SELECT
          id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
          webhook_url, expires_at, created_at, sequence, application_id, idempotency_key, customer_phone, webhook_secret,
          connection_id, trace, generation, key_expires_at
        FROM
          unnest(
            $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[],
            $10::text[], $11::text[], $12::text[], $13::timestamptz[], $14::timestamptz[], $15::integer[], $16::uuid[], $17::text[],
            $18::text[], $19::text[], $20::uuid[], $21::text[], $22::uuid[], $23::timestamptz[]
          ) AS t (
            id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email,
            customer_document, webhook_url, expires_at, created_at, sequence, application_id, idempotency_key, customer_phone,
            webhook_secret, connection_id, trace, generation, key_expires_at
          )
      ) AS c
    WHERE
      (c.generation IS NULL OR c.generation = (SELECT g.generation FROM caller_generation g WHERE g.id))
      AND (c.key_expires_at IS NULL OR c.key_expires_at > now())
  ),
  claimed AS (
    INSERT INTO idempotency_keys (digest, resource_id)
    SELECT idempotency_digest (application_id, 'charge', origin, idempotency_key), id
    FROM requested
    WHERE idempotency_key IS NOT NULL
    ON CONFLICT (digest) DO NOTHING
    RETURNING resource_id
  ),
  inserted AS (
    INSERT INTO
      charges (
        id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
        webhook_url, expires_at, created_at, sequence, application_id, idempotency_key, customer_phone, webhook_secret,
        connection_id, trace
      )
    SELECT
      id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
      webhook_url, expires_at, created_at, sequence, application_id, idempotency_key, customer_phone, webhook_secret, connection_id,
      trace
    FROM requested
    WHERE idempotency_key IS NULL OR (id IN (SELECT resource_id FROM claimed)) IS TRUE
    RETURNING
      id, connection_id, account_id, origin, CASE status WHEN 'processing' THEN 'pending' ELSE status
      END AS status,
      CASE
        WHEN status IN ('processing', 'pending') THEN coalesce(
          (extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807
        )
        ELSE 0
      END AS lifetime_ms
  ),
  inserted_states AS (
    INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
    SELECT account_id, status, lifetime_ms, id
    FROM inserted
    WHERE origin = 'api'
  )
SELECT
  id, ((connection_id) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE k.paused))) IS TRUE AS is_paused,
  NULL::uuid AS generation, NULL::float8 AS now_ms
FROM inserted
UNION ALL
SELECT
  NULL, false, (SELECT g.generation FROM caller_generation g WHERE g.id) AS generation,
  extract(epoch FROM now())::float8 * 1000 AS now_ms;

-- payments/charges/ChargeStatements.ts lockOne
SELECT
  id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
  webhook_url, br_code, end_to_end_id, receiver_id, expires_at, paid_at, refunded_amount, failure_reason, created_at, sequence,
  application_id, idempotency_key, customer_phone, webhook_secret, connection_id, trace
FROM charges
WHERE id = $1::uuid
FOR UPDATE;

-- payments/charges/LockedCharges.ts addToRelease
UPDATE releases
SET
  amount = CASE WHEN released_at IS NULL THEN amount ELSE 0
  END + $2::bigint, released_at = CASE WHEN CASE WHEN released_at IS NULL THEN amount ELSE 0 END + $2::bigint = 0 THEN now()
  END
WHERE charge_id = $1::uuid;

-- payments/charges/LockedCharges.ts postTransfers
WITH
  changed AS (SELECT $1::uuid AS id),
  refunded AS (UPDATE charges SET refunded_amount = $2::bigint WHERE id = $1::uuid AND refunded_amount <> $2::bigint),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::uuid[], $9::uuid[], $10::uuid[], $11::bigint[],
            $12::text[], $13::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT id
FROM changed;

-- payments/charges/LockedCharges.ts sumOf
SELECT ends.kind, sum(ends.amount)::bigint AS amount
FROM ledger_transfers t CROSS JOIN LATERAL (VALUES (t.credit, t.amount), (t.debit, - t.amount)) AS ends (kind, amount)
WHERE t.resource_id = $1::uuid AND t.account_id = $2::uuid
GROUP BY ends.kind;

-- payments/charges/Receivers.ts findReceivers
SELECT id, receiver
FROM receivers
WHERE id = ANY ($1::uuid[]);

-- payments/charges/RecoveryStore.ts claimMany
WITH RECURSIVE
  accounts AS (
    (SELECT account_id FROM charge_recoveries WHERE account_id IS NOT NULL ORDER BY account_id, due_at LIMIT 1)
    UNION ALL
    SELECT (SELECT n.account_id FROM charge_recoveries n WHERE n.account_id > a.account_id ORDER BY n.account_id, n.due_at LIMIT 1)
    FROM accounts a
    WHERE a.account_id IS NOT NULL
  ),
  turns AS MATERIALIZED (
    SELECT a.account_id
    FROM accounts a
    WHERE
      a.account_id IS NOT NULL
      AND (
        SELECT n.due_at
        FROM charge_recoveries n
        WHERE n.account_id IS NOT NULL AND (n.account_id, n.due_at) >= (a.account_id, '-infinity')
        ORDER BY n.account_id, n.due_at
        LIMIT 1
      ) <= now()
      AND CASE
        WHEN EXISTS (
          SELECT
          FROM (SELECT connection_id, free FROM unnest($1::uuid[], $2::integer[]) AS t (connection_id, free)) AS k
          WHERE k.free <= 0
        ) THEN coalesce(
          (
            SELECT k.free
            FROM (SELECT connection_id, free FROM unnest($1::uuid[], $2::integer[]) AS t (connection_id, free)) AS k
            WHERE
              k.connection_id = coalesce(
                (
                  SELECT c.connection_id
                  FROM charges c
                  WHERE
                    c.id = (
                      SELECT n.id
                      FROM charge_recoveries n
                      WHERE n.account_id IS NOT NULL AND (n.account_id, n.due_at) >= (a.account_id, '-infinity')
                      ORDER BY n.account_id, n.due_at
                      LIMIT 1
                    )
                ), '00000000-0000-7000-8000-000000000001'::uuid
              )
          ), $3::integer
        ) > 0
        ELSE true
      END
  ),
  candidates AS MATERIALIZED (
    SELECT d.due_at, d.id, d.turn
    FROM
      turns a
      CROSS JOIN LATERAL (
        SELECT n.due_at, n.id, row_number() OVER (ORDER BY n.account_id, n.due_at) AS turn
        FROM charge_recoveries n
        WHERE
          n.account_id IS NOT NULL
          AND (n.account_id, n.due_at) >= (a.account_id, '-infinity')
          AND (n.account_id, n.due_at) <= (a.account_id, now())
        ORDER BY n.account_id, n.due_at
        LIMIT (SELECT greatest(1, $4::integer / count(*)) FROM turns)
      ) d
    ORDER BY d.turn, d.due_at
    LIMIT $4::integer
  ),
  ranked AS MATERIALIZED (
    SELECT d.due_at, d.id, d.connection_id, row_number() OVER (PARTITION BY d.connection_id ORDER BY d.turn, d.due_at) AS place
    FROM
      (
        SELECT
          t.*,
          coalesce(
            (SELECT c.connection_id FROM charges c WHERE c.id = t.id), '00000000-0000-7000-8000-000000000001'
          ) AS connection_id
        FROM candidates t
      ) d
  ),
  claimed AS MATERIALIZED (
    SELECT n.due_at, n.id
    FROM ranked c JOIN charge_recoveries n ON n.due_at = c.due_at AND n.id = c.id
    WHERE
      c.place <= coalesce(
        (
          SELECT k.free
          FROM (SELECT connection_id, free FROM unnest($1::uuid[], $2::integer[]) AS t (connection_id, free)) AS k
          WHERE k.connection_id = coalesce(c.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
        ), $3::integer
      )
    FOR UPDATE OF n SKIP LOCKED
  ), waiting AS MATERIALIZED (SELECT c.* FROM claimed t JOIN charges c ON c.id = t.id WHERE c.status = 'processing'),
  done AS (
    DELETE FROM charge_recoveries n USING claimed t
    WHERE n.due_at = t.due_at AND n.id = t.id AND (t.id IN (SELECT id FROM waiting)) IS FALSE
  ),
  leased AS (
    UPDATE charge_recoveries n
    SET
      attempts = n.attempts + 1,
      due_at = now() + greatest(
        $5::double precision * interval '1 millisecond',
        least($5::double precision * interval '1 millisecond' * power(2, least(n.attempts, 20)), interval '5 minutes')
      )
    FROM claimed t
    WHERE n.due_at = t.due_at AND n.id = t.id AND (t.id IN (SELECT id FROM waiting)) IS TRUE
  )
SELECT e.examined, s.*
FROM
  (SELECT count(*) AS examined FROM claimed) e
  LEFT JOIN (
    SELECT
      id, account_id, origin, status, method, amount, description, reference, customer_name, customer_email, customer_document,
      webhook_url, br_code, end_to_end_id, receiver_id, expires_at, paid_at, refunded_amount, failure_reason, created_at, sequence,
      application_id, idempotency_key, customer_phone, webhook_secret, connection_id, trace,
      ((connection_id) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE k.paused))) IS TRUE AS is_paused,
      (expires_at <= now()) IS TRUE AS is_overdue
    FROM waiting
  ) s ON true;

-- payments/charges/RecoveryStore.ts endMany
DELETE FROM charge_recoveries n USING (
  SELECT due_at, id
  FROM charge_recoveries
  WHERE account_id IS NOT NULL AND id = ANY ($1::uuid[])
  FOR UPDATE SKIP LOCKED
) ended
WHERE n.due_at = ended.due_at AND n.id = ended.id;

-- payments/charges/RecoveryStore.ts renewMany
UPDATE charge_recoveries
SET due_at = greatest(due_at, now() + $3::double precision * interval '1 millisecond')
WHERE account_id = ANY ($2::uuid[]) AND id = ANY ($1::uuid[]);

-- payments/charges/RecoveryStore.ts splitMany
WITH
  due AS MATERIALIZED (
    SELECT due_at, id, charge_ids
    FROM charge_recoveries
    WHERE account_id IS NULL AND due_at + interval '0' <= now()
    ORDER BY id
    LIMIT $1::integer
    FOR UPDATE SKIP LOCKED
  ),
  split AS (
    INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
    SELECT now(), c.id, ARRAY[c.id], c.account_id
    FROM due d CROSS JOIN LATERAL unnest(d.charge_ids) AS listed (id) JOIN charges c ON c.id = listed.id
    WHERE c.status = 'processing'
    ON CONFLICT (id)
    WHERE account_id IS NOT NULL DO NOTHING
  ), done AS (DELETE FROM charge_recoveries n USING due d WHERE n.due_at = d.due_at AND n.id = d.id)
SELECT count(*) AS examined
FROM due;

-- payments/disputes/DisputeList.ts findByDeadline
SELECT
  disputes.id, disputes.charge_id, disputes.exception_id, disputes.account_id, disputes.application_id, disputes.connection_id,
  disputes.external_id, disputes.status, disputes.amount, disputes.reason, disputes.reference, disputes.opened_at,
  disputes.defense_deadline_at, disputes.resolved_at, disputes.arrived_resolved, disputes.sequence, disputes.returned,
  disputes.return_id
FROM disputes
WHERE
  status IN ('open', 'under_review')
  AND (defense_deadline_at, id) > (
    coalesce((SELECT a.defense_deadline_at FROM disputes a WHERE a.id = $10::uuid), '-infinity'),
    coalesce($10::uuid, '00000000-0000-0000-0000-000000000000')
  )
  AND defense_deadline_at < $9::text::timestamptz
  AND ($1::text::uuid[] IS NULL OR account_id = ANY ($1::text::uuid[]))
  AND ($2::text::uuid[] IS NULL OR $2::text::uuid[] @> ARRAY[charge_id])
  AND ($3::uuid IS NULL OR id IS DISTINCT FROM $3::uuid)
  AND ($4::text IS NULL OR status IS NOT DISTINCT FROM $4::text)
  AND (amount >= $7::bigint) IS TRUE
  AND (amount <= $8::bigint) IS TRUE
  AND (id >= $5::uuid) IS TRUE
  AND (id < $6::uuid) IS TRUE
ORDER BY defense_deadline_at, disputes.id
LIMIT $11::integer;

-- payments/disputes/DisputeList.ts findChargesOf
SELECT id
FROM charges
WHERE customer_document = $1::text AND customer_document IS NOT NULL
LIMIT 1000;

-- payments/disputes/DisputeList.ts findOpen
SELECT id
FROM disputes
WHERE id = $1::uuid AND ($2::text::uuid[] IS NULL OR account_id = ANY ($2::text::uuid[])) AND defense_deadline_at IS NOT NULL;

-- payments/disputes/DisputeList.ts findPayer
SELECT (SELECT c.customer_document FROM charges c WHERE c.id = d.charge_id) AS document
FROM disputes d
WHERE d.id = $1::uuid AND ($2::text::uuid[] IS NULL OR d.account_id = ANY ($2::text::uuid[]));

-- payments/disputes/DisputeStore.ts addOne
WITH
  changed AS (
    INSERT INTO dispute_messages (id, dispute_id, author, text, at)
    SELECT id, dispute_id, author, text, at
    FROM
      (
        SELECT id, dispute_id, author, text, at
        FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[]) AS t (id, dispute_id, author, text, at)
      ) AS m
    RETURNING dispute_id AS id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $6::uuid[], $7::uuid[], $8::uuid[], $9::uuid[], $10::text[], $11::text[], $12::text[], $13::text[], $14::integer[],
            $15::timestamptz[], $16::uuid[], $17::uuid[], $18::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows
FROM changed;

-- payments/disputes/DisputeStore.ts findFile
SELECT name, content_type, content
FROM dispute_files
WHERE id = $1::uuid;

-- payments/disputes/DisputeStore.ts findFiles
SELECT id, message_id, name, content_type, octet_length(content) AS size
FROM dispute_files
WHERE message_id = ANY ($1::uuid[])
ORDER BY message_id, id;

-- payments/disputes/DisputeStore.ts findMessages
SELECT id, dispute_id, author, text, at
FROM dispute_messages
WHERE dispute_id = ANY ($1::uuid[])
ORDER BY id;

-- payments/disputes/DisputeStore.ts findOne
SELECT
  id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference, opened_at,
  defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
FROM disputes
WHERE id = $1::uuid;

-- payments/disputes/DisputeStore.ts findOneByExternalId
SELECT
  id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference, opened_at,
  defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
FROM disputes
WHERE external_id = $2::text AND connection_id IS NOT DISTINCT FROM $1::uuid;

-- payments/disputes/DisputeStore.ts findOpenDefenses
SELECT dispute_id AS id
FROM acquirer_orders
WHERE dispute_id = ANY ($1::uuid[]) AND state = 'ordered';

-- payments/disputes/DisputeStore.ts lockAllOf
SELECT
  id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference, opened_at,
  defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
FROM disputes
WHERE charge_id = $1::uuid
ORDER BY id DESC
FOR UPDATE;

-- payments/disputes/DisputeStore.ts lockAllOfException
SELECT
  id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference, opened_at,
  defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
FROM disputes
WHERE exception_id = $1::uuid
ORDER BY id DESC
FOR UPDATE;

-- payments/disputes/DisputeStore.ts lockOne
SELECT
  id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference, opened_at,
  defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
FROM disputes
WHERE id = $1::uuid
FOR UPDATE;

-- payments/disputes/DisputeStore.ts putOne
WITH
  changed AS (
    INSERT INTO
      disputes (
        id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference,
        opened_at, defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
      )
    SELECT
      id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference,
      opened_at, defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
    FROM
      (
        SELECT
          id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference,
          opened_at, defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
        FROM
          unnest(
            $1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::bigint[],
            $10::text[], $11::text[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[], $15::boolean[], $16::integer[],
            $17::bigint[], $18::text[]
          ) AS t (
            id, charge_id, exception_id, account_id, application_id, connection_id, external_id, status, amount, reason, reference,
            opened_at, defense_deadline_at, resolved_at, arrived_resolved, sequence, returned, return_id
          )
      ) AS d
    ON CONFLICT (id) DO UPDATE
    SET
      status = excluded.status, resolved_at = excluded.resolved_at, sequence = excluded.sequence,
      external_id = excluded.external_id, returned = excluded.returned, return_id = excluded.return_id
    RETURNING id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $19::uuid[], $20::uuid[], $21::uuid[], $22::uuid[], $23::text[], $24::text[], $25::text[], $26::text[], $27::integer[],
            $28::timestamptz[], $29::uuid[], $30::uuid[], $31::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows
FROM changed;

-- payments/exceptions/ExceptionStore.ts findContradictionOf
SELECT
  id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key, payer, received,
  occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action, reason, failure_reason, resolved_by,
  resolved_at, created_at
FROM acquirer_exceptions
WHERE coalesce(payout_id, refund_id) = $1::uuid AND kind = 'contradictory_outcome' AND (status = 'open' OR action IS NOT NULL);

-- payments/exceptions/ExceptionStore.ts findContradictions
SELECT coalesce(payout_id, refund_id) AS id, provider_outcome AS outcome
FROM acquirer_exceptions
WHERE
  coalesce(payout_id, refund_id) = ANY ($1::uuid[])
  AND kind = 'contradictory_outcome'
  AND (status = 'open' OR action IS NOT NULL);

-- payments/exceptions/ExceptionStore.ts findOne
SELECT
  id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key, payer, received,
  occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action, reason, failure_reason, resolved_by,
  resolved_at, created_at
FROM acquirer_exceptions
WHERE id = $1::uuid;

-- payments/exceptions/ExceptionStore.ts lockContradictionOf
SELECT
  id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key, payer, received,
  occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action, reason, failure_reason, resolved_by,
  resolved_at, created_at
FROM acquirer_exceptions
WHERE coalesce(payout_id, refund_id) = $1::uuid AND kind = 'contradictory_outcome' AND (status = 'open' OR action IS NOT NULL)
FOR UPDATE;

-- payments/exceptions/ExceptionStore.ts lockOne
SELECT
  id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key, payer, received,
  occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action, reason, failure_reason, resolved_by,
  resolved_at, created_at
FROM acquirer_exceptions
WHERE id = $1::uuid
FOR UPDATE;

-- payments/exceptions/ExceptionStore.ts lockPaymentsOf
SELECT
  id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key, payer, received,
  occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action, reason, failure_reason, resolved_by,
  resolved_at, created_at
FROM acquirer_exceptions
WHERE end_to_end_id = $2::text AND connection_id = $1::uuid AND kind NOT IN ('unmatched_return', 'unmatched_dispute')
ORDER BY id
FOR UPDATE;

-- payments/exceptions/ExceptionStore.ts putOne
WITH
  changed AS (
    INSERT INTO
      acquirer_exceptions (
        id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key, payer,
        received, occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action, reason, failure_reason,
        resolved_by, resolved_at, created_at
      )
    SELECT
      id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key, payer,
      received, occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action, reason, failure_reason,
      resolved_by, resolved_at, created_at
    FROM
      (
        SELECT
          id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key,
          payer::json AS payer, received, occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action,
          reason, failure_reason, resolved_by, resolved_at, created_at
        FROM
          unnest(
            $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::timestamptz[], $15::uuid[], $16::uuid[], $17::uuid[],
            $18::uuid[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::timestamptz[], $25::timestamptz[]
          ) AS t (
            id, connection_id, kind, status, amount, expected_amount, unallocated, end_to_end_id, txid, external_id, pix_key, payer,
            received, occurred_at, charge_id, account_id, payout_id, refund_id, provider_outcome, action, reason, failure_reason,
            resolved_by, resolved_at, created_at
          )
      ) AS e
    ON CONFLICT (id) DO UPDATE
    SET
      status = excluded.status, amount = excluded.amount, unallocated = excluded.unallocated, charge_id = excluded.charge_id,
      account_id = excluded.account_id, action = excluded.action, reason = excluded.reason,
      failure_reason = excluded.failure_reason, resolved_by = excluded.resolved_by, resolved_at = excluded.resolved_at
    RETURNING id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $26::uuid[], $27::uuid[], $28::text[], $29::text[], $30::bigint[], $31::uuid[], $32::uuid[], $33::uuid[], $34::bigint[],
            $35::text[], $36::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT id
FROM changed;

-- payments/exceptions/UnreadableEntries.ts claimMany
UPDATE unreadable_entries
SET read_at = now(), read_by = $2::text
WHERE
  connection_id = $1::uuid
  AND digest IN (
    SELECT u.digest
    FROM unreadable_entries u JOIN acquirer_exceptions e ON e.id = u.exception_id
    WHERE
      u.connection_id = $1::uuid
      AND e.status = 'open'
      AND e.created_at > now() - interval '90 days'
      AND (u.read_at <= now() - interval '24 hours' OR u.read_by <> $2::text)
    ORDER BY u.read_at
    LIMIT $3::integer
  )
RETURNING list, from_at, to_at, digest, exception_id;

-- payments/exceptions/UnreadableEntries.ts findAside
SELECT digest
FROM unreadable_entries
WHERE
  connection_id = $1::uuid
  AND digest = ANY (ARRAY(SELECT d.digest FROM (SELECT digest FROM unnest($2::text[]) AS t (digest)) AS d))
  AND exception_id IS NOT NULL;

-- payments/exceptions/UnreadableEntries.ts meetOne
WITH
  forgotten AS (
    DELETE FROM unreadable_entries
    WHERE connection_id = $1::uuid AND exception_id IS NULL AND read_at < now() - interval '7 days' AND digest <> $2::text
  )
INSERT INTO unreadable_entries AS e (connection_id, digest, list, from_at, to_at, failures, read_at, read_by)
VALUES
  (
    $1::uuid, $2::text, $3::text, to_timestamp($4::double precision / 1000), to_timestamp($5::double precision / 1000), 1, now(),
    $6::text
  )
ON CONFLICT (connection_id, digest) DO UPDATE
SET
  failures = least(e.failures + 1, 1000), read_at = now(), read_by = excluded.read_by, list = excluded.list,
  from_at = excluded.from_at, to_at = excluded.to_at
RETURNING failures, exception_id;

-- payments/exceptions/UnreturnedLosses.ts findDue
(
  SELECT
    r.id, r.account_id, r.charge_id, NULL::uuid AS exception_id, r.amount, r.provider_id IS NOT NULL AS is_reported,
    EXISTS (
      SELECT
      FROM acquirer_exceptions e
      WHERE
        coalesce(e.payout_id, e.refund_id) = r.id
        AND true
        AND kind = 'contradictory_outcome'
        AND (status = 'open' OR action IS NOT NULL)
    ) AS is_contradicted
  FROM refunds r
  WHERE
    r.nature = 'dispute'
    AND r.connection_id = $1::uuid
    AND r.provider_id IS NULL
    AND r.completed_at < now() - $2::integer * interval '1 day'
    AND NOT EXISTS (
      SELECT
      FROM acquirer_exceptions e
      WHERE
        coalesce(e.payout_id, e.refund_id) = r.id
        AND e.amount = r.amount
        AND kind = 'contradictory_outcome'
        AND (status = 'open' OR action IS NOT NULL)
    )
  LIMIT $3::integer
)
UNION ALL
(
  SELECT
    d.id, d.account_id, NULL::uuid, d.exception_id, d.returned, d.return_id IS NOT NULL,
    EXISTS (
      SELECT
      FROM acquirer_exceptions e
      WHERE
        coalesce(e.payout_id, e.refund_id) = d.id
        AND true
        AND kind = 'contradictory_outcome'
        AND (status = 'open' OR action IS NOT NULL)
    )
  FROM disputes d
  WHERE
    d.exception_id IS NOT NULL
    AND d.status = 'lost'
    AND d.returned > 0
    AND d.connection_id = $1::uuid
    AND d.return_id IS NULL
    AND d.resolved_at < now() - $2::integer * interval '1 day'
    AND NOT EXISTS (
      SELECT
      FROM acquirer_exceptions e
      WHERE
        coalesce(e.payout_id, e.refund_id) = d.id
        AND e.amount = d.returned
        AND kind = 'contradictory_outcome'
        AND (status = 'open' OR action IS NOT NULL)
    )
  LIMIT $3::integer
);

-- payments/exceptions/UnreturnedLosses.ts findOf
SELECT
  r.id, r.account_id, r.charge_id, NULL::uuid AS exception_id, r.amount, r.provider_id IS NOT NULL AS is_reported,
  EXISTS (
    SELECT
    FROM acquirer_exceptions e
    WHERE
      coalesce(e.payout_id, e.refund_id) = r.id
      AND true
      AND kind = 'contradictory_outcome'
      AND (status = 'open' OR action IS NOT NULL)
  ) AS is_contradicted
FROM refunds r
WHERE r.nature = 'dispute' AND r.charge_id = $1::uuid
UNION ALL
SELECT
  d.id, d.account_id, NULL::uuid, d.exception_id, d.returned, d.return_id IS NOT NULL,
  EXISTS (
    SELECT
    FROM acquirer_exceptions e
    WHERE
      coalesce(e.payout_id, e.refund_id) = d.id
      AND true
      AND kind = 'contradictory_outcome'
      AND (status = 'open' OR action IS NOT NULL)
  )
FROM disputes d
WHERE d.exception_id IS NOT NULL AND d.status = 'lost' AND d.returned > 0 AND d.exception_id = $1::uuid;

-- payments/payouts/PausedPayouts.ts rescheduleStatement
WITH RECURSIVE
  places (account_id, connection_id, n) AS (
    (
      SELECT f.*, 1
      FROM
        (
          SELECT
            p.account_id,
            (
              CASE
                WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
                ELSE '00000000-0000-0000-0000-000000000000'::uuid
              END
            ) AS connection_id
          FROM payouts p
          WHERE
            p.status || '' = 'processing'
            AND p.due_at IS NULL
            AND (
              p.account_id,
              (
                CASE
                  WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
                  ELSE '00000000-0000-0000-0000-000000000000'::uuid
                END
              )
            ) > ($1::uuid, $2::uuid)
          ORDER BY
            p.account_id,
            (
              CASE
                WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
                ELSE '00000000-0000-0000-0000-000000000000'::uuid
              END
            )
          LIMIT 1
        ) f
      WHERE NOT (SELECT i.payouts_paused FROM installation_settings i WHERE i.id)
    )
    UNION ALL
    SELECT f.account_id, f.connection_id, w.n + 1
    FROM
      places w
      CROSS JOIN LATERAL (
        SELECT
          p.account_id,
          (
            CASE
              WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
              ELSE '00000000-0000-0000-0000-000000000000'::uuid
            END
          ) AS connection_id
        FROM payouts p
        WHERE
          p.status || '' = 'processing'
          AND p.due_at IS NULL
          AND (
            p.account_id,
            (
              CASE
                WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
                ELSE '00000000-0000-0000-0000-000000000000'::uuid
              END
            )
          ) > (w.account_id, w.connection_id)
        ORDER BY
          p.account_id,
          (
            CASE
              WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
              ELSE '00000000-0000-0000-0000-000000000000'::uuid
            END
          )
        LIMIT 1
      ) f
    WHERE w.n < 200
  ),
  free AS MATERIALIZED (
    SELECT w.account_id, w.connection_id, 1000 / count(*) OVER () AS share
    FROM
      places w
      JOIN accounts a ON a.id = w.account_id
      AND NOT (
        (a.status <> 'active' OR a.payouts_paused OR (SELECT i.payouts_paused FROM installation_settings i WHERE i.id))
        OR coalesce(a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default)) IS NULL
      )
    WHERE
      NOT (
        (
          CASE
            WHEN w.connection_id = '00000000-0000-0000-0000-000000000000' THEN nullif(
              coalesce(a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default)),
              '00000000-0000-7000-8000-000000000001'
            )
            ELSE w.connection_id
          END
        ) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE k.paused OR k.payouts_paused))
      ) IS TRUE
  ),
  due AS MATERIALIZED (
    SELECT d.id
    FROM
      free f
      CROSS JOIN LATERAL (
        SELECT p.id
        FROM payouts p
        WHERE
          p.status || '' = 'processing'
          AND p.due_at IS NULL
          AND p.account_id = f.account_id
          AND (
            CASE
              WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
              ELSE '00000000-0000-0000-0000-000000000000'::uuid
            END
          ) = f.connection_id
        ORDER BY p.id
        LIMIT f.share
        FOR UPDATE SKIP LOCKED
      ) d
  ), rescheduled AS (UPDATE payouts p SET due_at = now() FROM due d WHERE p.id = d.id RETURNING p.id)
SELECT (SELECT count(*) FROM rescheduled) AS rescheduled, l.account_id AS last_account, l.connection_id AS last_connection
FROM (SELECT 1) s LEFT JOIN (SELECT * FROM places WHERE n = 200) l ON true;

-- payments/payouts/PausedPayouts.ts rescheduleStatement
WITH RECURSIVE
  places (account_id, connection_id, n) AS (
    (
      SELECT f.*, 1
      FROM
        (
          SELECT
            p.account_id,
            (
              CASE
                WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
                ELSE '00000000-0000-0000-0000-000000000000'::uuid
              END
            ) AS connection_id
          FROM payouts p
          WHERE
            p.status || '' = 'processing'
            AND p.due_at IS NULL
            AND (
              p.account_id,
              (
                CASE
                  WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
                  ELSE '00000000-0000-0000-0000-000000000000'::uuid
                END
              )
            ) > ($1::uuid, $2::uuid)
          ORDER BY
            p.account_id,
            (
              CASE
                WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
                ELSE '00000000-0000-0000-0000-000000000000'::uuid
              END
            )
          LIMIT 1
        ) f
      WHERE NOT (SELECT i.payouts_paused FROM installation_settings i WHERE i.id)
    )
    UNION ALL
    SELECT f.account_id, f.connection_id, w.n + 1
    FROM
      places w
      CROSS JOIN LATERAL (
        SELECT
          p.account_id,
          (
            CASE
              WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
              ELSE '00000000-0000-0000-0000-000000000000'::uuid
            END
          ) AS connection_id
        FROM payouts p
        WHERE
          p.status || '' = 'processing'
          AND p.due_at IS NULL
          AND (
            p.account_id,
            (
              CASE
                WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
                ELSE '00000000-0000-0000-0000-000000000000'::uuid
              END
            )
          ) > (w.account_id, w.connection_id)
        ORDER BY
          p.account_id,
          (
            CASE
              WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
              ELSE '00000000-0000-0000-0000-000000000000'::uuid
            END
          )
        LIMIT 1
      ) f
    WHERE w.n < 200
  ),
  free AS MATERIALIZED (
    SELECT w.account_id, w.connection_id, 1000 / count(*) OVER () AS share
    FROM
      places w
      JOIN accounts a ON a.id = w.account_id
      AND NOT (a.status <> 'active' OR a.payouts_paused OR (SELECT i.payouts_paused FROM installation_settings i WHERE i.id))
    WHERE
      NOT (
        (
          CASE
            WHEN w.connection_id = '00000000-0000-0000-0000-000000000000' THEN nullif(a.connection_id, '00000000-0000-7000-8000-000000000001')
            ELSE w.connection_id
          END
        ) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE k.paused OR k.payouts_paused))
      ) IS TRUE
  ),
  due AS MATERIALIZED (
    SELECT d.id
    FROM
      free f
      CROSS JOIN LATERAL (
        SELECT p.id
        FROM payouts p
        WHERE
          p.status || '' = 'processing'
          AND p.due_at IS NULL
          AND p.account_id = f.account_id
          AND (
            CASE
              WHEN p.attempts > 0 THEN coalesce(p.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
              ELSE '00000000-0000-0000-0000-000000000000'::uuid
            END
          ) = f.connection_id
        ORDER BY p.id
        LIMIT f.share
        FOR UPDATE SKIP LOCKED
      ) d
  ), rescheduled AS (UPDATE payouts p SET due_at = now() FROM due d WHERE p.id = d.id RETURNING p.id)
SELECT (SELECT count(*) FROM rescheduled) AS rescheduled, l.account_id AS last_account, l.connection_id AS last_connection
FROM (SELECT 1) s LEFT JOIN (SELECT * FROM places WHERE n = 200) l ON true;

-- payments/payouts/PayoutClaims.ts claimStatement
WITH RECURSIVE
  longest_due AS MATERIALIZED (
    SELECT account_id
    FROM payouts
    WHERE status = 'processing' AND due_at <= now()
    ORDER BY due_at
    LIMIT 1
  ),
  further (account_id, n) AS (
    SELECT
      (
        SELECT p.account_id
        FROM payouts p
        WHERE p.status = 'processing' AND p.due_at IS NOT NULL AND (p.account_id, p.due_at) > ($6::uuid, 'infinity')
        ORDER BY p.account_id, p.due_at
        LIMIT 1
      ), 1
    WHERE EXISTS (SELECT FROM longest_due)
    UNION ALL
    SELECT
      (
        SELECT p.account_id
        FROM payouts p
        WHERE p.status = 'processing' AND p.due_at IS NOT NULL AND (p.account_id, p.due_at) > (f.account_id, 'infinity')
        ORDER BY p.account_id, p.due_at
        LIMIT 1
      ), f.n + 1
    FROM further f
    WHERE f.account_id IS NOT NULL AND f.n < least(100, $4::integer / 2)
  ),
  heads AS MATERIALIZED (
    SELECT
      t.account_id,
      (
        (a.status <> 'active' OR a.payouts_paused OR (SELECT i.payouts_paused FROM installation_settings i WHERE i.id))
        OR coalesce(a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default)) IS NULL
      ) AS is_stopped,
      nullif(
        coalesce(a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default)),
        '00000000-0000-7000-8000-000000000001'
      ) AS connection_id,
      CASE
        WHEN h.attempts = 0 THEN nullif(
          coalesce(a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default)),
          '00000000-0000-7000-8000-000000000001'
        )
        ELSE h.connection_id
      END AS head_connection_id
    FROM
      (SELECT account_id FROM longest_due UNION SELECT account_id FROM further WHERE account_id IS NOT NULL) t
      JOIN accounts a ON a.id = t.account_id
      CROSS JOIN LATERAL (
        SELECT p.due_at, p.attempts, p.connection_id
        FROM payouts p
        WHERE
          p.status = 'processing'
          AND p.due_at IS NOT NULL
          AND (p.account_id, p.due_at) >= (t.account_id, '-infinity')
          AND p.account_id <= t.account_id
        ORDER BY p.account_id, p.due_at
        LIMIT 1
      ) h
    WHERE h.due_at <= now()
  ),
  turns AS MATERIALIZED (
    SELECT h.*, count(*) OVER () AS turns, count(*) OVER (PARTITION BY h.head_connection_id) AS turns_of_connection
    FROM
      (
        SELECT
          e.*,
          coalesce(
            (
              SELECT k.free
              FROM (SELECT connection_id, free FROM unnest($1::uuid[], $2::integer[]) AS t (connection_id, free)) AS k
              WHERE k.connection_id = coalesce(e.head_connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
            ), $3::integer
          ) AS free, e.is_stopped
          OR (
            (e.head_connection_id) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE k.paused OR k.payouts_paused))
          ) IS TRUE AS is_paused
        FROM heads e
      ) h
    WHERE h.is_paused OR h.free > 0
  ),
  shares AS MATERIALIZED (
    SELECT
      t.account_id, t.is_stopped, t.connection_id,
      greatest(1, least($4::integer / t.turns, CASE WHEN NOT t.is_paused THEN t.free / t.turns_of_connection END)) AS share
    FROM turns t
  ),
  locked AS MATERIALIZED (
    SELECT
      d.id, d.due_at, d.processed_at, d.first_sent_at, s.account_id, s.connection_id, s.is_stopped,
      CASE WHEN d.attempts = 0 THEN s.connection_id ELSE d.connection_id
      END AS called_connection_id
    FROM
      shares s
      CROSS JOIN LATERAL (
        SELECT p.id, p.processed_at, p.due_at, p.first_sent_at, p.attempts, p.connection_id
        FROM payouts p
        WHERE
          p.status = 'processing'
          AND p.due_at IS NOT NULL
          AND (p.account_id, p.due_at) >= (s.account_id, '-infinity')
          AND (p.account_id, p.due_at) <= (s.account_id, now())
        ORDER BY p.account_id, p.due_at
        LIMIT s.share
        FOR UPDATE SKIP LOCKED
      ) d
  ),
  judged AS MATERIALIZED (
    SELECT l.*, l.is_paused AND l.processed_at IS NULL AND l.first_sent_at IS NULL AS to_pause
    FROM
      (
        SELECT
          *, is_stopped
          OR (
            (called_connection_id) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE k.paused OR k.payouts_paused))
          ) IS TRUE AS is_paused
        FROM locked
      ) l
  ),
  taken AS MATERIALIZED (
    SELECT t.*
    FROM
      (
        SELECT l.*, row_number() OVER (PARTITION BY l.to_pause, l.called_connection_id ORDER BY l.turn, l.due_at) AS place
        FROM (SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY due_at) AS turn FROM judged) l
      ) t
    WHERE
      t.to_pause
      OR t.place <= coalesce(
        (
          SELECT k.free
          FROM (SELECT connection_id, free FROM unnest($1::uuid[], $2::integer[]) AS t (connection_id, free)) AS k
          WHERE k.connection_id = coalesce(t.called_connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
        ), $3::integer
      )
  ), paused AS (UPDATE payouts p SET due_at = NULL FROM taken t WHERE p.id = t.id AND t.to_pause RETURNING p.id),
  claimed AS (
    UPDATE payouts p
    SET
      due_at = now() + $5::double precision * interval '1 millisecond',
      attempts = CASE WHEN t.is_paused AND t.processed_at IS NULL THEN p.attempts ELSE p.attempts + 1
      END, requested_at = coalesce(p.requested_at, now()), first_sent_at = coalesce(p.first_sent_at, now()),
      connection_id = CASE WHEN p.attempts = 0 THEN t.connection_id ELSE p.connection_id
      END
    FROM taken t
    WHERE p.id = t.id AND NOT t.to_pause
    RETURNING
      p.id, p.account_id, p.application_id, p.origin, p.idempotency_key, p.status, p.method, p.amount, p.fee, p.description,
      p.reference, p.recipient_name, p.recipient_document, p.pix_key_type, p.bank_account, p.pix_key, p.webhook_url,
      p.webhook_secret, p.end_to_end_id, p.failure_reason, p.duplicate_of, p.processed_at, p.created_at, p.sequence,
      p.connection_id, p.provider_reference, p.trace,
      CASE
        WHEN p.idempotency_key IS NULL THEN idempotency_digest (coalesce(p.application_id, p.account_id), 'payout id', p.origin, p.id::text)
        ELSE idempotency_digest (coalesce(p.application_id, p.account_id), 'payout', p.origin, p.idempotency_key)
      END AS order_id, p.attempts, t.is_paused, t.first_sent_at <= now() - interval '20 hours' AS is_old
  )
SELECT c.*, r.paused, r.next_account
FROM
  (SELECT (SELECT count(*) FROM paused) AS paused, (SELECT account_id FROM further ORDER BY n DESC LIMIT 1) AS next_account) r
  LEFT JOIN claimed c ON true;

-- payments/payouts/PayoutClaims.ts claimStatement
WITH RECURSIVE
  longest_due AS MATERIALIZED (
    SELECT account_id
    FROM payouts
    WHERE status = 'processing' AND due_at <= now()
    ORDER BY due_at
    LIMIT 1
  ),
  further (account_id, n) AS (
    SELECT
      (
        SELECT p.account_id
        FROM payouts p
        WHERE p.status = 'processing' AND p.due_at IS NOT NULL AND (p.account_id, p.due_at) > ($6::uuid, 'infinity')
        ORDER BY p.account_id, p.due_at
        LIMIT 1
      ), 1
    WHERE EXISTS (SELECT FROM longest_due)
    UNION ALL
    SELECT
      (
        SELECT p.account_id
        FROM payouts p
        WHERE p.status = 'processing' AND p.due_at IS NOT NULL AND (p.account_id, p.due_at) > (f.account_id, 'infinity')
        ORDER BY p.account_id, p.due_at
        LIMIT 1
      ), f.n + 1
    FROM further f
    WHERE f.account_id IS NOT NULL AND f.n < least(100, $4::integer / 2)
  ),
  heads AS MATERIALIZED (
    SELECT
      t.account_id,
      (a.status <> 'active' OR a.payouts_paused OR (SELECT i.payouts_paused FROM installation_settings i WHERE i.id)) AS is_stopped,
      nullif(a.connection_id, '00000000-0000-7000-8000-000000000001') AS connection_id,
      CASE WHEN h.attempts = 0 THEN nullif(a.connection_id, '00000000-0000-7000-8000-000000000001') ELSE h.connection_id
      END AS head_connection_id
    FROM
      (SELECT account_id FROM longest_due UNION SELECT account_id FROM further WHERE account_id IS NOT NULL) t
      JOIN accounts a ON a.id = t.account_id
      CROSS JOIN LATERAL (
        SELECT p.due_at, p.attempts, p.connection_id
        FROM payouts p
        WHERE
          p.status = 'processing'
          AND p.due_at IS NOT NULL
          AND (p.account_id, p.due_at) >= (t.account_id, '-infinity')
          AND p.account_id <= t.account_id
        ORDER BY p.account_id, p.due_at
        LIMIT 1
      ) h
    WHERE h.due_at <= now()
  ),
  turns AS MATERIALIZED (
    SELECT h.*, count(*) OVER () AS turns, count(*) OVER (PARTITION BY h.head_connection_id) AS turns_of_connection
    FROM
      (
        SELECT
          e.*,
          coalesce(
            (
              SELECT k.free
              FROM (SELECT connection_id, free FROM unnest($1::uuid[], $2::integer[]) AS t (connection_id, free)) AS k
              WHERE k.connection_id = coalesce(e.head_connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
            ), $3::integer
          ) AS free, e.is_stopped
          OR (
            (e.head_connection_id) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE k.paused OR k.payouts_paused))
          ) IS TRUE AS is_paused
        FROM heads e
      ) h
    WHERE h.is_paused OR h.free > 0
  ),
  shares AS MATERIALIZED (
    SELECT
      t.account_id, t.is_stopped, t.connection_id,
      greatest(1, least($4::integer / t.turns, CASE WHEN NOT t.is_paused THEN t.free / t.turns_of_connection END)) AS share
    FROM turns t
  ),
  locked AS MATERIALIZED (
    SELECT
      d.id, d.due_at, d.processed_at, d.first_sent_at, s.account_id, s.connection_id, s.is_stopped,
      CASE WHEN d.attempts = 0 THEN s.connection_id ELSE d.connection_id
      END AS called_connection_id
    FROM
      shares s
      CROSS JOIN LATERAL (
        SELECT p.id, p.processed_at, p.due_at, p.first_sent_at, p.attempts, p.connection_id
        FROM payouts p
        WHERE
          p.status = 'processing'
          AND p.due_at IS NOT NULL
          AND (p.account_id, p.due_at) >= (s.account_id, '-infinity')
          AND (p.account_id, p.due_at) <= (s.account_id, now())
        ORDER BY p.account_id, p.due_at
        LIMIT s.share
        FOR UPDATE SKIP LOCKED
      ) d
  ),
  judged AS MATERIALIZED (
    SELECT l.*, l.is_paused AND l.processed_at IS NULL AND l.first_sent_at IS NULL AS to_pause
    FROM
      (
        SELECT
          *, is_stopped
          OR (
            (called_connection_id) = ANY (ARRAY(SELECT k.id FROM acquirer_connections k WHERE k.paused OR k.payouts_paused))
          ) IS TRUE AS is_paused
        FROM locked
      ) l
  ),
  taken AS MATERIALIZED (
    SELECT t.*
    FROM
      (
        SELECT l.*, row_number() OVER (PARTITION BY l.to_pause, l.called_connection_id ORDER BY l.turn, l.due_at) AS place
        FROM (SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY due_at) AS turn FROM judged) l
      ) t
    WHERE
      t.to_pause
      OR t.place <= coalesce(
        (
          SELECT k.free
          FROM (SELECT connection_id, free FROM unnest($1::uuid[], $2::integer[]) AS t (connection_id, free)) AS k
          WHERE k.connection_id = coalesce(t.called_connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
        ), $3::integer
      )
  ), paused AS (UPDATE payouts p SET due_at = NULL FROM taken t WHERE p.id = t.id AND t.to_pause RETURNING p.id),
  claimed AS (
    UPDATE payouts p
    SET
      due_at = now() + $5::double precision * interval '1 millisecond',
      attempts = CASE WHEN t.is_paused AND t.processed_at IS NULL THEN p.attempts ELSE p.attempts + 1
      END, requested_at = coalesce(p.requested_at, now()), first_sent_at = coalesce(p.first_sent_at, now()),
      connection_id = CASE WHEN p.attempts = 0 THEN t.connection_id ELSE p.connection_id
      END
    FROM taken t
    WHERE p.id = t.id AND NOT t.to_pause
    RETURNING
      p.id, p.account_id, p.application_id, p.origin, p.idempotency_key, p.status, p.method, p.amount, p.fee, p.description,
      p.reference, p.recipient_name, p.recipient_document, p.pix_key_type, p.bank_account, p.pix_key, p.webhook_url,
      p.webhook_secret, p.end_to_end_id, p.failure_reason, p.duplicate_of, p.processed_at, p.created_at, p.sequence,
      p.connection_id, p.provider_reference, p.trace,
      CASE
        WHEN p.idempotency_key IS NULL THEN idempotency_digest (coalesce(p.application_id, p.account_id), 'payout id', p.origin, p.id::text)
        ELSE idempotency_digest (coalesce(p.application_id, p.account_id), 'payout', p.origin, p.idempotency_key)
      END AS order_id, p.attempts, t.is_paused, t.first_sent_at <= now() - interval '20 hours' AS is_old
  )
SELECT c.*, r.paused, r.next_account
FROM
  (SELECT (SELECT count(*) FROM paused) AS paused, (SELECT account_id FROM further ORDER BY n DESC LIMIT 1) AS next_account) r
  LEFT JOIN claimed c ON true;

-- payments/payouts/PayoutClaims.ts storeReference
UPDATE payouts p
SET provider_reference = $3::text
WHERE
  id = $1::uuid
  AND provider_reference IS NOT DISTINCT FROM $2::text
  AND NOT EXISTS (
    SELECT
    FROM payouts o
    WHERE o.provider_reference = $3::text AND o.connection_id = p.connection_id AND o.id <> p.id AND o.status <> 'failed'
  )
RETURNING status = 'processing' AS is_processing;

-- payments/payouts/PayoutClaims.ts storeSubmissions
UPDATE payouts p
SET
  processed_at = coalesce(p.processed_at, i.processed_at),
  first_sent_at = CASE WHEN i.is_unsent AND p.attempts = i.attempts THEN NULL ELSE p.first_sent_at
  END,
  due_at = CASE
    WHEN p.attempts = i.attempts
    OR (
      p.processed_at IS NULL
      AND i.processed_at IS NOT NULL
    ) THEN now() + least(
      i.delay_ms, CASE WHEN p.processed_at IS NOT NULL OR p.provider_reference IS NOT NULL THEN 120000
      END
    ) * interval '1 millisecond'
    ELSE p.due_at
  END
FROM
  (
    SELECT *
    FROM
      (
        SELECT id, attempts, processed_at, is_unsent, delay_ms
        FROM
          unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::boolean[], $5::float8[]) AS t (id, attempts, processed_at, is_unsent, delay_ms)
      ) AS r
    LIMIT $6::integer
  ) AS i
WHERE p.id = i.id AND p.id >= $7::uuid AND p.status || '' = 'processing';

-- payments/payouts/PayoutStatements.ts approvePayouts
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($33::uuid[], $34::text[], $35::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  changed AS (
    UPDATE payouts p
    SET
      status = i.status, end_to_end_id = i.end_to_end_id, failure_reason = i.failure_reason,
      processed_at = coalesce(p.processed_at, i.processed_at), sequence = i.sequence,
      due_at = CASE WHEN i.status = 'processing' THEN now()
      END
    FROM
      (
        SELECT *
        FROM
          (
            SELECT id, status, end_to_end_id, failure_reason, processed_at, sequence
            FROM
              unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[]) AS t (id, status, end_to_end_id, failure_reason, processed_at, sequence)
          ) AS r
        LIMIT $7::integer
      ) AS i
    WHERE
      p.id = i.id
      AND p.id >= $8::uuid
      AND p.sequence = i.sequence - 1
      AND p.status || '>' || i.status IN ('pending>processing', 'pending>canceled', 'processing>completed', 'processing>failed')
      AND EXISTS (
        SELECT 1
        FROM accounts a
        WHERE
          a.id = p.account_id
          AND a.status = 'active'
          AND (
            a.approval_limit IS NULL
            OR p.amount <= a.approval_limit
            OR (
              $37::boolean
              OR NOT EXISTS (
                SELECT
                FROM installation_settings
                WHERE
                  four_eyes = 'on'
                  OR (
                    four_eyes = 'auto'
                    AND (
                      four_eyes_since IS NOT NULL
                      OR (
                        SELECT count(*)
                        FROM operators o
                        WHERE o.active AND o.role IN ('operator', 'admin') AND o.account_ids IS NULL
                      ) >= 2
                    )
                  )
              )
              OR EXISTS (
                SELECT
                FROM approvals a
                WHERE
                  a.id = $36::uuid
                  AND a.action = 'payout.approve'
                  AND a.status = 'approved'
                  AND a.used_at IS NULL
                  AND a.expires_at > now()
                  AND a.resource_id IS NOT DISTINCT FROM p.id
              )
            )
          )
      )
      AND (p.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
    RETURNING p.id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $9::uuid[], $10::uuid[], $11::uuid[], $12::uuid[], $13::text[], $14::text[], $15::text[], $16::text[], $17::integer[],
            $18::timestamptz[], $19::uuid[], $20::uuid[], $21::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $22::uuid[], $23::uuid[], $24::text[], $25::text[], $26::bigint[], $27::uuid[], $28::uuid[], $29::uuid[], $30::bigint[],
            $31::text[], $32::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/payouts/PayoutStatements.ts change
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($34::uuid[], $35::text[], $36::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  changed AS (
    UPDATE payouts p
    SET
      status = i.status, end_to_end_id = i.end_to_end_id, failure_reason = i.failure_reason,
      processed_at = coalesce(p.processed_at, i.processed_at), sequence = i.sequence,
      due_at = CASE WHEN i.status = 'processing' THEN now()
      END
    FROM
      (
        SELECT *
        FROM
          (
            SELECT id, status, end_to_end_id, failure_reason, processed_at, sequence, refused_attempts
            FROM
              unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[], $7::integer[]) AS t (id, status, end_to_end_id, failure_reason, processed_at, sequence, refused_attempts)
          ) AS r
        LIMIT $8::integer
      ) AS i
    WHERE
      p.id = i.id
      AND p.id >= $9::uuid
      AND p.sequence = i.sequence - 1
      AND p.status || '>' || i.status IN ('pending>processing', 'pending>canceled', 'processing>completed', 'processing>failed')
      AND i.status <> 'processing'
      AND (i.refused_attempts IS NULL OR (p.attempts = i.refused_attempts AND p.processed_at IS NULL))
      AND (p.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
    RETURNING p.id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $10::uuid[], $11::uuid[], $12::uuid[], $13::uuid[], $14::text[], $15::text[], $16::text[], $17::text[], $18::integer[],
            $19::timestamptz[], $20::uuid[], $21::uuid[], $22::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $23::uuid[], $24::uuid[], $25::text[], $26::text[], $27::bigint[], $28::uuid[], $29::uuid[], $30::uuid[], $31::bigint[],
            $32::text[], $33::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/payouts/PayoutStatements.ts change
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($34::uuid[], $35::text[], $36::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l SKIP LOCKED
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  changed AS (
    UPDATE payouts p
    SET
      status = i.status, end_to_end_id = i.end_to_end_id, failure_reason = i.failure_reason,
      processed_at = coalesce(p.processed_at, i.processed_at), sequence = i.sequence,
      due_at = CASE WHEN i.status = 'processing' THEN now()
      END
    FROM
      (
        SELECT *
        FROM
          (
            SELECT id, status, end_to_end_id, failure_reason, processed_at, sequence, refused_attempts
            FROM
              unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[], $7::integer[]) AS t (id, status, end_to_end_id, failure_reason, processed_at, sequence, refused_attempts)
          ) AS r
        LIMIT $8::integer
      ) AS i
    WHERE
      p.id = i.id
      AND p.id >= $9::uuid
      AND p.sequence = i.sequence - 1
      AND p.status || '>' || i.status IN ('pending>processing', 'pending>canceled', 'processing>completed', 'processing>failed')
      AND i.status <> 'processing'
      AND (i.refused_attempts IS NULL OR (p.attempts = i.refused_attempts AND p.processed_at IS NULL))
      AND (p.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
    RETURNING p.id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $10::uuid[], $11::uuid[], $12::uuid[], $13::uuid[], $14::text[], $15::text[], $16::text[], $17::text[], $18::integer[],
            $19::timestamptz[], $20::uuid[], $21::uuid[], $22::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $23::uuid[], $24::uuid[], $25::text[], $26::text[], $27::bigint[], $28::uuid[], $29::uuid[], $30::uuid[], $31::bigint[],
            $32::text[], $33::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/payouts/PayoutStatements.ts changeByNotification
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($34::uuid[], $35::text[], $36::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  changed AS (
    UPDATE payouts p
    SET
      status = i.status, end_to_end_id = i.end_to_end_id, failure_reason = i.failure_reason,
      processed_at = coalesce(p.processed_at, i.processed_at), sequence = i.sequence,
      due_at = CASE WHEN i.status = 'processing' THEN now()
      END
    FROM
      (
        SELECT *
        FROM
          (
            SELECT id, status, end_to_end_id, failure_reason, processed_at, sequence, refused_attempts
            FROM
              unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[], $7::integer[]) AS t (id, status, end_to_end_id, failure_reason, processed_at, sequence, refused_attempts)
          ) AS r
        LIMIT $8::integer
      ) AS i
    WHERE
      p.id = i.id
      AND p.id >= $9::uuid
      AND p.sequence = i.sequence - 1
      AND p.status || '>' || i.status IN ('pending>processing', 'pending>canceled', 'processing>completed', 'processing>failed')
      AND i.status <> 'processing'
      AND (i.refused_attempts IS NULL OR (p.attempts = i.refused_attempts AND p.processed_at IS NULL))
      AND (p.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
    RETURNING p.id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $10::uuid[], $11::uuid[], $12::uuid[], $13::uuid[], $14::text[], $15::text[], $16::text[], $17::text[], $18::integer[],
            $19::timestamptz[], $20::uuid[], $21::uuid[], $22::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $23::uuid[], $24::uuid[], $25::text[], $26::text[], $27::bigint[], $28::uuid[], $29::uuid[], $30::uuid[], $31::bigint[],
            $32::text[], $33::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  ),
  inserted_notifications AS (
    INSERT INTO notifications (id, subject, report, outcome, connection_id, received_at)
    SELECT r.id, r.subject, r.report, 'applied', r.connection_id, r.received_at
    FROM
      (
        SELECT id, resource_id, subject, report::json AS report, connection_id, received_at
        FROM
          unnest($37::uuid[], $38::uuid[], $39::text[], $40::text[], $41::uuid[], $42::timestamptz[]) AS t (id, resource_id, subject, report, connection_id, received_at)
      ) AS r
    WHERE (r.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  claimed_keys AS (
    INSERT INTO notification_keys (key, notification_id)
    SELECT k.key, k.id
    FROM (SELECT key, id, resource_id FROM unnest($43::text[], $44::uuid[], $45::uuid[]) AS t (key, id, resource_id)) AS k
    WHERE (k.resource_id IN (SELECT id FROM changed)) IS TRUE
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/payouts/PayoutStatements.ts changeByNotification
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($34::uuid[], $35::text[], $36::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l SKIP LOCKED
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  changed AS (
    UPDATE payouts p
    SET
      status = i.status, end_to_end_id = i.end_to_end_id, failure_reason = i.failure_reason,
      processed_at = coalesce(p.processed_at, i.processed_at), sequence = i.sequence,
      due_at = CASE WHEN i.status = 'processing' THEN now()
      END
    FROM
      (
        SELECT *
        FROM
          (
            SELECT id, status, end_to_end_id, failure_reason, processed_at, sequence, refused_attempts
            FROM
              unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[], $7::integer[]) AS t (id, status, end_to_end_id, failure_reason, processed_at, sequence, refused_attempts)
          ) AS r
        LIMIT $8::integer
      ) AS i
    WHERE
      p.id = i.id
      AND p.id >= $9::uuid
      AND p.sequence = i.sequence - 1
      AND p.status || '>' || i.status IN ('pending>processing', 'pending>canceled', 'processing>completed', 'processing>failed')
      AND i.status <> 'processing'
      AND (i.refused_attempts IS NULL OR (p.attempts = i.refused_attempts AND p.processed_at IS NULL))
      AND (p.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
    RETURNING p.id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $10::uuid[], $11::uuid[], $12::uuid[], $13::uuid[], $14::text[], $15::text[], $16::text[], $17::text[], $18::integer[],
            $19::timestamptz[], $20::uuid[], $21::uuid[], $22::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $23::uuid[], $24::uuid[], $25::text[], $26::text[], $27::bigint[], $28::uuid[], $29::uuid[], $30::uuid[], $31::bigint[],
            $32::text[], $33::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  ),
  inserted_notifications AS (
    INSERT INTO notifications (id, subject, report, outcome, connection_id, received_at)
    SELECT r.id, r.subject, r.report, 'applied', r.connection_id, r.received_at
    FROM
      (
        SELECT id, resource_id, subject, report::json AS report, connection_id, received_at
        FROM
          unnest($37::uuid[], $38::uuid[], $39::text[], $40::text[], $41::uuid[], $42::timestamptz[]) AS t (id, resource_id, subject, report, connection_id, received_at)
      ) AS r
    WHERE (r.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  claimed_keys AS (
    INSERT INTO notification_keys (key, notification_id)
    SELECT k.key, k.id
    FROM (SELECT key, id, resource_id FROM unnest($43::text[], $44::uuid[], $45::uuid[]) AS t (key, id, resource_id)) AS k
    WHERE (k.resource_id IN (SELECT id FROM changed)) IS TRUE
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/payouts/PayoutStatements.ts findPayouts
SELECT
  id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference, recipient_name,
  recipient_document, pix_key_type, bank_account, pix_key, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of,
  processed_at, created_at, sequence, connection_id, provider_reference, trace
FROM payouts
WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid;

-- payments/payouts/creation/NewPayoutStatements.ts findDuplicates
SELECT DISTINCT ON (k.account_id, k.pix_key_type, k.pix_key, k.amount) t.id, k.account_id, k.pix_key_type, k.pix_key, k.amount
FROM
  (
    SELECT account_id, pix_key_type, pix_key, amount, since
    FROM
      unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::uuid[]) AS t (account_id, pix_key_type, pix_key, amount, since)
  ) AS k
  CROSS JOIN LATERAL (
    SELECT p.id
    FROM payouts p
    WHERE
      p.account_id = k.account_id
      AND p.id >= k.since
      AND p.pix_key_type = k.pix_key_type
      AND p.pix_key = k.pix_key
      AND p.amount = k.amount
      AND p.status NOT IN ('failed', 'canceled')
    ORDER BY p.id DESC
    LIMIT 1
  ) t;

-- payments/payouts/creation/NewPayoutStatements.ts findKnown
SELECT
  p.id, p.account_id, p.application_id, p.origin, p.idempotency_key, p.status, p.method, p.amount, p.fee, p.description,
  p.reference, p.recipient_name, p.recipient_document, p.pix_key_type, p.bank_account, p.pix_key, p.webhook_url, p.webhook_secret,
  p.end_to_end_id, p.failure_reason, p.duplicate_of, p.processed_at, p.created_at, p.sequence, p.connection_id,
  p.provider_reference, p.trace
FROM
  (
    SELECT scope_id, origin, idempotency_key
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS t (scope_id, origin, idempotency_key)
  ) AS k
  JOIN idempotency_keys d ON d.digest = idempotency_digest (k.scope_id, 'payout', k.origin, k.idempotency_key)
  JOIN payouts p ON p.id = d.resource_id
  AND coalesce(p.application_id, p.account_id) = k.scope_id
  AND p.origin = k.origin
  AND p.idempotency_key = k.idempotency_key;

-- payments/payouts/creation/NewPayoutStatements.ts insertOfOperator
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($52::uuid[], $53::text[], $54::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  requested AS MATERIALIZED (
    SELECT
      id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference, recipient_name,
      recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of, processed_at,
      created_at, sequence, trace, pix_key_type, pix_key
    FROM
      (
        SELECT
          id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
          recipient_name, recipient_document, bank_account::json AS bank_account, webhook_url, webhook_secret, end_to_end_id,
          failure_reason, duplicate_of, processed_at, created_at, sequence, trace, pix_key_type, pix_key, generation, key_expires_at
        FROM
          unnest(
            $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
            $19::uuid[], $20::timestamptz[], $21::timestamptz[], $22::integer[], $23::text[], $24::text[], $25::text[], $26::uuid[],
            $27::timestamptz[]
          ) AS t (
            id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
            recipient_name, recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason,
            duplicate_of, processed_at, created_at, sequence, trace, pix_key_type, pix_key, generation, key_expires_at
          )
      ) AS p
    WHERE
      (p.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
      AND (p.account_id IN (SELECT owner_id FROM locked WHERE kind = 'available' AND balance >= taken)) IS TRUE
      AND (p.generation IS NULL OR p.generation = (SELECT g.generation FROM caller_generation g WHERE g.id))
      AND (p.key_expires_at IS NULL OR p.key_expires_at > now())
      AND (
        $56::boolean
        OR NOT EXISTS (
          SELECT
          FROM installation_settings
          WHERE
            four_eyes = 'on'
            OR (
              four_eyes = 'auto'
              AND (
                four_eyes_since IS NOT NULL
                OR (
                  SELECT count(*)
                  FROM operators o
                  WHERE o.active AND o.role IN ('operator', 'admin') AND o.account_ids IS NULL
                ) >= 2
              )
            )
        )
        OR EXISTS (
          SELECT
          FROM approvals a
          WHERE
            a.id = $55::uuid
            AND a.action = 'payout.create'
            AND a.status = 'approved'
            AND a.used_at IS NULL
            AND a.expires_at > now()
            AND a.resource_id IS NOT DISTINCT FROM p.account_id
        )
      )
  ),
  claimed AS (
    INSERT INTO idempotency_keys (digest, resource_id)
    SELECT
      CASE
        WHEN r.idempotency_key IS NULL THEN idempotency_digest (coalesce(r.application_id, r.account_id), 'payout id', r.origin, r.id::text)
        ELSE idempotency_digest (coalesce(r.application_id, r.account_id), 'payout', r.origin, r.idempotency_key)
      END, r.id
    FROM requested r
    ON CONFLICT (digest) DO NOTHING
    RETURNING resource_id
  ),
  changed AS (
    INSERT INTO
      payouts (
        id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
        recipient_name, recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of,
        processed_at, created_at, sequence, trace, pix_key_type, pix_key, due_at
      )
    SELECT
      id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference, recipient_name,
      recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of, processed_at,
      created_at, sequence, trace, pix_key_type, pix_key, CASE WHEN status = 'processing' THEN now()
      END
    FROM requested
    WHERE id IN (SELECT resource_id FROM claimed)
    RETURNING id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $28::uuid[], $29::uuid[], $30::uuid[], $31::uuid[], $32::text[], $33::text[], $34::text[], $35::text[], $36::integer[],
            $37::timestamptz[], $38::uuid[], $39::uuid[], $40::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $41::uuid[], $42::uuid[], $43::text[], $44::text[], $45::bigint[], $46::uuid[], $47::uuid[], $48::uuid[], $49::bigint[],
            $50::text[], $51::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/payouts/creation/NewPayoutStatements.ts insertStatement
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($52::uuid[], $53::text[], $54::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  requested AS MATERIALIZED (
    SELECT
      id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference, recipient_name,
      recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of, processed_at,
      created_at, sequence, trace, pix_key_type, pix_key
    FROM
      (
        SELECT
          id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
          recipient_name, recipient_document, bank_account::json AS bank_account, webhook_url, webhook_secret, end_to_end_id,
          failure_reason, duplicate_of, processed_at, created_at, sequence, trace, pix_key_type, pix_key, generation, key_expires_at
        FROM
          unnest(
            $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
            $19::uuid[], $20::timestamptz[], $21::timestamptz[], $22::integer[], $23::text[], $24::text[], $25::text[], $26::uuid[],
            $27::timestamptz[]
          ) AS t (
            id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
            recipient_name, recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason,
            duplicate_of, processed_at, created_at, sequence, trace, pix_key_type, pix_key, generation, key_expires_at
          )
      ) AS p
    WHERE
      (p.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
      AND (p.account_id IN (SELECT owner_id FROM locked WHERE kind = 'available' AND balance >= taken)) IS TRUE
      AND (p.generation IS NULL OR p.generation = (SELECT g.generation FROM caller_generation g WHERE g.id))
      AND (p.key_expires_at IS NULL OR p.key_expires_at > now())
      AND p.origin = 'api'
  ),
  claimed AS (
    INSERT INTO idempotency_keys (digest, resource_id)
    SELECT
      CASE
        WHEN r.idempotency_key IS NULL THEN idempotency_digest (coalesce(r.application_id, r.account_id), 'payout id', r.origin, r.id::text)
        ELSE idempotency_digest (coalesce(r.application_id, r.account_id), 'payout', r.origin, r.idempotency_key)
      END, r.id
    FROM requested r
    ON CONFLICT (digest) DO NOTHING
    RETURNING resource_id
  ),
  changed AS (
    INSERT INTO
      payouts (
        id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
        recipient_name, recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of,
        processed_at, created_at, sequence, trace, pix_key_type, pix_key, due_at
      )
    SELECT
      id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference, recipient_name,
      recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of, processed_at,
      created_at, sequence, trace, pix_key_type, pix_key, CASE WHEN status = 'processing' THEN now()
      END
    FROM requested
    WHERE id IN (SELECT resource_id FROM claimed)
    RETURNING id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $28::uuid[], $29::uuid[], $30::uuid[], $31::uuid[], $32::text[], $33::text[], $34::text[], $35::text[], $36::integer[],
            $37::timestamptz[], $38::uuid[], $39::uuid[], $40::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $41::uuid[], $42::uuid[], $43::text[], $44::text[], $45::bigint[], $46::uuid[], $47::uuid[], $48::uuid[], $49::bigint[],
            $50::text[], $51::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/payouts/creation/NewPayoutStatements.ts insertStatement
WITH
  heads AS MATERIALIZED (
    SELECT *
    FROM (SELECT owner_id, kind, taken FROM unnest($52::uuid[], $53::text[], $54::bigint[]) AS t (owner_id, kind, taken)) AS h
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken
    FROM heads h JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id
    FOR NO KEY UPDATE OF l SKIP LOCKED
  ), unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked),
  requested AS MATERIALIZED (
    SELECT
      id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference, recipient_name,
      recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of, processed_at,
      created_at, sequence, trace, pix_key_type, pix_key
    FROM
      (
        SELECT
          id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
          recipient_name, recipient_document, bank_account::json AS bank_account, webhook_url, webhook_secret, end_to_end_id,
          failure_reason, duplicate_of, processed_at, created_at, sequence, trace, pix_key_type, pix_key, generation, key_expires_at
        FROM
          unnest(
            $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
            $19::uuid[], $20::timestamptz[], $21::timestamptz[], $22::integer[], $23::text[], $24::text[], $25::text[], $26::uuid[],
            $27::timestamptz[]
          ) AS t (
            id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
            recipient_name, recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason,
            duplicate_of, processed_at, created_at, sequence, trace, pix_key_type, pix_key, generation, key_expires_at
          )
      ) AS p
    WHERE
      (p.account_id IN (SELECT owner_id FROM unlocked)) IS FALSE
      AND (p.account_id IN (SELECT owner_id FROM locked WHERE kind = 'available' AND balance >= taken)) IS TRUE
      AND (p.generation IS NULL OR p.generation = (SELECT g.generation FROM caller_generation g WHERE g.id))
      AND (p.key_expires_at IS NULL OR p.key_expires_at > now())
      AND p.origin = 'api'
  ),
  claimed AS (
    INSERT INTO idempotency_keys (digest, resource_id)
    SELECT
      CASE
        WHEN r.idempotency_key IS NULL THEN idempotency_digest (coalesce(r.application_id, r.account_id), 'payout id', r.origin, r.id::text)
        ELSE idempotency_digest (coalesce(r.application_id, r.account_id), 'payout', r.origin, r.idempotency_key)
      END, r.id
    FROM requested r
    ON CONFLICT (digest) DO NOTHING
    RETURNING resource_id
  ),
  changed AS (
    INSERT INTO
      payouts (
        id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference,
        recipient_name, recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of,
        processed_at, created_at, sequence, trace, pix_key_type, pix_key, due_at
      )
    SELECT
      id, account_id, application_id, origin, idempotency_key, status, method, amount, fee, description, reference, recipient_name,
      recipient_document, bank_account, webhook_url, webhook_secret, end_to_end_id, failure_reason, duplicate_of, processed_at,
      created_at, sequence, trace, pix_key_type, pix_key, CASE WHEN status = 'processing' THEN now()
      END
    FROM requested
    WHERE id IN (SELECT resource_id FROM claimed)
    RETURNING id
  ),
  events AS MATERIALIZED (
    SELECT e.*
    FROM
      (
        SELECT
          id, resource_id, account_id, application_id, kind, actions::text[] AS actions, dispatched::text[] AS dispatched, status,
          sequence, created_at, normalized_hash, destination_hash, data
        FROM
          unnest(
            $28::uuid[], $29::uuid[], $30::uuid[], $31::uuid[], $32::text[], $33::text[], $34::text[], $35::text[], $36::integer[],
            $37::timestamptz[], $38::uuid[], $39::uuid[], $40::text[]
          ) AS t (
            id, resource_id, account_id, application_id, kind, actions, dispatched, status, sequence, created_at, normalized_hash,
            destination_hash, data
          )
      ) AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
    FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  ),
  posted AS MATERIALIZED (
    SELECT
      t.*, CASE WHEN 'unallocated' IN (t.debit, t.credit) THEN 'unallocated' ELSE 'available'
      END AS head, greatest((t.created_at AT TIME ZONE(SELECT timezone FROM installation_settings))::date, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      sum(CASE 'available' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS available,
      sum(CASE 'pending' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS pending,
      sum(CASE 'blocked' WHEN t.credit THEN t.amount WHEN t.debit THEN - t.amount ELSE 0 END) OVER of_owner AS blocked
    FROM
      (
        SELECT id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at
        FROM
          unnest(
            $41::uuid[], $42::uuid[], $43::text[], $44::text[], $45::bigint[], $46::uuid[], $47::uuid[], $48::uuid[], $49::bigint[],
            $50::text[], $51::timestamptz[]
          ) AS t (id, account_id, debit, credit, amount, resource_id, source_id, connection_id, fee, reason, created_at)
      ) AS t
      LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id
      AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day
    FROM
      (
        SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day
        FROM posted
        UNION ALL
        SELECT account_id, debit, - amount, 0, NULL
        FROM posted
        UNION ALL
        SELECT account_id, head, 0, 1, at_day
        FROM posted
      ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l
    SET
      balance = l.balance + s.amount, position = l.position + s.lines, day = greatest(l.day, s.day),
      open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s
    WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO
      ledger_transfers (
        id, account_id, resource_id, connection_id, position, amount, created_at, debit_after, credit_after, fee, source_id, day,
        debit, credit, reason
      )
    SELECT
      p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      d.balance - d.amount + CASE p.debit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END,
      c.balance - c.amount + CASE p.credit
        WHEN 'available' THEN p.available
        WHEN 'pending' THEN p.pending
        WHEN 'blocked' THEN p.blocked
      END, p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM
      posted p
      LEFT JOIN balanced h ON h.owner_id = p.account_id
      AND h.kind = p.head
      LEFT JOIN balanced d ON d.owner_id = p.account_id
      AND d.kind = p.debit
      AND p.debit IN ('available', 'pending', 'blocked')
      LEFT JOIN balanced c ON c.owner_id = p.account_id
      AND c.kind = p.credit
      AND p.credit IN ('available', 'pending', 'blocked')
  )
SELECT id, (SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows, NULL::uuid AS passed_by
FROM changed
UNION ALL
SELECT NULL, 0, p.owner_id
FROM (SELECT owner_id FROM unlocked) p;

-- payments/payouts/creation/NewPayoutStatements.ts readTerms
SELECT
  a.id, a.status, a.onboarding_status, a.auto_payout_enabled, a.payout_fee_fixed, a.payout_fee_basis_points,
  a.payout_duplicate_window,
  EXISTS (
    SELECT
    FROM limits s
    WHERE s.owner_id = a.id AND num_nonnulls (s.payouts_per_hour, s.payouts_per_day, s.payout_cents_per_day, s.recipients) > 0
  ) AS is_limited, a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default) AS default_connection_id,
  (
    SELECT c.pays_out
    FROM acquirer_connections c
    WHERE c.id = coalesce(a.connection_id, (SELECT d.id FROM acquirer_connections d WHERE d.is_default))
  ) AS pays_out, l.balance AS available, (SELECT g.generation FROM caller_generation g WHERE g.id) AS generation,
  extract(epoch FROM now())::float8 * 1000 AS now_ms
FROM accounts a JOIN ledger_accounts l ON l.owner_id = a.id AND l.kind = 'available'
WHERE a.id = ANY ($1::uuid[]);

-- payments/payouts/creation/PayoutLimits.ts readLimits
SELECT
  l.owner_id, l.payouts_per_hour, l.payouts_per_day, l.payout_cents_per_day, l.recipients,
  CASE WHEN l.hour >= t.hour THEN l.payouts_in_hour ELSE 0
  END AS payouts_in_hour, CASE WHEN l.day >= t.day THEN l.payouts_in_day ELSE 0
  END AS payouts_in_day, CASE WHEN l.day >= t.day THEN l.cents_in_day ELSE 0
  END AS cents_in_day, greatest(l.hour, t.hour)::text AS hour, greatest(l.day, t.day)::text AS day,
  greatest(
    1, ceil(extract(epoch FROM greatest(l.hour, t.hour) + interval '1 hour' - clock_timestamp()))
  )::integer AS seconds_of_hour,
  greatest(
    1,
    ceil(
      extract(
        epoch
        FROM ((greatest(l.day, t.day) + 1)::timestamp AT TIME ZONE(SELECT timezone FROM installation_settings)) - clock_timestamp()
      )
    )
  )::integer AS seconds_of_day
FROM
  limits l,
  (
    SELECT
      date_trunc('hour', clock_timestamp()) AS hour,
      (clock_timestamp() AT TIME ZONE(SELECT timezone FROM installation_settings))::date AS day
  ) t
WHERE l.owner_id = ANY ($1::uuid[]);

-- payments/payouts/creation/PayoutLimits.ts updateUse
UPDATE limits l
SET
  hour = u.hour::timestamptz, payouts_in_hour = u.in_hour, day = u.day::date, payouts_in_day = u.in_day,
  cents_in_day = u.cents_in_day
FROM
  (
    SELECT owner_id, hour, in_hour, day, in_day, cents_in_day
    FROM
      unnest($1::uuid[], $2::text[], $3::integer[], $4::text[], $5::integer[], $6::bigint[]) AS t (owner_id, hour, in_hour, day, in_day, cents_in_day)
  ) AS u
WHERE l.owner_id = u.owner_id;

-- payments/refunds/RefundStore.ts findOfCharges
SELECT
  refunds.id, refunds.charge_id, refunds.account_id, refunds.connection_id, refunds.origin, refunds.status, refunds.amount,
  refunds.pending, refunds.description, refunds.nature, refunds.dispute_id, refunds.provider_id, refunds.failure_reason,
  refunds.created_at, refunds.completed_at,
  (
    SELECT provider_outcome
    FROM acquirer_exceptions
    WHERE
      coalesce(payout_id, refund_id) = refunds.id
      AND kind = 'contradictory_outcome'
      AND (status = 'open' OR action IS NOT NULL)
      AND true
  ) AS provider_outcome
FROM refunds
WHERE charge_id = ANY ($1::uuid[])
ORDER BY id;

-- payments/refunds/RefundStore.ts findOne
SELECT
  refunds.id, refunds.charge_id, refunds.account_id, refunds.connection_id, refunds.origin, refunds.status, refunds.amount,
  refunds.pending, refunds.description, refunds.nature, refunds.dispute_id, refunds.provider_id, refunds.failure_reason,
  refunds.created_at, refunds.completed_at,
  (
    SELECT provider_outcome
    FROM acquirer_exceptions
    WHERE
      coalesce(payout_id, refund_id) = refunds.id
      AND kind = 'contradictory_outcome'
      AND (status = 'open' OR action IS NOT NULL)
      AND true
  ) AS provider_outcome
FROM refunds
WHERE id = $1::uuid;

-- payments/refunds/RefundStore.ts putOne
INSERT INTO
  refunds (
    id, charge_id, account_id, connection_id, origin, status, amount, pending, description, nature, dispute_id, provider_id,
    failure_reason, created_at, completed_at
  )
SELECT
  id, charge_id, account_id, connection_id, origin, status, amount, pending, description, nature, dispute_id, provider_id,
  failure_reason, created_at, completed_at
FROM
  (
    SELECT
      id, charge_id, account_id, connection_id, origin, status, amount, pending, description, nature, dispute_id, provider_id,
      failure_reason, created_at, completed_at
    FROM
      unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::text[],
        $11::uuid[], $12::text[], $13::text[], $14::timestamptz[], $15::timestamptz[]
      ) AS t (
        id, charge_id, account_id, connection_id, origin, status, amount, pending, description, nature, dispute_id, provider_id,
        failure_reason, created_at, completed_at
      )
  ) AS r
ON CONFLICT (id) DO UPDATE
SET
  status = excluded.status, amount = excluded.amount, pending = excluded.pending, provider_id = excluded.provider_id,
  dispute_id = excluded.dispute_id, failure_reason = excluded.failure_reason, completed_at = excluded.completed_at;

-- providers/OrderStore.ts claimMany
WITH
  due_of_kinds AS MATERIALIZED (
    SELECT o.id, o.due_at, c.id AS connection_id
    FROM
      acquirer_connections c
      CROSS JOIN unnest(string_to_array($1, ',')) AS k (kind)
      CROSS JOIN LATERAL (
        SELECT id, due_at
        FROM acquirer_orders
        WHERE state = 'ordered' AND due_at IS NOT NULL AND due_at <= now() AND kind = k.kind AND connection_id = c.id
        ORDER BY due_at
        LIMIT
          greatest(
            0,
            coalesce(
              (
                SELECT k.free
                FROM (SELECT connection_id, free FROM unnest($2::uuid[], $3::integer[]) AS t (connection_id, free)) AS k
                WHERE k.connection_id = coalesce(c.id, '00000000-0000-7000-8000-000000000001'::uuid)
              ), $4::integer
            )
          )
        FOR UPDATE SKIP LOCKED
      ) o
    UNION ALL
    SELECT o.id, o.due_at, NULL
    FROM
      unnest(string_to_array($1, ',')) AS k (kind)
      CROSS JOIN LATERAL (
        SELECT id, due_at
        FROM acquirer_orders
        WHERE state = 'ordered' AND due_at IS NOT NULL AND due_at <= now() AND kind = k.kind AND connection_id IS NULL
        ORDER BY due_at
        LIMIT
          greatest(
            0,
            coalesce(
              (
                SELECT k.free
                FROM (SELECT connection_id, free FROM unnest($2::uuid[], $3::integer[]) AS t (connection_id, free)) AS k
                WHERE k.connection_id = coalesce(NULL, '00000000-0000-7000-8000-000000000001'::uuid)
              ), $4::integer
            )
          )
        FOR UPDATE SKIP LOCKED
      ) o
  ),
  due AS MATERIALIZED (
    SELECT id, connection_id
    FROM (SELECT *, row_number() OVER (PARTITION BY connection_id ORDER BY due_at) AS place FROM due_of_kinds) d
    WHERE
      place <= coalesce(
        (
          SELECT k.free
          FROM (SELECT connection_id, free FROM unnest($2::uuid[], $3::integer[]) AS t (connection_id, free)) AS k
          WHERE k.connection_id = coalesce(d.connection_id, '00000000-0000-7000-8000-000000000001'::uuid)
        ), $4::integer
      )
    LIMIT $5::integer
  )
UPDATE acquirer_orders
SET
  attempts = attempts + 1,
  due_at = now() + greatest($6::double precision, least(1000 * 2 ^ least((attempts + 1) - 1, 30), 120000)) * interval '1 millisecond',
  requested_at = coalesce(requested_at, now())
WHERE id = ANY (ARRAY(SELECT id FROM due))
RETURNING
  id, kind, charge_id, account_id, exception_id, dispute_id, connection_id, end_to_end_id, amount, pending, attempts, accepted_at;

-- providers/OrderStore.ts findOne
SELECT
  id, kind, charge_id, account_id, exception_id, dispute_id, connection_id, end_to_end_id, amount, pending, attempts, accepted_at,
  state, returned
FROM acquirer_orders
WHERE id = $1::uuid;

-- providers/OrderStore.ts insertOne
INSERT INTO
  acquirer_orders (
    id, kind, charge_id, account_id, exception_id, dispute_id, connection_id, end_to_end_id, amount, pending, attempts, accepted_at,
    state, due_at, requested_at, created_at
  )
SELECT
  id, kind, charge_id, account_id, exception_id, dispute_id, connection_id, end_to_end_id, amount, pending, attempts, accepted_at,
  'ordered', now() + $13::double precision * interval '1 millisecond', CASE WHEN attempts > 0 THEN now()
  END, now()
FROM
  (
    SELECT
      id, kind, charge_id, account_id, exception_id, dispute_id, connection_id, end_to_end_id, amount, pending, attempts,
      accepted_at
    FROM
      unnest(
        $1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $8::text[], $9::bigint[], $10::bigint[],
        $11::integer[], $12::timestamptz[]
      ) AS t (
        id, kind, charge_id, account_id, exception_id, dispute_id, connection_id, end_to_end_id, amount, pending, attempts,
        accepted_at
      )
  ) AS o;

-- providers/OrderStore.ts lockOpen
SELECT
  id, kind, charge_id, account_id, exception_id, dispute_id, connection_id, end_to_end_id, amount, pending, attempts, accepted_at
FROM acquirer_orders
WHERE id = $1::uuid AND state = 'ordered'
FOR UPDATE;

-- providers/OrderStore.ts lockOpenOf
SELECT
  id, kind, charge_id, account_id, exception_id, dispute_id, connection_id, end_to_end_id, amount, pending, attempts, accepted_at
FROM acquirer_orders
WHERE charge_id = $1::uuid AND state = 'ordered'
FOR UPDATE;

-- providers/OrderStore.ts postpone
UPDATE acquirer_orders
SET
  accepted_at = coalesce(accepted_at, CASE WHEN $4::boolean THEN now() END),
  due_at = CASE WHEN attempts = $2::integer THEN now() + $3::double precision * interval '1 millisecond' ELSE due_at
  END
WHERE id = $1::uuid AND state = 'ordered';

-- providers/simulator/Simulator.ts acceptPayouts
INSERT INTO simulator_payouts (order_id, amount, pix_key, end_to_end_id, fails, due_at)
SELECT
  p.order_id, p.amount, p.pix_key, p.end_to_end_id, p.pix_key = 'fail@simulator.test',
  CASE WHEN p.pix_key <> 'hold@simulator.test' THEN now() + $5::double precision * interval '1 millisecond'
  END
FROM
  (
    SELECT order_id, amount, pix_key, end_to_end_id
    FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[]) AS t (order_id, amount, pix_key, end_to_end_id)
  ) AS p
ON CONFLICT DO NOTHING
RETURNING order_id;

-- providers/simulator/Simulator.ts findPayouts
SELECT order_id, fails AS failed, reason, end_to_end_id
FROM simulator_payouts
WHERE order_id = ANY ($1::uuid[]) AND due_at <= now();

-- receipts/Receipts.ts findCharge
SELECT
  c.status, c.paid_at IS NOT NULL AS moved, c.amount, c.paid_at AS at,
  coalesce(c.payer, json_build_object('name', c.customer_name, 'document', c.customer_document)) AS payer,
  json_build_object(
    'name', coalesce(r.receiver ->> 'name', a.legal_name), 'document', coalesce(r.receiver ->> 'document', a.document),
    'institution', r.receiver ->> 'institution_name'
  ) AS payee, c.end_to_end_id, NULL AS return_id, c.description, a.legal_name AS issuer
FROM charges c JOIN accounts a ON a.id = c.account_id LEFT JOIN receivers r ON r.id = c.receiver_id
WHERE c.id = $1::uuid;

-- receipts/Receipts.ts findPayout
SELECT
  p.status, p.status = 'completed'
  AND (
    SELECT provider_outcome
    FROM acquirer_exceptions
    WHERE
      coalesce(payout_id, refund_id) = p.id
      AND kind = 'contradictory_outcome'
      AND (status = 'open' OR action IS NOT NULL)
      AND true
  ) IS DISTINCT FROM 'failed' AS moved, p.amount,
  coalesce(
    (
      SELECT t.created_at
      FROM ledger_transfers t
      WHERE t.resource_id = p.id AND t.reason = 'payout.completed' AND t.credit = 'acquirer'
      LIMIT 1
    ), p.processed_at
  ) AS at, json_build_object('name', a.legal_name, 'document', a.document) AS payer,
  json_build_object('name', p.recipient_name, 'document', p.recipient_document, 'institution', p.bank_account ->> 'bank') AS payee,
  p.end_to_end_id, NULL AS return_id, p.description, a.legal_name AS issuer
FROM payouts p JOIN accounts a ON a.id = p.account_id
WHERE p.id = $1::uuid;

-- receipts/Receipts.ts findRefund
SELECT
  f.status, f.status = 'completed'
  AND (
    SELECT provider_outcome
    FROM acquirer_exceptions
    WHERE
      coalesce(payout_id, refund_id) = f.id
      AND kind = 'contradictory_outcome'
      AND (status = 'open' OR action IS NOT NULL)
      AND true
  ) IS DISTINCT FROM 'failed' AS moved, f.amount, f.completed_at AS at,
  json_build_object(
    'name', coalesce(r.receiver ->> 'name', a.legal_name), 'document', coalesce(r.receiver ->> 'document', a.document),
    'institution', r.receiver ->> 'institution_name'
  ) AS payer, coalesce(c.payer, json_build_object('name', c.customer_name, 'document', c.customer_document)) AS payee,
  c.end_to_end_id, f.provider_id AS return_id, f.description, a.legal_name AS issuer
FROM
  refunds f
  JOIN charges c ON c.id = f.charge_id
  JOIN accounts a ON a.id = f.account_id
  LEFT JOIN receivers r ON r.id = c.receiver_id
WHERE f.id = $1::uuid;

-- reports/Ownership.ts findHolders
SELECT 'charge' AS kind, id::text AS name, connection_id
FROM charges
WHERE id = ANY ($2::uuid[]) AND connection_id = ANY ($1::uuid[])
UNION ALL
SELECT 'settlement', end_to_end_id, connection_id
FROM charge_settlements
WHERE
  end_to_end_id = ANY (ARRAY(SELECT e.name FROM (SELECT name FROM unnest($3::text[]) AS t (name)) AS e))
  AND connection_id = ANY ($1::uuid[])
  AND charge_id IS NOT NULL
UNION ALL
SELECT 'payout', id::text, connection_id
FROM payouts
WHERE id = ANY ($4::uuid[]) AND connection_id = ANY ($1::uuid[]);

-- reports/Ownership.ts findKeys
SELECT k.connection_id AS id, k.pix_key
FROM connection_keys k JOIN acquirer_connections c ON c.id = k.connection_id
WHERE k.client IN (SELECT client FROM connection_keys WHERE connection_id = $1::uuid)
UNION ALL
SELECT id, pix_key
FROM acquirer_connections
WHERE id = $1::uuid
ORDER BY id;

-- reports/ReportStore.ts findDisputes
SELECT id, external_id, status, defense_deadline_at
FROM disputes
WHERE
  connection_id = $1::uuid
  AND external_id IS NOT NULL
  AND external_id = ANY (ARRAY(SELECT e.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS e));

-- reports/ReportStore.ts findEnded
SELECT
  CASE
    WHEN p.idempotency_key IS NULL THEN idempotency_digest (coalesce(p.application_id, p.account_id), 'payout id', p.origin, p.id::text)
    ELSE idempotency_digest (coalesce(p.application_id, p.account_id), 'payout', p.origin, p.idempotency_key)
  END AS id, p.amount, p.provider_reference AS reference
FROM payouts p
WHERE
  p.id IN (
    SELECT resource_id
    FROM idempotency_keys
    WHERE digest = ANY ($2::uuid[])
    UNION ALL
    SELECT id
    FROM payouts
    WHERE
      provider_reference IS NOT NULL
      AND provider_reference = ANY (ARRAY(SELECT r.name FROM (SELECT name FROM unnest($3::text[]) AS t (name)) AS r))
  )
  AND p.connection_id = $1::uuid
  AND p.status IN ('completed', 'failed');

-- reports/ReportStore.ts findKnown
SELECT 'key' AS kind, key AS name, NULL::bigint AS amount, NULL AS outcome, NULL AS end_to_end_id
FROM notification_keys
WHERE key = ANY (ARRAY(SELECT k.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS k))
UNION ALL
SELECT 'settlement', end_to_end_id, amount, NULL, NULL
FROM charge_settlements
WHERE
  end_to_end_id = ANY (ARRAY(SELECT e.name FROM (SELECT name FROM unnest($3::text[]) AS t (name)) AS e))
  AND connection_id = $1::uuid
  AND charge_id IS NOT NULL
UNION ALL
SELECT
  'order', o.id::text, amount,
  coalesce(
    (
      SELECT provider_outcome
      FROM acquirer_exceptions
      WHERE
        coalesce(payout_id, refund_id) = o.id
        AND kind = 'contradictory_outcome'
        AND (status = 'open' OR action IS NOT NULL)
        AND true
    ), CASE WHEN state = 'ordered' THEN NULL WHEN returned = amount THEN 'completed' ELSE 'failed'
    END
  ), end_to_end_id
FROM acquirer_orders o
WHERE id = ANY ($4::uuid[]) AND connection_id = $1::uuid
UNION ALL
SELECT
  'payout', o.id::text, amount,
  coalesce(
    (
      SELECT provider_outcome
      FROM acquirer_exceptions
      WHERE
        coalesce(payout_id, refund_id) = o.id
        AND kind = 'contradictory_outcome'
        AND (status = 'open' OR action IS NOT NULL)
        AND (provider_outcome = 'failed' OR acquirer_exceptions.amount = o.amount)
    ), CASE WHEN status IN ('completed', 'failed') THEN status
    END
  ), NULL
FROM payouts o
WHERE id = ANY ($5::uuid[]) AND connection_id = $1::uuid;

-- reports/ReportStore.ts findPayoutsOfOrders
SELECT digest, resource_id
FROM idempotency_keys
WHERE digest = ANY ($1::uuid[]);

-- reports/ReportStore.ts makeInquiriesDue
UPDATE payouts p
SET due_at = now()
WHERE
  p.id IN (
    SELECT resource_id
    FROM idempotency_keys
    WHERE digest = ANY ($2::uuid[])
    UNION ALL
    SELECT id
    FROM payouts
    WHERE
      provider_reference IS NOT NULL
      AND provider_reference = ANY (ARRAY(SELECT r.name FROM (SELECT name FROM unnest($3::text[]) AS t (name)) AS r))
  )
  AND p.connection_id = $1::uuid
  AND p.status || '' = 'processing'
  AND p.processed_at IS NOT NULL
  AND p.due_at > now()
RETURNING p.id;

-- reports/ReportStore.ts setDeadlines
WITH
  locked AS (
    SELECT d.id, m.defense_deadline_at
    FROM
      (SELECT id, defense_deadline_at FROM unnest($1::uuid[], $2::timestamptz[]) AS t (id, defense_deadline_at)) AS m
      JOIN disputes d ON d.id = m.id
    WHERE d.status IN ('open', 'under_review')
    FOR NO KEY UPDATE OF d SKIP LOCKED
  )
UPDATE disputes d
SET defense_deadline_at = l.defense_deadline_at
FROM locked l
WHERE d.id = l.id;

-- reports/ReportStore.ts setPayers
WITH
  settled AS (
    SELECT s.charge_id AS id, p.payer
    FROM
      (SELECT end_to_end_id, payer::json AS payer FROM unnest($2::text[], $3::text[]) AS t (end_to_end_id, payer)) AS p
      JOIN charge_settlements s ON s.end_to_end_id = p.end_to_end_id
      AND s.connection_id = $1::uuid
    WHERE s.charge_id IS NOT NULL
  ), exceptions AS (UPDATE acquirer_exceptions e SET payer = s.payer FROM settled s WHERE e.id = s.id AND e.payer IS NULL),
  locked AS (
    SELECT c.id, s.payer
    FROM settled s JOIN charges c ON c.id = s.id
    WHERE c.payer IS NULL
    ORDER BY c.id
    FOR NO KEY UPDATE OF c
  )
UPDATE charges c
SET payer = l.payer
FROM locked l
WHERE c.id = l.id;

-- reports/RestoreComparison.ts findOrdered
SELECT
  k.digest AS order_id, p.id AS payout_id, p.amount, p.status, p.connection_id IS NULL
  OR p.connection_id = $2::uuid
  OR EXISTS (
    SELECT
    FROM connection_keys its JOIN connection_keys ours ON ours.client = its.client
    WHERE its.connection_id = p.connection_id AND ours.connection_id = $2::uuid
  ) AS is_here
FROM idempotency_keys k JOIN payouts p ON p.id = k.resource_id
WHERE k.digest = ANY ($1::uuid[]);

-- reports/RestoreComparison.ts findRecorded
SELECT s.end_to_end_id, s.charge_id, (SELECT e.kind FROM acquirer_exceptions e WHERE e.id = s.charge_id) AS exception
FROM charge_settlements s
WHERE
  s.end_to_end_id = ANY (ARRAY(SELECT e.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS e))
  AND s.connection_id = $1::uuid
  AND s.charge_id IS NOT NULL;

-- reports/SimulatorNotifications.ts findOrder
SELECT s.order_id, s.end_to_end_id
FROM
  payouts p
  JOIN simulator_payouts s ON s.order_id = CASE
    WHEN p.idempotency_key IS NULL THEN idempotency_digest (coalesce(p.application_id, p.account_id), 'payout id', p.origin, p.id::text)
    ELSE idempotency_digest (coalesce(p.application_id, p.account_id), 'payout', p.origin, p.idempotency_key)
  END
WHERE p.id = $1::uuid;

-- statements/BankBalances.ts findUnread
SELECT c.id
FROM acquirer_connections c
WHERE
  c.profile = ANY (string_to_array($2, ','))
  AND c.created_at < $1::text::date + 1
  AND NOT EXISTS (
    SELECT
    FROM connection_keys own JOIN connection_keys other ON other.client = own.client
    WHERE own.connection_id = c.id AND other.connection_id < c.id
  )
  AND NOT EXISTS (
    SELECT
    FROM reconciliations r
    WHERE r.connection_id = c.id AND r.day = $1::text::date AND (r.balance_at IS NOT NULL OR r.status = 'requested')
  )
LIMIT 1000;

-- statements/BankBalances.ts storeReading
UPDATE reconciliations r
SET
  balance = $2::text::bigint, balance_books = $3::text::bigint, balance_problem = $4::text, balance_at = now(),
  balance_before = before.difference
FROM
  (SELECT $1::uuid AS id) this
  LEFT JOIN LATERAL (
    SELECT b.balance - b.balance_books AS difference
    FROM reconciliations d JOIN reconciliations b ON b.connection_id = d.connection_id AND b.day < d.day AND b.balance IS NOT NULL
    WHERE d.id = this.id
    ORDER BY b.connection_id DESC, b.day DESC
    LIMIT 1
  ) before ON true
WHERE r.id = this.id
RETURNING r.balance IS NULL OR r.balance - r.balance_books <> r.balance_before AS again;

-- statements/BankDays.ts findConnections
SELECT $1::uuid AS id
UNION
SELECT other.connection_id
FROM connection_keys own JOIN connection_keys other ON other.client = own.client
WHERE own.connection_id = $1::uuid;

-- statements/BankDays.ts findNamed
SELECT id, day::text AS day, amount, end_to_end_id, description
FROM bank_statement_lines
WHERE connection_id = $1::uuid AND end_to_end_id IS NOT NULL AND end_to_end_id = ANY (string_to_array($2, ','))
LIMIT 5000;

-- statements/BankReconciliation.ts findEnded
SELECT DISTINCT account.id, closed.day::text AS day
FROM
  acquirer_connections c
  CROSS JOIN LATERAL (
    SELECT day
    FROM closes
    WHERE
      owner_id = c.id
      AND book = 'bank'
      AND day >= (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date - $1::integer
      AND day < (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date
  ) closed
  CROSS JOIN LATERAL (
    SELECT
      coalesce(
        (
          SELECT other.connection_id
          FROM connection_keys own JOIN connection_keys other ON other.client = own.client
          WHERE own.connection_id = c.id
          ORDER BY other.connection_id
          LIMIT 1
        ), c.id
      ) AS id
  ) account
WHERE
  c.profile IS NOT NULL
  AND NOT EXISTS (
    SELECT
    FROM reconciliations r
    WHERE
      r.connection_id = account.id
      AND r.day = closed.day
      AND (
        r.status = 'requested'
        OR r.done_at >= (
          (
            CASE
              WHEN r.states -> 'timing' IS NULL THEN closed.day + 1
              ELSE least(closed.day + 1 + 2, (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date)
            END
          )::timestamp AT TIME ZONE(SELECT timezone FROM installation_settings)
        )
      )
  )
LIMIT 1000;

-- statements/BankStatementStore.ts findBankAccount
SELECT c.id
FROM acquirer_connections c
WHERE
  c.id = $1::uuid
  OR c.id IN (
    SELECT other.connection_id
    FROM connection_keys own JOIN connection_keys other ON other.client = own.client
    WHERE own.connection_id = $1::uuid
  )
ORDER BY c.id
LIMIT 1;

-- statements/BankStatementStore.ts findStatementAccounts
SELECT c.statement_account ->> 'bank' AS bank, c.statement_account ->> 'number' AS account
FROM acquirer_connections c
WHERE
  c.statement_account IS NOT NULL
  AND (
    c.id = $1::uuid
    OR c.id IN (
      SELECT other.connection_id
      FROM connection_keys own JOIN connection_keys other ON other.client = own.client
      WHERE own.connection_id = $1::uuid
    )
  );

-- statements/BankStatementStore.ts findStored
SELECT l.id, l.day::text AS day, l.amount, l.end_to_end_id AS "endToEndId", l.description, s.has_ids AS "hasIds"
FROM
  (
    SELECT DISTINCT day::date AS day, amount
    FROM (SELECT day, amount FROM unnest($2::text[], $3::bigint[]) AS t (day, amount)) AS k
  ) k
  JOIN bank_statement_lines l ON l.connection_id = $1::uuid
  AND l.day = k.day
  AND l.amount = k.amount
  JOIN bank_statements s ON s.id = l.statement_id
ORDER BY l.id;

-- statements/BankStatementStore.ts insertLines
INSERT INTO bank_statement_lines (id, connection_id, statement_id, line, day, amount, end_to_end_id, bank_id, description)
SELECT id, $1::uuid, $2::uuid, line, day::date, amount, end_to_end_id, bank_id, description
FROM
  (
    SELECT id, line, end_to_end_id, bank_id, description, day, amount
    FROM
      unnest($3::uuid[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[]) AS t (id, line, end_to_end_id, bank_id, description, day, amount)
  ) AS l;

-- statements/BankStatementStore.ts nameLines
UPDATE bank_statement_lines own
SET statement_id = $1::uuid, line = l.line, end_to_end_id = l.end_to_end_id, bank_id = l.bank_id, description = l.description
FROM
  (
    SELECT id, line, end_to_end_id, bank_id, description
    FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::text[], $6::text[]) AS t (id, line, end_to_end_id, bank_id, description)
  ) AS l
WHERE own.id = l.id;

-- statements/BooksOfDay.ts findResources
SELECT charge_id AS id
FROM charge_settlements
WHERE
  end_to_end_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
  AND connection_id = ANY ($1::uuid[])
  AND charge_id IS NOT NULL
UNION
SELECT id
FROM payouts
WHERE
  end_to_end_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
  AND connection_id = ANY ($1::uuid[])
UNION
SELECT charge_id
FROM refunds
WHERE
  provider_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
  AND connection_id = ANY ($1::uuid[])
UNION
SELECT exception_id
FROM exception_returns
WHERE return_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
UNION
SELECT exception_id
FROM disputes
WHERE
  return_id IS NOT NULL
  AND return_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
  AND exception_id IS NOT NULL
UNION
SELECT id
FROM acquirer_exceptions
WHERE
  external_id IS NOT NULL
  AND external_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
  AND connection_id = ANY ($1::uuid[])
LIMIT 5000;

-- statements/BooksOfDay.ts findSentBack
WITH
  paid AS MATERIALIZED (
    SELECT t.resource_id, t.amount, t.day > $4::text::date AS is_later, count(*) OVER (PARTITION BY t.amount) AS of_amount
    FROM ledger_transfers t
    WHERE
      t.connection_id = ANY ($1::uuid[])
      AND t.amount = ANY (ARRAY(SELECT a.amount FROM (SELECT amount FROM unnest($3::bigint[]) AS t (amount)) AS a))
      AND t.day >= $4::text::date - 30
      AND t.reason = 'payout.completed'
  ),
  sent AS MATERIALIZED (
    SELECT
      p.id, p.connection_id, p.end_to_end_id, p.amount, t.is_later,
      CASE WHEN p.end_to_end_id ~ '^E[0-9A-Za-z]{8}[0-9]{12}' THEN substr(p.end_to_end_id, 10, 12)
      END AS sent_at
    FROM paid t CROSS JOIN LATERAL (SELECT * FROM payouts o WHERE o.id = t.resource_id OFFSET 0) p
    WHERE
      t.of_amount <= 1000
      AND p.status = 'completed'
      AND NOT EXISTS (SELECT FROM acquirer_exceptions e WHERE e.payout_id = p.id AND e.kind = 'returned_payout')
  )
SELECT true AS is_named, id, connection_id, end_to_end_id, amount
FROM payouts
WHERE
  end_to_end_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
  AND connection_id = ANY ($1::uuid[])
  AND status = 'completed'
UNION ALL
SELECT false, (array_agg(s.id)) [1], (array_agg(s.connection_id)) [1], min(s.end_to_end_id), s.amount
FROM sent s
WHERE
  NOT s.is_later
  OR s.sent_at IS NULL
  OR s.sent_at < to_char(
    (($4::text::date + 1)::timestamp AT TIME ZONE(SELECT timezone FROM installation_settings)), 'YYYYMMDDHH24MI'
  )
GROUP BY s.amount
HAVING
  count(*) = 1
  AND bool_and(NOT s.is_later OR s.sent_at IS NOT NULL)
  AND NOT EXISTS (
    SELECT
    FROM payouts o
    WHERE
      o.status = 'processing'
      AND o.amount = s.amount
      AND o.connection_id = ANY ($1::uuid[])
      AND o.requested_at < (($4::text::date + 1)::timestamp AT TIME ZONE(SELECT timezone FROM installation_settings))
  )
  AND NOT EXISTS (
    SELECT
    FROM acquirer_exceptions e JOIN payouts o ON o.id = e.payout_id
    WHERE
      e.payout_id IS NOT NULL
      AND e.kind = 'contradictory_outcome'
      AND e.provider_outcome = 'completed'
      AND o.status = 'failed'
      AND o.amount = s.amount
      AND o.connection_id = ANY ($1::uuid[])
  );

-- statements/BooksOfDay.ts findUnsettled
SELECT end_to_end_id AS name, 'payout' AS object, id
FROM payouts
WHERE
  end_to_end_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
  AND connection_id = ANY ($1::uuid[])
  AND status <> 'completed'
UNION ALL
SELECT provider_id, 'refund', id
FROM refunds
WHERE
  provider_id = ANY (ARRAY(SELECT n.name FROM (SELECT name FROM unnest($2::text[]) AS t (name)) AS n))
  AND connection_id = ANY ($1::uuid[])
  AND status <> 'completed';

-- statements/ReconciliationDays.ts claimDue
UPDATE reconciliations
SET due_at = now() + interval '1 hour'
WHERE
  id IN (
    SELECT id
    FROM reconciliations
    WHERE due_at <= now()
    ORDER BY coalesce(array_position($1::uuid[], connection_id), 0), due_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
  )
RETURNING id, connection_id AS "bankAccount", day::text AS day, due_at::text AS "claimedUntil", looked_up_to AS "lookedUpTo";

-- statements/ReconciliationDays.ts insertDays
INSERT INTO reconciliations (id, connection_id, day, status, due_at, created_at)
SELECT id, connection_id, day::date, 'requested', now(), now()
FROM (SELECT id, connection_id, day FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS t (id, connection_id, day)) AS d
ON CONFLICT (connection_id, day) DO UPDATE
SET status = 'requested', due_at = now();

-- statements/ReconciliationStore.ts insertLines
INSERT INTO
  reconciliation_lines (
    id, reconciliation_id, day, state, difference, bank_line_id, bank_day, bank_amount, books_day, books_amount, transfer_id,
    source_object, source_id, account_id, end_to_end_id, description, suggestions, explanation
  )
SELECT
  id, $1::uuid, $2::text::date, state, difference, bank_line_id, bank_day::date, bank_amount, books_day::date, books_amount,
  transfer_id, source_object, source_id, account_id, end_to_end_id, description, suggestions, explanation
FROM
  (
    SELECT
      id, state, difference, bank_line_id, bank_day, bank_amount, books_day, books_amount, transfer_id, source_object, source_id,
      account_id, end_to_end_id, description, suggestions::json AS suggestions, explanation
    FROM
      unnest(
        $3::uuid[], $4::text[], $5::bigint[], $6::uuid[], $7::text[], $8::bigint[], $9::text[], $10::bigint[], $11::uuid[],
        $12::text[], $13::uuid[], $14::uuid[], $15::text[], $16::text[], $17::text[], $18::text[]
      ) AS t (
        id, state, difference, bank_line_id, bank_day, bank_amount, books_day, books_amount, transfer_id, source_object, source_id,
        account_id, end_to_end_id, description, suggestions, explanation
      )
  ) AS l;

-- webhooks/deliveries/DeliveryOutcomes.ts failAttempted
UPDATE deliveries
SET status = 'failed', due_at = NULL, paused_due_at = NULL, reason = $2::text
WHERE id = $1::uuid AND status = 'delivering' AND attempts_made = $3::integer;

-- webhooks/deliveries/DeliveryOutcomes.ts failDue
UPDATE deliveries
SET status = 'failed', due_at = NULL, paused_due_at = NULL, reason = $2::text
WHERE id = $1::uuid AND status IN ('scheduled', 'delivering') AND due_at <= now();

-- webhooks/deliveries/DeliveryOutcomes.ts giveBackLeases
UPDATE deliveries d
SET status = 'scheduled', due_at = now()
FROM (SELECT id, attempts_made FROM unnest($1::uuid[], $2::integer[]) AS t (id, attempts_made)) AS l
WHERE d.id = l.id AND d.status = 'delivering' AND d.attempts_made = l.attempts_made;

-- webhooks/deliveries/DeliveryOutcomes.ts record
WITH
  input AS MATERIALIZED (
    SELECT *
    FROM
      (
        SELECT
          delivery_id, attempts_made, status, delay_ms, fits_delivery, attempt_id, at, duration_ms, address, status_code, error,
          response_body
        FROM
          unnest(
            $1::uuid[], $2::integer[], $3::text[], $4::float8[], $5::boolean[], $6::uuid[], $7::timestamptz[], $8::integer[],
            $9::text[], $10::integer[], $11::text[], $12::text[]
          ) AS t (
            delivery_id, attempts_made, status, delay_ms, fits_delivery, attempt_id, at, duration_ms, address, status_code, error,
            response_body
          )
      ) i
  ),
  recorded AS (
    UPDATE deliveries d
    SET
      status = i.status, attempts_made = d.attempts_made + 1,
      due_at = CASE WHEN i.status = 'scheduled' THEN now() + i.delay_ms * interval '1 millisecond'
      END, first_attempt_at = CASE WHEN i.fits_delivery THEN i.at ELSE d.first_attempt_at
      END, first_duration_ms = CASE WHEN i.fits_delivery THEN i.duration_ms ELSE d.first_duration_ms
      END, first_status_code = CASE WHEN i.fits_delivery THEN i.status_code ELSE d.first_status_code
      END, first_address = CASE WHEN i.fits_delivery THEN i.address ELSE d.first_address
      END, first_response_body = CASE WHEN i.fits_delivery THEN i.response_body ELSE d.first_response_body
      END
    FROM input i
    WHERE d.id = i.delivery_id AND d.status = 'delivering' AND d.attempts_made = i.attempts_made
    RETURNING i.attempt_id
  ),
  health_input AS MATERIALIZED (
    SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
    FROM
      (
        SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
        FROM
          unnest($13::uuid[], $14::integer[], $15::bigint[], $16::bigint[], $17::timestamptz[], $18::timestamptz[]) AS t (endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at)
      ) i
  ),
  health_updated AS (
    UPDATE webhook_endpoint_health t
    SET
      consecutive_failures = i.consecutive_failures + CASE WHEN i.successes = 0 THEN t.consecutive_failures ELSE 0
      END, successes = t.successes + i.successes, failures = t.failures + i.failures,
      last_success_at = greatest(t.last_success_at, i.last_success_at),
      last_failure_at = greatest(t.last_failure_at, i.last_failure_at)
    FROM health_input i
    WHERE t.endpoint_id = i.endpoint_id AND (SELECT count(*) FROM health_input) = 1
    RETURNING true
  ),
  health_added AS (
    INSERT INTO
      webhook_endpoint_health AS t (endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at)
    SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
    FROM health_input
    WHERE NOT EXISTS (SELECT FROM health_updated)
    ORDER BY endpoint_id
    ON CONFLICT (endpoint_id) DO UPDATE
    SET
      consecutive_failures = excluded.consecutive_failures + CASE WHEN excluded.successes = 0 THEN t.consecutive_failures ELSE 0
      END, successes = t.successes + excluded.successes, failures = t.failures + excluded.failures,
      last_success_at = greatest(t.last_success_at, excluded.last_success_at),
      last_failure_at = greatest(t.last_failure_at, excluded.last_failure_at)
  ),
  totals_input AS MATERIALIZED (
    SELECT account_id, date, attempts, successes
    FROM
      (
        SELECT *, (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date AS date
        FROM
          (
            SELECT account_id, attempts, successes
            FROM unnest($19::uuid[], $20::bigint[], $21::bigint[]) AS t (account_id, attempts, successes)
          ) t
      ) i
  ),
  totals_updated AS (
    UPDATE delivery_totals t
    SET attempts = t.attempts + i.attempts, successes = t.successes + i.successes
    FROM totals_input i
    WHERE t.account_id = i.account_id AND t.date = i.date AND (SELECT count(*) FROM totals_input) = 1
    RETURNING true
  ),
  totals_added AS (
    INSERT INTO delivery_totals AS t (account_id, date, attempts, successes)
    SELECT account_id, date, attempts, successes
    FROM totals_input
    WHERE NOT EXISTS (SELECT FROM totals_updated)
    ORDER BY account_id, date
    ON CONFLICT (account_id, date) DO UPDATE
    SET attempts = t.attempts + excluded.attempts, successes = t.successes + excluded.successes
  )
INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms, address, status_code, error, response_body)
SELECT attempt_id, delivery_id, at, duration_ms, address, status_code, error, response_body
FROM input
WHERE attempt_id IS NOT NULL AND (NOT fits_delivery OR attempt_id NOT IN (SELECT attempt_id FROM recorded));

-- webhooks/deliveries/DeliveryStore.ts countFailed
SELECT d.id
FROM deliveries d
WHERE
  d.id = ANY ($1::uuid[])
  AND d.status || '' = 'failed'
  AND d.created_at >= to_timestamp($2::double precision / 1000)
  AND NOT (d.resource_id IS NOT DISTINCT FROM d.endpoint_id)
  AND NOT EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.deleted_at IS NOT NULL)
  AND (SELECT a.moved_to FROM accounts a WHERE a.id = d.account_id) IS NULL
  AND (SELECT true FROM changes c WHERE c.id = d.change_id) IS TRUE;

-- webhooks/deliveries/DeliveryStore.ts findAttempts
SELECT at, duration_ms, address, status_code, error, response_body
FROM
  (
    SELECT id, delivery_id, at, duration_ms, address, status_code, error, response_body
    FROM delivery_attempts
    WHERE delivery_id = $1::uuid
    UNION ALL
    SELECT
      '00000000-0000-0000-0000-000000000000'::uuid AS id, id AS delivery_id, first_attempt_at AS at,
      first_duration_ms AS duration_ms, first_address AS address, first_status_code::integer AS status_code, NULL AS error,
      first_response_body AS response_body
    FROM deliveries
    WHERE id = $1::uuid AND first_attempt_at IS NOT NULL
  ) a
ORDER BY id;

-- webhooks/deliveries/DeliveryStore.ts resendMany
UPDATE deliveries d
SET
  status = 'scheduled', due_at = now(), paused_due_at = NULL, reason = NULL,
  curve_from = d.attempts_made - CASE WHEN (d.resource_id IS NOT DISTINCT FROM d.endpoint_id) THEN 1000 ELSE 0
  END
WHERE
  d.id = ANY ($1::uuid[])
  AND d.status || '' = 'failed'
  AND d.created_at >= to_timestamp($2::double precision / 1000)
  AND NOT (d.resource_id IS NOT DISTINCT FROM d.endpoint_id)
  AND d.status IN ('scheduled', 'delivered', 'failed')
  AND NOT EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.deleted_at IS NOT NULL)
  AND (SELECT a.moved_to FROM accounts a WHERE a.id = d.account_id) IS NULL
  AND (SELECT true FROM changes c WHERE c.id = d.change_id) IS TRUE
RETURNING d.id;

-- webhooks/deliveries/DeliveryStore.ts resendOne
UPDATE deliveries d
SET
  status = 'scheduled', due_at = now(), paused_due_at = NULL, reason = NULL,
  curve_from = d.attempts_made - CASE WHEN (d.resource_id IS NOT DISTINCT FROM d.endpoint_id) THEN 1000 ELSE 0
  END
WHERE
  d.id = $1::uuid
  AND d.status IN ('scheduled', 'delivered', 'failed')
  AND NOT EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.deleted_at IS NOT NULL)
  AND (SELECT a.moved_to FROM accounts a WHERE a.id = d.account_id) IS NULL
  AND (SELECT true FROM changes c WHERE c.id = d.change_id) IS TRUE
RETURNING d.id;

-- webhooks/deliveries/PausedDeliveries.ts pausedCandidates
WITH RECURSIVE
  paused_owners AS (
    (
      SELECT coalesce(endpoint_id, application_id, account_id) AS owner
      FROM deliveries
      WHERE paused_due_at IS NOT NULL AND coalesce(endpoint_id, application_id, account_id) > $2::uuid
      ORDER BY coalesce(endpoint_id, application_id, account_id)
      LIMIT 1
    )
    UNION ALL
    SELECT
      (
        SELECT coalesce(endpoint_id, application_id, account_id) AS owner
        FROM deliveries
        WHERE paused_due_at IS NOT NULL AND coalesce(endpoint_id, application_id, account_id) > h.owner
        ORDER BY coalesce(endpoint_id, application_id, account_id)
        LIMIT 1
      )
    FROM paused_owners h
    WHERE h.owner IS NOT NULL
  ), visited AS MATERIALIZED (SELECT owner FROM paused_owners WHERE owner IS NOT NULL LIMIT 2000),
  owners AS MATERIALIZED (
    SELECT
      h.owner, o.account_id, o.deleted_at, row_number() OVER (PARTITION BY o.account_id ORDER BY h.owner) AS nth,
      count(*) OVER (PARTITION BY o.account_id) AS of_account
    FROM
      visited h
      CROSS JOIN LATERAL (
        SELECT
          d.account_id, w.deleted_at, w.deleted_at IS NOT NULL
          OR (
            coalesce(w.active AND w.disabled_at IS NULL, true)
            AND (
              NOT EXISTS (SELECT 1 FROM accounts o WHERE o.id = d.account_id AND o.status <> 'active')
              AND NOT EXISTS (
                SELECT 1
                FROM applications o
                WHERE o.id = coalesce(w.application_id, d.application_id) AND NOT o.active
              )
            )
          ) AS is_resumable
        FROM
          (
            SELECT endpoint_id, application_id, account_id
            FROM deliveries
            WHERE paused_due_at IS NOT NULL AND coalesce(endpoint_id, application_id, account_id) = h.owner
            LIMIT 1
          ) d
          LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
      ) o
    WHERE o.is_resumable
  ),
  resumable AS MATERIALIZED (
    SELECT t.id, o.deleted_at
    FROM
      (
        SELECT o.owner, o.deleted_at, greatest(1, 2000 / (s.accounts * o.of_account)) AS share
        FROM owners o CROSS JOIN (SELECT count(DISTINCT account_id) AS accounts FROM owners) s
        ORDER BY o.nth
      ) o
      CROSS JOIN LATERAL (
        SELECT id
        FROM deliveries
        WHERE paused_due_at IS NOT NULL AND coalesce(endpoint_id, application_id, account_id) = o.owner AND id <> ALL ($1::uuid[])
        LIMIT o.share
      ) t
    LIMIT 2000
  )
SELECT f.id, w.last_owner
FROM (SELECT (SELECT owner FROM visited OFFSET 1999 LIMIT 1) AS last_owner) w LEFT JOIN resumable f ON true;

-- webhooks/deliveries/PausedDeliveries.ts rescheduleByIds
WITH
  resumable AS MATERIALIZED (
    SELECT d.id, w.deleted_at
    FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.id = ANY ($1::uuid[]) AND d.paused_due_at IS NOT NULL
    FOR UPDATE OF d SKIP LOCKED
  ),
  rescheduled AS (
    UPDATE deliveries d
    SET
      status = CASE WHEN f.deleted_at IS NULL THEN d.status ELSE 'canceled'
      END, reason = CASE WHEN f.deleted_at IS NULL THEN d.reason ELSE 'endpoint deleted'
      END, due_at = CASE WHEN f.deleted_at IS NULL THEN greatest(d.paused_due_at, now())
      END, paused_due_at = NULL
    FROM resumable f
    WHERE d.id = f.id
    RETURNING d.id
  )
SELECT id, NULL::uuid AS last_owner
FROM rescheduled;

-- webhooks/deliveries/PausedDeliveries.ts reschedulePaused
WITH RECURSIVE
  paused_owners AS (
    (
      SELECT coalesce(endpoint_id, application_id, account_id) AS owner
      FROM deliveries
      WHERE paused_due_at IS NOT NULL AND coalesce(endpoint_id, application_id, account_id) > $2::uuid
      ORDER BY coalesce(endpoint_id, application_id, account_id)
      LIMIT 1
    )
    UNION ALL
    SELECT
      (
        SELECT coalesce(endpoint_id, application_id, account_id) AS owner
        FROM deliveries
        WHERE paused_due_at IS NOT NULL AND coalesce(endpoint_id, application_id, account_id) > h.owner
        ORDER BY coalesce(endpoint_id, application_id, account_id)
        LIMIT 1
      )
    FROM paused_owners h
    WHERE h.owner IS NOT NULL
  ), visited AS MATERIALIZED (SELECT owner FROM paused_owners WHERE owner IS NOT NULL LIMIT 2000),
  owners AS MATERIALIZED (
    SELECT
      h.owner, o.account_id, o.deleted_at, row_number() OVER (PARTITION BY o.account_id ORDER BY h.owner) AS nth,
      count(*) OVER (PARTITION BY o.account_id) AS of_account
    FROM
      visited h
      CROSS JOIN LATERAL (
        SELECT
          d.account_id, w.deleted_at, w.deleted_at IS NOT NULL
          OR (
            coalesce(w.active AND w.disabled_at IS NULL, true)
            AND (
              NOT EXISTS (SELECT 1 FROM accounts o WHERE o.id = d.account_id AND o.status <> 'active')
              AND NOT EXISTS (
                SELECT 1
                FROM applications o
                WHERE o.id = coalesce(w.application_id, d.application_id) AND NOT o.active
              )
            )
          ) AS is_resumable
        FROM
          (
            SELECT endpoint_id, application_id, account_id
            FROM deliveries
            WHERE paused_due_at IS NOT NULL AND coalesce(endpoint_id, application_id, account_id) = h.owner
            LIMIT 1
          ) d
          LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
      ) o
    WHERE o.is_resumable
  ),
  resumable AS MATERIALIZED (
    SELECT t.id, o.deleted_at
    FROM
      (
        SELECT o.owner, o.deleted_at, greatest(1, 2000 / (s.accounts * o.of_account)) AS share
        FROM owners o CROSS JOIN (SELECT count(DISTINCT account_id) AS accounts FROM owners) s
        ORDER BY o.nth
      ) o
      CROSS JOIN LATERAL (
        SELECT id
        FROM deliveries
        WHERE paused_due_at IS NOT NULL AND coalesce(endpoint_id, application_id, account_id) = o.owner AND id <> ALL ($1::uuid[])
        LIMIT o.share
        FOR UPDATE SKIP LOCKED
      ) t
    LIMIT 2000
  ),
  rescheduled AS (
    UPDATE deliveries d
    SET
      status = CASE WHEN f.deleted_at IS NULL THEN d.status ELSE 'canceled'
      END, reason = CASE WHEN f.deleted_at IS NULL THEN d.reason ELSE 'endpoint deleted'
      END, due_at = CASE WHEN f.deleted_at IS NULL THEN greatest(d.paused_due_at, now())
      END, paused_due_at = NULL
    FROM resumable f
    WHERE d.id = f.id
    RETURNING d.id
  )
SELECT r.id, w.last_owner
FROM (SELECT (SELECT owner FROM visited OFFSET 1999 LIMIT 1) AS last_owner) w LEFT JOIN rescheduled r ON true;

-- webhooks/endpoints/TestDeliveries.ts findEndpoint
SELECT
  w.events, w.active
  AND w.disabled_at IS NULL
  AND (
    NOT EXISTS (SELECT 1 FROM accounts o WHERE o.id = w.account_id AND o.status <> 'active')
    AND NOT EXISTS (SELECT 1 FROM applications o WHERE o.id = w.application_id AND NOT o.active)
  ) AS is_active, coalesce((SELECT max(sequence) FROM changes WHERE resource_id = $1::uuid), 0) AS tests,
  coalesce(
    (SELECT status IN ('scheduled', 'delivering') FROM deliveries WHERE resource_id = $1::uuid ORDER BY id DESC LIMIT 1), false
  ) AS has_test
FROM webhook_endpoints w
WHERE w.id = $1::uuid AND w.deleted_at IS NULL;

-- webhooks/endpoints/TestDeliveries.ts insertTest
WITH
  endpoint AS (SELECT * FROM webhook_endpoints WHERE id = $1::uuid),
  change AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT
      $2::uuid, id, account_id, application_id, 'webhook.test', '{}', 'test', $5::integer, $6::text,
      to_timestamp($7::double precision / 1000)
    FROM endpoint
  )
INSERT INTO
  deliveries (
    id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, status, due_at,
    curve_from, created_at
  )
SELECT
  $3::uuid, $2::uuid, $4::text, id, account_id, application_id, id, url, destination, destination_hash, 'scheduled', now(), -1000,
  to_timestamp($7::double precision / 1000)
FROM endpoint;

-- webhooks/endpoints/TestDeliveries.ts lockEndpoint
SELECT id
FROM webhook_endpoints
WHERE id = $1::uuid
FOR NO KEY UPDATE;

-- webhooks/endpoints/WebhookEndpoints.ts deleteOwn
WITH
  removed AS (
    UPDATE webhook_endpoints
    SET deleted_at = now()
    WHERE id = $1::uuid AND application_id = $2::uuid AND deleted_at IS NULL
    RETURNING id
  ),
reset AS (
  UPDATE webhook_endpoint_health h
  SET consecutive_failures = 0
  FROM removed r
  WHERE h.endpoint_id = r.id AND h.consecutive_failures > 0
)
SELECT id
FROM removed;

-- webhooks/endpoints/WebhookEndpoints.ts findOwn
SELECT id, url, description, events, active AND disabled_at IS NULL AS active, secret, created_at
FROM webhook_endpoints
WHERE id = $1::uuid AND application_id = $2::uuid AND deleted_at IS NULL;

-- webhooks/endpoints/WebhookEndpoints.ts insertOne
INSERT INTO
  webhook_endpoints (
    id, account_id, application_id, url, normalized_url, destination, description, events, active, secret, created_at
  )
SELECT
  $1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::text, $7::text, ARRAY(SELECT json_array_elements_text($8::text::json)),
  true, $9::text, to_timestamp($10::double precision / 1000)
WHERE (SELECT count(*) FROM webhook_endpoints WHERE application_id = $3::uuid AND deleted_at IS NULL) < $11::integer
RETURNING id, url, description, events, active AND disabled_at IS NULL AS active, secret, created_at;

-- webhooks/endpoints/WebhookEndpoints.ts updateOwn
UPDATE webhook_endpoints
SET
  url = coalesce($3::text, url), normalized_url = coalesce($4::text, normalized_url), destination = coalesce($5::text, destination),
  description = CASE WHEN $6::boolean THEN $7::text ELSE description
  END, events = CASE WHEN $8::text IS NULL THEN events ELSE ARRAY(SELECT json_array_elements_text($8::text::json))
  END, secret = CASE WHEN $9::boolean THEN $10::text ELSE secret
  END, active = coalesce($11::boolean, active)
WHERE id = $1::uuid AND application_id = $2::uuid AND deleted_at IS NULL
RETURNING id, url, description, events, active AND disabled_at IS NULL AS active, secret, created_at;

-- webhooks/fan-out/FanOutStatements.ts accountCandidates
WITH
  turn AS MATERIALIZED (SELECT $1::uuid AS account_id),
  picked AS MATERIALIZED (
    SELECT o.*, t.share
    FROM
      (
        SELECT
          t.account_id,
          greatest(1, least($2::integer / s.accounts, $3::integer / (s.accounts * (1 + coalesce(n.live, 0))))) AS share
        FROM
          turn t
          CROSS JOIN (SELECT count(*) AS accounts FROM turn) s
          LEFT JOIN webhook_endpoint_counters n ON n.account_id = t.account_id
      ) t
      CROSS JOIN LATERAL (
        SELECT
          account_id, change_id, endpoints_version, normalized_hash, destination_hash, leased_until IS NULL
          AND false AS may_be_leased
        FROM outbox
        WHERE account_id = t.account_id AND change_id <> ALL ($4::uuid[]) AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY change_id
        LIMIT t.share
      ) o
  )
SELECT account_id, change_id
FROM picked;

-- webhooks/fan-out/FanOutStatements.ts completeWithFailures
WITH
  completed AS (
    DELETE FROM outbox
    WHERE account_id = $1::uuid AND change_id = $2::uuid AND (leased_until IS NULL OR leased_until <= now())
    RETURNING account_id, change_id, endpoints_version, normalized_hash, destination_hash
  ),
  recovered AS (
    DELETE FROM outbox_failures f USING completed e
    WHERE
      f.change_id = e.change_id
      AND NOT EXISTS (
        SELECT 1
        FROM (SELECT endpoint_id, error FROM unnest($3::uuid[], $4::text[]) AS t (endpoint_id, error)) AS n
        WHERE n.endpoint_id IS NOT DISTINCT FROM f.endpoint_id
      )
  )
INSERT INTO
  outbox_failures AS f (
    id, change_id, endpoint_id, account_id, endpoints_version, normalized_hash, destination_hash, error, first_failed_at,
    last_failed_at
  )
SELECT
  uuidv7(), e.change_id, n.endpoint_id, e.account_id, e.endpoints_version, e.normalized_hash, e.destination_hash, n.error, now(),
  now()
FROM completed e CROSS JOIN (SELECT endpoint_id, error FROM unnest($3::uuid[], $4::text[]) AS t (endpoint_id, error)) AS n
ON CONFLICT (change_id, endpoint_id) DO UPDATE
SET error = excluded.error, failures = f.failures + 1, last_failed_at = excluded.last_failed_at, retried_at = NULL
RETURNING f.id;

-- webhooks/fan-out/FanOutStatements.ts endpointsOf
WITH
  picked AS (
    SELECT account_id, change_id, endpoints_version, normalized_hash, destination_hash, false AS may_be_leased
    FROM outbox
    WHERE account_id = $1::uuid AND change_id = $2::uuid
  ),
  events AS MATERIALIZED (
    SELECT
      p.change_id, p.may_be_leased, p.account_id, p.endpoints_version, p.normalized_hash, p.destination_hash, c.application_id,
      c.resource_id, c.created_at, c.kind || '.' || a.action AS event
    FROM picked p JOIN changes c ON c.id = p.change_id CROSS JOIN LATERAL unnest(c.actions) AS a (action)
    WHERE
      c.kind || '.' || a.action IN (
        'charge.pix.created', 'charge.pix.emitted', 'charge.pix.paid', 'charge.pix.failed', 'charge.pix.canceled',
        'charge.pix.refunded', 'charge.pix.infraction', 'charge.pix.charged_back', 'charge.boleto.created', 'charge.boleto.emitted',
        'charge.boleto.paid', 'charge.boleto.failed', 'charge.boleto.canceled', 'charge.boleto.refunded', 'charge.card.created',
        'charge.card.paid', 'charge.card.failed', 'charge.card.canceled', 'charge.card.refunded', 'charge.card.charged_back',
        'payment.pix.created', 'payment.pix.processing', 'payment.pix.failed', 'payment.pix.canceled', 'payment.ted.created',
        'payment.ted.processing', 'payment.ted.failed', 'payment.ted.canceled', 'dispute.pix.opened', 'dispute.pix.message',
        'dispute.pix.won', 'dispute.pix.lost'
      )
  ),
  subscribed AS MATERIALIZED (
    SELECT
      e.change_id, e.may_be_leased, e.account_id, e.application_id, e.resource_id, e.event, e.created_at, e.normalized_hash,
      e.destination_hash, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM
      events e
      JOIN webhook_endpoint_versions v ON v.application_id = e.application_id
      AND v.to_version > e.endpoints_version
      AND v.from_version <= e.endpoints_version
      AND e.event = ANY (v.events)
    UNION ALL
    SELECT
      e.change_id, e.may_be_leased, e.account_id, e.application_id, e.resource_id, e.event, e.created_at, e.normalized_hash,
      e.destination_hash, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM
      events e
      JOIN webhook_endpoint_versions v ON v.account_id = e.account_id
      AND v.to_version > e.endpoints_version
      AND v.from_version <= e.endpoints_version
      AND e.event = ANY (v.events)
    WHERE e.application_id IS NULL
  )
SELECT DISTINCT endpoint_id
FROM subscribed
UNION ALL
SELECT DISTINCT NULL::uuid
FROM events
WHERE destination_hash IS NOT NULL;

-- webhooks/fan-out/FanOutStatements.ts fanOutChanges
WITH RECURSIVE
  picked AS MATERIALIZED (
    SELECT account_id, change_id, endpoints_version, normalized_hash, destination_hash, false AS may_be_leased, 1 AS share
    FROM outbox
    WHERE
      (account_id, change_id) IN (
        SELECT *
        FROM (SELECT account_id, change_id FROM unnest($1::uuid[], $2::uuid[]) AS t (account_id, change_id)) AS c
      )
      AND (leased_until IS NULL OR leased_until <= now())
    FOR UPDATE SKIP LOCKED
  ),
  events AS MATERIALIZED (
    SELECT
      p.change_id, p.may_be_leased, p.account_id, p.endpoints_version, p.normalized_hash, p.destination_hash, c.application_id,
      c.resource_id, c.created_at, c.kind || '.' || a.action AS event
    FROM picked p JOIN changes c ON c.id = p.change_id CROSS JOIN LATERAL unnest(c.actions) AS a (action)
    WHERE
      c.kind || '.' || a.action IN (
        'charge.pix.created', 'charge.pix.emitted', 'charge.pix.paid', 'charge.pix.failed', 'charge.pix.canceled',
        'charge.pix.refunded', 'charge.pix.infraction', 'charge.pix.charged_back', 'charge.boleto.created', 'charge.boleto.emitted',
        'charge.boleto.paid', 'charge.boleto.failed', 'charge.boleto.canceled', 'charge.boleto.refunded', 'charge.card.created',
        'charge.card.paid', 'charge.card.failed', 'charge.card.canceled', 'charge.card.refunded', 'charge.card.charged_back',
        'payment.pix.created', 'payment.pix.processing', 'payment.pix.failed', 'payment.pix.canceled', 'payment.ted.created',
        'payment.ted.processing', 'payment.ted.failed', 'payment.ted.canceled', 'dispute.pix.opened', 'dispute.pix.message',
        'dispute.pix.won', 'dispute.pix.lost'
      )
  ),
  subscribed AS MATERIALIZED (
    SELECT
      e.change_id, e.may_be_leased, e.account_id, e.application_id, e.resource_id, e.event, e.created_at, e.normalized_hash,
      e.destination_hash, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM
      events e
      JOIN webhook_endpoint_versions v ON v.application_id = e.application_id
      AND v.to_version > e.endpoints_version
      AND v.from_version <= e.endpoints_version
      AND e.event = ANY (v.events)
    UNION ALL
    SELECT
      e.change_id, e.may_be_leased, e.account_id, e.application_id, e.resource_id, e.event, e.created_at, e.normalized_hash,
      e.destination_hash, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM
      events e
      JOIN webhook_endpoint_versions v ON v.account_id = e.account_id
      AND v.to_version > e.endpoints_version
      AND v.from_version <= e.endpoints_version
      AND e.event = ANY (v.events)
    WHERE e.application_id IS NULL
  ),
  endpoints AS MATERIALIZED (
    SELECT id, application_id, url, destination, destination_hash, secret, active AND disabled_at IS NULL AS active, deleted_at
    FROM webhook_endpoints
    WHERE id = ANY (ARRAY(SELECT endpoint_id FROM subscribed))
    FOR SHARE SKIP LOCKED
  ), waiting AS MATERIALIZED (SELECT DISTINCT change_id FROM subscribed WHERE (endpoint_id IN (SELECT id FROM endpoints)) IS FALSE),
  folded AS MATERIALIZED (
    SELECT s.change_id, s.event
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE
      s.is_folded
      AND (
        w.deleted_at IS NULL
        OR EXISTS (
          SELECT 1
          FROM deliveries d
          WHERE
            d.id = (
              SELECT
                (
                  left(s.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
                )::uuid
              FROM (SELECT sha256(convert_to(concat_ws(' ', s.change_id, s.event, s.endpoint_id), 'UTF8')) AS bytes) h
            )
        )
      )
  ),
  targets AS MATERIALIZED (
    SELECT
      (
        SELECT
          (
            left(s.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
          )::uuid
        FROM (SELECT sha256(convert_to(concat_ws(' ', s.change_id, s.event, s.endpoint_id), 'UTF8')) AS bytes) h
      ) AS id, s.change_id, s.event, s.resource_id, s.account_id, w.application_id, s.endpoint_id, w.url, w.destination,
      w.destination_hash, NULL AS secret, w.active, s.created_at, s.may_be_leased
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE w.deleted_at IS NULL AND (s.change_id IN (SELECT change_id FROM waiting)) IS FALSE
    UNION ALL
    SELECT
      (
        SELECT
          (
            left(e.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
          )::uuid
        FROM (SELECT sha256(convert_to(concat_ws(' ', e.change_id, e.event, 'webhook_url'), 'UTF8')) AS bytes) h
      ), e.change_id, e.event, e.resource_id, e.account_id, e.application_id, NULL, r.webhook_url,
      coalesce(substring(r.webhook_url FROM '^[^:/?#]+:/*[^/?#]*'), r.webhook_url), e.destination_hash, r.webhook_secret, true,
      e.created_at, e.may_be_leased
    FROM
      events e
      CROSS JOIN LATERAL (
        SELECT webhook_url, webhook_secret
        FROM charges
        WHERE id = e.resource_id
        UNION ALL
        SELECT webhook_url, webhook_secret
        FROM payouts
        WHERE id = e.resource_id
      ) r
    WHERE
      e.destination_hash IS NOT NULL
      AND r.webhook_url IS NOT NULL
      AND ((e.change_id, e.event) IN (SELECT change_id, event FROM folded)) IS FALSE
      AND (e.change_id IN (SELECT change_id FROM waiting)) IS FALSE
  ),
  checked AS MATERIALIZED (
    SELECT
      *, active
      AND (
        account_id <> ALL (
          ARRAY(SELECT o.id FROM accounts o WHERE o.id = ANY (ARRAY(SELECT account_id FROM targets)) AND o.status <> 'active')
        )
        AND (
          application_id = ANY (
            ARRAY(SELECT o.id FROM applications o WHERE o.id = ANY (ARRAY(SELECT application_id FROM targets)) AND NOT o.active)
          )
        ) IS NOT TRUE
      ) AS is_active
    FROM targets t
    WHERE true
  ), leased AS MATERIALIZED (SELECT * FROM checked WHERE may_be_leased AND is_active),
  inserted AS (
    INSERT INTO
      deliveries (
        id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, secret,
        status, due_at, paused_due_at, created_at
      )
    SELECT
      id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, secret,
      'scheduled', CASE WHEN is_active THEN now()
      END, CASE WHEN NOT is_active THEN now()
      END, created_at
    FROM checked
    WHERE NOT (may_be_leased AND is_active)
    ON CONFLICT (id) DO NOTHING
    RETURNING due_at
  ),
  done AS (
    DELETE FROM outbox o USING picked p
    WHERE
      o.account_id = p.account_id
      AND o.change_id = p.change_id
      AND (p.change_id IN (SELECT change_id FROM waiting)) IS FALSE
      AND (p.change_id IN (SELECT change_id FROM leased)) IS FALSE
    RETURNING o.change_id
  ), recovered AS (DELETE FROM outbox_failures f WHERE f.change_id IN (SELECT change_id FROM done))
SELECT
  t.*, m.*,
  CASE
    WHEN EXISTS (SELECT FROM inserted) THEN set_config('synchronous_commit', 'on', true)
    ELSE set_config(
      'synchronous_commit', CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'off' ELSE 'on'
      END, true
    )
  END
FROM
  (
    SELECT
      (SELECT count(*)::integer FROM waiting) AS waiting, (SELECT count(*)::integer FROM picked) AS picked,
      EXISTS (SELECT FROM inserted WHERE due_at IS NOT NULL) AS has_scheduled, NULL::uuid AS last_account,
      EXISTS (SELECT 1 FROM picked GROUP BY account_id, share HAVING count(*) >= share) AS is_more,
      (SELECT count(*)::integer FROM done) AS completed
  ) m
  LEFT JOIN (
    SELECT
      l.id, l.event, l.change_id, l.account_id, l.application_id, l.resource_id, l.endpoint_id, l.url, l.destination AS origin,
      l.destination_hash, l.destination_hash AS previous_hash, CASE WHEN l.endpoint_id IS NULL THEN l.secret ELSE w.secret
      END AS secret, 0 AS attempts_made, 0 AS curve_from, c.created_at, c.sequence,
      CASE
        WHEN left(c.data, 1) <> '[' THEN c.data
        ELSE c.data || E'\n' || (
          SELECT
            array_to_json(
              ARRAY[
                r.id::text, r.amount::text, r.method, r.description, r.reference, r.customer_name, r.customer_email,
                r.customer_document, r.br_code, s.receiver::text, r.webhook_url,
                to_char(r.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), c.sequence::text
              ]
            )::text
          FROM charges r LEFT JOIN receivers s ON s.id = r.receiver_id
          WHERE r.id = c.resource_id
        )
      END AS data,
      CASE split_part(c.kind, '.', 1)
        WHEN 'charge' THEN (SELECT trace FROM charges WHERE id = c.resource_id)
        WHEN 'payment' THEN (SELECT trace FROM payouts WHERE id = c.resource_id)
      END AS trace
    FROM leased l JOIN changes c ON c.id = l.change_id LEFT JOIN endpoints w ON w.id = l.endpoint_id
  ) t ON true
ORDER BY t.id;

-- webhooks/fan-out/FanOutStatements.ts fanOutRound
WITH RECURSIVE
  walk AS (
    (
      SELECT account_id
      FROM (SELECT account_id, leased_until FROM outbox WHERE account_id > $1::uuid ORDER BY account_id OFFSET 0) o
      WHERE (leased_until IS NULL OR leased_until <= now())
      LIMIT 1
    )
    UNION ALL
    SELECT
      (
        SELECT account_id
        FROM (SELECT account_id, leased_until FROM outbox WHERE account_id > w.account_id ORDER BY account_id OFFSET 0) o
        WHERE (leased_until IS NULL OR leased_until <= now())
        LIMIT 1
      )
    FROM walk w
    WHERE w.account_id IS NOT NULL
  ), turn AS MATERIALIZED (SELECT account_id FROM walk WHERE account_id IS NOT NULL AND account_id <> ALL ($5::uuid[]) LIMIT 50),
  picked AS MATERIALIZED (
    SELECT o.*, t.share
    FROM
      (
        SELECT
          t.account_id,
          greatest(1, least($2::integer / s.accounts, $3::integer / (s.accounts * (1 + coalesce(n.live, 0))))) AS share
        FROM
          turn t
          CROSS JOIN (SELECT count(*) AS accounts FROM turn) s
          LEFT JOIN webhook_endpoint_counters n ON n.account_id = t.account_id
      ) t
      CROSS JOIN LATERAL (
        SELECT
          account_id, change_id, endpoints_version, normalized_hash, destination_hash, leased_until IS NULL
          AND $6::boolean AS may_be_leased
        FROM outbox
        WHERE account_id = t.account_id AND change_id <> ALL ($4::uuid[]) AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY change_id
        LIMIT t.share
        FOR UPDATE SKIP LOCKED
      ) o
  ),
  events AS MATERIALIZED (
    SELECT
      p.change_id, p.may_be_leased, p.account_id, p.endpoints_version, p.normalized_hash, p.destination_hash, c.application_id,
      c.resource_id, c.created_at, c.kind || '.' || a.action AS event
    FROM picked p JOIN changes c ON c.id = p.change_id CROSS JOIN LATERAL unnest(c.actions) AS a (action)
    WHERE
      c.kind || '.' || a.action IN (
        'charge.pix.created', 'charge.pix.emitted', 'charge.pix.paid', 'charge.pix.failed', 'charge.pix.canceled',
        'charge.pix.refunded', 'charge.pix.infraction', 'charge.pix.charged_back', 'charge.boleto.created', 'charge.boleto.emitted',
        'charge.boleto.paid', 'charge.boleto.failed', 'charge.boleto.canceled', 'charge.boleto.refunded', 'charge.card.created',
        'charge.card.paid', 'charge.card.failed', 'charge.card.canceled', 'charge.card.refunded', 'charge.card.charged_back',
        'payment.pix.created', 'payment.pix.processing', 'payment.pix.failed', 'payment.pix.canceled', 'payment.ted.created',
        'payment.ted.processing', 'payment.ted.failed', 'payment.ted.canceled', 'dispute.pix.opened', 'dispute.pix.message',
        'dispute.pix.won', 'dispute.pix.lost'
      )
  ),
  subscribed AS MATERIALIZED (
    SELECT
      e.change_id, e.may_be_leased, e.account_id, e.application_id, e.resource_id, e.event, e.created_at, e.normalized_hash,
      e.destination_hash, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM
      events e
      JOIN webhook_endpoint_versions v ON v.application_id = e.application_id
      AND v.to_version > e.endpoints_version
      AND v.from_version <= e.endpoints_version
      AND e.event = ANY (v.events)
    UNION ALL
    SELECT
      e.change_id, e.may_be_leased, e.account_id, e.application_id, e.resource_id, e.event, e.created_at, e.normalized_hash,
      e.destination_hash, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM
      events e
      JOIN webhook_endpoint_versions v ON v.account_id = e.account_id
      AND v.to_version > e.endpoints_version
      AND v.from_version <= e.endpoints_version
      AND e.event = ANY (v.events)
    WHERE e.application_id IS NULL
  ),
  endpoints AS MATERIALIZED (
    SELECT id, application_id, url, destination, destination_hash, secret, active AND disabled_at IS NULL AS active, deleted_at
    FROM webhook_endpoints
    WHERE id = ANY (ARRAY(SELECT endpoint_id FROM subscribed))
    FOR SHARE SKIP LOCKED
  ), waiting AS MATERIALIZED (SELECT DISTINCT change_id FROM subscribed WHERE (endpoint_id IN (SELECT id FROM endpoints)) IS FALSE),
  folded AS MATERIALIZED (
    SELECT s.change_id, s.event
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE
      s.is_folded
      AND (
        w.deleted_at IS NULL
        OR EXISTS (
          SELECT 1
          FROM deliveries d
          WHERE
            d.id = (
              SELECT
                (
                  left(s.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
                )::uuid
              FROM (SELECT sha256(convert_to(concat_ws(' ', s.change_id, s.event, s.endpoint_id), 'UTF8')) AS bytes) h
            )
        )
      )
  ),
  targets AS MATERIALIZED (
    SELECT
      (
        SELECT
          (
            left(s.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
          )::uuid
        FROM (SELECT sha256(convert_to(concat_ws(' ', s.change_id, s.event, s.endpoint_id), 'UTF8')) AS bytes) h
      ) AS id, s.change_id, s.event, s.resource_id, s.account_id, w.application_id, s.endpoint_id, w.url, w.destination,
      w.destination_hash, NULL AS secret, w.active, s.created_at, s.may_be_leased
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE w.deleted_at IS NULL AND (s.change_id IN (SELECT change_id FROM waiting)) IS FALSE
    UNION ALL
    SELECT
      (
        SELECT
          (
            left(e.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
          )::uuid
        FROM (SELECT sha256(convert_to(concat_ws(' ', e.change_id, e.event, 'webhook_url'), 'UTF8')) AS bytes) h
      ), e.change_id, e.event, e.resource_id, e.account_id, e.application_id, NULL, r.webhook_url,
      coalesce(substring(r.webhook_url FROM '^[^:/?#]+:/*[^/?#]*'), r.webhook_url), e.destination_hash, r.webhook_secret, true,
      e.created_at, e.may_be_leased
    FROM
      events e
      CROSS JOIN LATERAL (
        SELECT webhook_url, webhook_secret
        FROM charges
        WHERE id = e.resource_id
        UNION ALL
        SELECT webhook_url, webhook_secret
        FROM payouts
        WHERE id = e.resource_id
      ) r
    WHERE
      e.destination_hash IS NOT NULL
      AND r.webhook_url IS NOT NULL
      AND ((e.change_id, e.event) IN (SELECT change_id, event FROM folded)) IS FALSE
      AND (e.change_id IN (SELECT change_id FROM waiting)) IS FALSE
  ),
  checked AS MATERIALIZED (
    SELECT
      *, active
      AND (
        account_id <> ALL (
          ARRAY(SELECT o.id FROM accounts o WHERE o.id = ANY (ARRAY(SELECT account_id FROM targets)) AND o.status <> 'active')
        )
        AND (
          application_id = ANY (
            ARRAY(SELECT o.id FROM applications o WHERE o.id = ANY (ARRAY(SELECT application_id FROM targets)) AND NOT o.active)
          )
        ) IS NOT TRUE
      ) AS is_active
    FROM targets t
    WHERE true
  ), leased AS MATERIALIZED (SELECT * FROM checked WHERE may_be_leased AND is_active),
  inserted AS (
    INSERT INTO
      deliveries (
        id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, secret,
        status, due_at, paused_due_at, created_at
      )
    SELECT
      id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, secret,
      'scheduled', CASE WHEN is_active THEN now()
      END, CASE WHEN NOT is_active THEN now()
      END, created_at
    FROM checked
    WHERE NOT (may_be_leased AND is_active)
    ON CONFLICT (id) DO NOTHING
    RETURNING due_at
  ),
  done AS (
    DELETE FROM outbox o USING picked p
    WHERE
      o.account_id = p.account_id
      AND o.change_id = p.change_id
      AND (p.change_id IN (SELECT change_id FROM waiting)) IS FALSE
      AND (p.change_id IN (SELECT change_id FROM leased)) IS FALSE
    RETURNING o.change_id
  ), recovered AS (DELETE FROM outbox_failures f WHERE f.change_id IN (SELECT change_id FROM done)),
  leased_changes AS (
    UPDATE outbox o
    SET leased_until = now() + $7::double precision * interval '1 millisecond'
    FROM (SELECT DISTINCT account_id, change_id FROM leased) l
    WHERE o.account_id = l.account_id AND o.change_id = l.change_id
  )
SELECT
  t.*, m.*,
  CASE
    WHEN EXISTS (SELECT FROM inserted) THEN set_config('synchronous_commit', 'on', true)
    ELSE set_config(
      'synchronous_commit', CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'off' ELSE 'on'
      END, true
    )
  END
FROM
  (
    SELECT
      (SELECT count(*)::integer FROM waiting) AS waiting, (SELECT count(*)::integer FROM picked) AS picked,
      EXISTS (SELECT FROM inserted WHERE due_at IS NOT NULL) AS has_scheduled,
      (SELECT account_id FROM turn OFFSET 49 LIMIT 1) AS last_account,
      EXISTS (SELECT 1 FROM picked GROUP BY account_id, share HAVING count(*) >= share) AS is_more,
      (SELECT count(*)::integer FROM done) AS completed
  ) m
  LEFT JOIN (
    SELECT
      l.id, l.event, l.change_id, l.account_id, l.application_id, l.resource_id, l.endpoint_id, l.url, l.destination AS origin,
      l.destination_hash, l.destination_hash AS previous_hash, CASE WHEN l.endpoint_id IS NULL THEN l.secret ELSE w.secret
      END AS secret, 0 AS attempts_made, 0 AS curve_from, c.created_at, c.sequence,
      CASE
        WHEN left(c.data, 1) <> '[' THEN c.data
        ELSE c.data || E'\n' || (
          SELECT
            array_to_json(
              ARRAY[
                r.id::text, r.amount::text, r.method, r.description, r.reference, r.customer_name, r.customer_email,
                r.customer_document, r.br_code, s.receiver::text, r.webhook_url,
                to_char(r.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), c.sequence::text
              ]
            )::text
          FROM charges r LEFT JOIN receivers s ON s.id = r.receiver_id
          WHERE r.id = c.resource_id
        )
      END AS data,
      CASE split_part(c.kind, '.', 1)
        WHEN 'charge' THEN (SELECT trace FROM charges WHERE id = c.resource_id)
        WHEN 'payment' THEN (SELECT trace FROM payouts WHERE id = c.resource_id)
      END AS trace
    FROM leased l JOIN changes c ON c.id = l.change_id LEFT JOIN endpoints w ON w.id = l.endpoint_id
  ) t ON true
ORDER BY t.id;

-- webhooks/fan-out/FanOutStatements.ts fanOutToEndpoints
WITH RECURSIVE
  picked AS MATERIALIZED (
    SELECT account_id, change_id, endpoints_version, normalized_hash, destination_hash, false AS may_be_leased, 1 AS share
    FROM outbox
    WHERE
      (account_id, change_id) IN (
        SELECT *
        FROM (SELECT account_id, change_id FROM unnest($1::uuid[], $2::uuid[]) AS t (account_id, change_id)) AS c
      )
      AND (leased_until IS NULL OR leased_until <= now())
    FOR UPDATE SKIP LOCKED
  ),
  events AS MATERIALIZED (
    SELECT
      p.change_id, p.may_be_leased, p.account_id, p.endpoints_version, p.normalized_hash, p.destination_hash, c.application_id,
      c.resource_id, c.created_at, c.kind || '.' || a.action AS event
    FROM picked p JOIN changes c ON c.id = p.change_id CROSS JOIN LATERAL unnest(c.actions) AS a (action)
    WHERE
      c.kind || '.' || a.action IN (
        'charge.pix.created', 'charge.pix.emitted', 'charge.pix.paid', 'charge.pix.failed', 'charge.pix.canceled',
        'charge.pix.refunded', 'charge.pix.infraction', 'charge.pix.charged_back', 'charge.boleto.created', 'charge.boleto.emitted',
        'charge.boleto.paid', 'charge.boleto.failed', 'charge.boleto.canceled', 'charge.boleto.refunded', 'charge.card.created',
        'charge.card.paid', 'charge.card.failed', 'charge.card.canceled', 'charge.card.refunded', 'charge.card.charged_back',
        'payment.pix.created', 'payment.pix.processing', 'payment.pix.failed', 'payment.pix.canceled', 'payment.ted.created',
        'payment.ted.processing', 'payment.ted.failed', 'payment.ted.canceled', 'dispute.pix.opened', 'dispute.pix.message',
        'dispute.pix.won', 'dispute.pix.lost'
      )
  ),
  subscribed AS MATERIALIZED (
    SELECT
      e.change_id, e.may_be_leased, e.account_id, e.application_id, e.resource_id, e.event, e.created_at, e.normalized_hash,
      e.destination_hash, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM
      events e
      JOIN webhook_endpoint_versions v ON v.application_id = e.application_id
      AND v.to_version > e.endpoints_version
      AND v.from_version <= e.endpoints_version
      AND e.event = ANY (v.events)
    UNION ALL
    SELECT
      e.change_id, e.may_be_leased, e.account_id, e.application_id, e.resource_id, e.event, e.created_at, e.normalized_hash,
      e.destination_hash, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM
      events e
      JOIN webhook_endpoint_versions v ON v.account_id = e.account_id
      AND v.to_version > e.endpoints_version
      AND v.from_version <= e.endpoints_version
      AND e.event = ANY (v.events)
    WHERE e.application_id IS NULL
  ),
  endpoints AS MATERIALIZED (
    SELECT id, application_id, url, destination, destination_hash, secret, active AND disabled_at IS NULL AS active, deleted_at
    FROM webhook_endpoints
    WHERE
      id = ANY (ARRAY(SELECT endpoint_id FROM subscribed))
      AND (array_position($3::uuid[], NULL::uuid) IS NOT NULL OR id = ANY ($3::uuid[]))
    FOR SHARE SKIP LOCKED
  ),
  waiting AS MATERIALIZED (
    SELECT DISTINCT change_id
    FROM subscribed
    WHERE
      (endpoint_id IN (SELECT id FROM endpoints)) IS FALSE
      AND (array_position($3::uuid[], NULL::uuid) IS NOT NULL OR endpoint_id = ANY ($3::uuid[]))
  ),
  folded AS MATERIALIZED (
    SELECT s.change_id, s.event
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE
      s.is_folded
      AND (
        w.deleted_at IS NULL
        OR EXISTS (
          SELECT 1
          FROM deliveries d
          WHERE
            d.id = (
              SELECT
                (
                  left(s.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
                )::uuid
              FROM (SELECT sha256(convert_to(concat_ws(' ', s.change_id, s.event, s.endpoint_id), 'UTF8')) AS bytes) h
            )
        )
      )
  ),
  targets AS MATERIALIZED (
    SELECT
      (
        SELECT
          (
            left(s.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
          )::uuid
        FROM (SELECT sha256(convert_to(concat_ws(' ', s.change_id, s.event, s.endpoint_id), 'UTF8')) AS bytes) h
      ) AS id, s.change_id, s.event, s.resource_id, s.account_id, w.application_id, s.endpoint_id, w.url, w.destination,
      w.destination_hash, NULL AS secret, w.active, s.created_at, s.may_be_leased
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE w.deleted_at IS NULL AND (s.change_id IN (SELECT change_id FROM waiting)) IS FALSE
    UNION ALL
    SELECT
      (
        SELECT
          (
            left(e.change_id::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1) || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12)
          )::uuid
        FROM (SELECT sha256(convert_to(concat_ws(' ', e.change_id, e.event, 'webhook_url'), 'UTF8')) AS bytes) h
      ), e.change_id, e.event, e.resource_id, e.account_id, e.application_id, NULL, r.webhook_url,
      coalesce(substring(r.webhook_url FROM '^[^:/?#]+:/*[^/?#]*'), r.webhook_url), e.destination_hash, r.webhook_secret, true,
      e.created_at, e.may_be_leased
    FROM
      events e
      CROSS JOIN LATERAL (
        SELECT webhook_url, webhook_secret
        FROM charges
        WHERE id = e.resource_id
        UNION ALL
        SELECT webhook_url, webhook_secret
        FROM payouts
        WHERE id = e.resource_id
      ) r
    WHERE
      e.destination_hash IS NOT NULL
      AND r.webhook_url IS NOT NULL
      AND ((e.change_id, e.event) IN (SELECT change_id, event FROM folded)) IS FALSE
      AND (e.change_id IN (SELECT change_id FROM waiting)) IS FALSE
  ),
  checked AS MATERIALIZED (
    SELECT
      *, active
      AND (
        account_id <> ALL (
          ARRAY(SELECT o.id FROM accounts o WHERE o.id = ANY (ARRAY(SELECT account_id FROM targets)) AND o.status <> 'active')
        )
        AND (
          application_id = ANY (
            ARRAY(SELECT o.id FROM applications o WHERE o.id = ANY (ARRAY(SELECT application_id FROM targets)) AND NOT o.active)
          )
        ) IS NOT TRUE
      ) AS is_active
    FROM targets t
    WHERE array_position($3::uuid[], t.endpoint_id) IS NOT NULL
  ), leased AS MATERIALIZED (SELECT * FROM checked WHERE may_be_leased AND is_active),
  inserted AS (
    INSERT INTO
      deliveries (
        id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, secret,
        status, due_at, paused_due_at, created_at
      )
    SELECT
      id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, secret,
      'scheduled', CASE WHEN is_active THEN now()
      END, CASE WHEN NOT is_active THEN now()
      END, created_at
    FROM checked
    WHERE NOT (may_be_leased AND is_active)
    ON CONFLICT (id) DO NOTHING
    RETURNING due_at
  ), done AS (SELECT change_id FROM picked WHERE false),
  stored AS (
    UPDATE outbox o
    SET leased_until = '-infinity'
    FROM picked p
    WHERE o.account_id = p.account_id AND o.change_id = p.change_id AND o.leased_until IS NULL
  )
SELECT
  t.*, m.*,
  CASE
    WHEN EXISTS (SELECT FROM inserted) THEN set_config('synchronous_commit', 'on', true)
    ELSE set_config(
      'synchronous_commit', CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'off' ELSE 'on'
      END, true
    )
  END
FROM
  (
    SELECT
      (SELECT count(*)::integer FROM waiting) AS waiting, (SELECT count(*)::integer FROM picked) AS picked,
      EXISTS (SELECT FROM inserted WHERE due_at IS NOT NULL) AS has_scheduled, NULL::uuid AS last_account,
      EXISTS (SELECT 1 FROM picked GROUP BY account_id, share HAVING count(*) >= share) AS is_more,
      (SELECT count(*)::integer FROM done) AS completed
  ) m
  LEFT JOIN (
    SELECT
      l.id, l.event, l.change_id, l.account_id, l.application_id, l.resource_id, l.endpoint_id, l.url, l.destination AS origin,
      l.destination_hash, l.destination_hash AS previous_hash, CASE WHEN l.endpoint_id IS NULL THEN l.secret ELSE w.secret
      END AS secret, 0 AS attempts_made, 0 AS curve_from, c.created_at, c.sequence,
      CASE
        WHEN left(c.data, 1) <> '[' THEN c.data
        ELSE c.data || E'\n' || (
          SELECT
            array_to_json(
              ARRAY[
                r.id::text, r.amount::text, r.method, r.description, r.reference, r.customer_name, r.customer_email,
                r.customer_document, r.br_code, s.receiver::text, r.webhook_url,
                to_char(r.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), c.sequence::text
              ]
            )::text
          FROM charges r LEFT JOIN receivers s ON s.id = r.receiver_id
          WHERE r.id = c.resource_id
        )
      END AS data,
      CASE split_part(c.kind, '.', 1)
        WHEN 'charge' THEN (SELECT trace FROM charges WHERE id = c.resource_id)
        WHEN 'payment' THEN (SELECT trace FROM payouts WHERE id = c.resource_id)
      END AS trace
    FROM leased l JOIN changes c ON c.id = l.change_id LEFT JOIN endpoints w ON w.id = l.endpoint_id
  ) t ON true
ORDER BY t.id;

-- webhooks/fan-out/FanOutStatements.ts roundCandidates
WITH RECURSIVE
  walk AS (
    (
      SELECT account_id
      FROM (SELECT account_id, leased_until FROM outbox WHERE account_id > $1::uuid ORDER BY account_id OFFSET 0) o
      WHERE (leased_until IS NULL OR leased_until <= now())
      LIMIT 1
    )
    UNION ALL
    SELECT
      (
        SELECT account_id
        FROM (SELECT account_id, leased_until FROM outbox WHERE account_id > w.account_id ORDER BY account_id OFFSET 0) o
        WHERE (leased_until IS NULL OR leased_until <= now())
        LIMIT 1
      )
    FROM walk w
    WHERE w.account_id IS NOT NULL
  ), turn AS MATERIALIZED (SELECT account_id FROM walk WHERE account_id IS NOT NULL AND account_id <> ALL ($5::uuid[]) LIMIT 50),
  picked AS MATERIALIZED (
    SELECT o.*, t.share
    FROM
      (
        SELECT
          t.account_id,
          greatest(1, least($2::integer / s.accounts, $3::integer / (s.accounts * (1 + coalesce(n.live, 0))))) AS share
        FROM
          turn t
          CROSS JOIN (SELECT count(*) AS accounts FROM turn) s
          LEFT JOIN webhook_endpoint_counters n ON n.account_id = t.account_id
      ) t
      CROSS JOIN LATERAL (
        SELECT
          account_id, change_id, endpoints_version, normalized_hash, destination_hash, leased_until IS NULL
          AND false AS may_be_leased
        FROM outbox
        WHERE account_id = t.account_id AND change_id <> ALL ($4::uuid[]) AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY change_id
        LIMIT t.share
      ) o
  )
SELECT account_id, change_id, (SELECT account_id FROM turn OFFSET 49 LIMIT 1) AS last_account
FROM picked;

-- webhooks/queue/DeliveryClaims.ts claim
WITH
  due AS MATERIALIZED (
    SELECT id, endpoint_id, change_id, account_id, destination_hash
    FROM deliveries
    WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid AND coalesce(due_at, 'infinity') <= now()
    FOR UPDATE SKIP LOCKED
  ),
  endpoints AS MATERIALIZED (
    SELECT id, application_id, url, destination, destination_hash, secret, active AND disabled_at IS NULL AS active, deleted_at
    FROM webhook_endpoints
    WHERE id = ANY (ARRAY(SELECT endpoint_id FROM due))
    FOR SHARE SKIP LOCKED
  ),
  locked AS MATERIALIZED (
    SELECT u.id, u.account_id, u.destination_hash
    FROM due u
    WHERE
      u.endpoint_id IS NOT NULL
      AND (u.endpoint_id IN (SELECT id FROM endpoints)) IS FALSE
      AND EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = u.endpoint_id)
  ),
  joined AS MATERIALIZED (
    SELECT
      u.id, u.account_id, u.destination_hash AS previous_hash, w.url, w.destination, w.destination_hash, w.secret,
      coalesce(w.application_id, c.application_id) AS application_id, c.created_at, c.sequence,
      CASE
        WHEN left(c.data, 1) <> '[' THEN c.data
        ELSE c.data || E'\n' || (
          SELECT
            array_to_json(
              ARRAY[
                r.id::text, r.amount::text, r.method, r.description, r.reference, r.customer_name, r.customer_email,
                r.customer_document, r.br_code, s.receiver::text, r.webhook_url,
                to_char(r.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), c.sequence::text
              ]
            )::text
          FROM charges r LEFT JOIN receivers s ON s.id = r.receiver_id
          WHERE r.id = c.resource_id
        )
      END AS data,
      CASE split_part(c.kind, '.', 1)
        WHEN 'charge' THEN (SELECT trace FROM charges WHERE id = c.resource_id)
        WHEN 'payment' THEN (SELECT trace FROM payouts WHERE id = c.resource_id)
      END AS trace, CASE WHEN c.id IS NULL THEN 'event gone' WHEN w.deleted_at IS NOT NULL THEN 'endpoint deleted'
      END AS end_reason, coalesce(w.active, true) AS is_endpoint_active
    FROM due u LEFT JOIN endpoints w ON w.id = u.endpoint_id LEFT JOIN changes c ON c.id = u.change_id
    WHERE (u.id IN (SELECT id FROM locked)) IS FALSE
  ),
  checked AS MATERIALIZED (
    SELECT
      *, is_endpoint_active
      AND (
        account_id <> ALL (
          ARRAY(SELECT o.id FROM accounts o WHERE o.id = ANY (ARRAY(SELECT account_id FROM joined)) AND o.status <> 'active')
        )
        AND (
          application_id = ANY (
            ARRAY(SELECT o.id FROM applications o WHERE o.id = ANY (ARRAY(SELECT application_id FROM joined)) AND NOT o.active)
          )
        ) IS NOT TRUE
      ) AS active
    FROM joined
  ),
  claimed AS (
    UPDATE deliveries d
    SET
      status = CASE WHEN j.end_reason IS NOT NULL THEN 'canceled' WHEN NOT j.active THEN 'scheduled' ELSE 'delivering'
      END, due_at = CASE WHEN j.end_reason IS NULL AND j.active THEN now() + $3::double precision * interval '1 millisecond'
      END, paused_due_at = CASE WHEN j.end_reason IS NULL AND NOT j.active THEN d.due_at
      END, reason = j.end_reason, application_id = j.application_id, url = coalesce(j.url, d.url),
      destination = coalesce(j.destination, d.destination), destination_hash = coalesce(j.destination_hash, d.destination_hash)
    FROM checked j
    WHERE d.id = j.id AND d.id >= $2::uuid
    RETURNING
      d.id, d.status, d.event, d.account_id, d.resource_id, d.endpoint_id, d.url, d.destination_hash, j.previous_hash,
      CASE WHEN d.endpoint_id IS NULL THEN d.secret ELSE j.secret
      END AS secret, d.attempts_made, d.curve_from, j.created_at, j.sequence, j.data, j.trace
  )
SELECT
  t.*, (SELECT json_agg(DISTINCT account_id || '/' || destination_hash) FROM locked) AS locked,
  set_config('synchronous_commit', CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'off' ELSE 'on' END, true)
FROM (SELECT 1) one LEFT JOIN claimed t ON true
ORDER BY t.id;

-- webhooks/queue/DeliveryClaims.ts look
WITH
  newly_due AS MATERIALIZED (
    SELECT id, account_id, destination_hash, due_at
    FROM deliveries
    WHERE
      status IN ('scheduled', 'delivering')
      AND due_at IS NOT NULL
      AND attempts_made = 0
      AND id >= CASE
        WHEN $3::boolean THEN '00000000-0000-0000-0000-000000000000'
        ELSE (
          lpad(to_hex((extract(epoch FROM now() - interval '38 days') * 1000)::bigint), 12, '0') || '70008000000000000000'
        )::uuid
      END
      AND due_at <= now()
      AND (due_at, id) > (coalesce($1::text::timestamptz, now()), $2::uuid)
    ORDER BY due_at, id
    LIMIT (SELECT 300)
  ),
  due AS MATERIALIZED (
    SELECT id, account_id, destination_hash, due_at, true AS is_newly_due
    FROM newly_due
    WHERE id <> ALL ($7::uuid[])
    UNION ALL
    SELECT t.id, b.account_id, b.destination_hash, t.due_at, false
    FROM
      unnest($4::uuid[], $5::uuid[]) AS b (account_id, destination_hash)
      CROSS JOIN LATERAL (
        SELECT id, due_at
        FROM deliveries
        WHERE
          status IN ('scheduled', 'delivering')
          AND due_at IS NOT NULL
          AND attempts_made = 0
          AND account_id = b.account_id
          AND destination_hash = b.destination_hash
          AND due_at <= now()
          AND id <> ALL ($7::uuid[])
        ORDER BY due_at
        LIMIT $6::integer
      ) t
  ),
  reached AS (
    SELECT due_at, id, false AS is_caught_up
    FROM (SELECT due_at, id FROM newly_due ORDER BY due_at, id OFFSET 299) last
    UNION ALL
    SELECT now() - interval '100 milliseconds', '00000000-0000-0000-0000-000000000000', true
    LIMIT 1
  )
SELECT
  r.due_at::text AS reached_due_at, r.id AS reached_id, r.is_caught_up,
  (
    SELECT extract(epoch FROM due_at - now())::double precision * 1000
    FROM deliveries
    WHERE
      status IN ('scheduled', 'delivering')
      AND due_at IS NOT NULL
      AND attempts_made = 0
      AND id >= CASE
        WHEN $3::boolean THEN '00000000-0000-0000-0000-000000000000'
        ELSE (
          lpad(to_hex((extract(epoch FROM now() - interval '38 days') * 1000)::bigint), 12, '0') || '70008000000000000000'
        )::uuid
      END
      AND due_at > now()
    ORDER BY due_at
    LIMIT 1
  ) AS next_in_ms,
  (SELECT json_agg(json_build_array(id, account_id || '/' || destination_hash, is_newly_due) ORDER BY due_at, id) FROM due) AS due
FROM reached r;

-- webhooks/queue/DeliveryClaims.ts look
WITH
  newly_due AS MATERIALIZED (
    SELECT id, account_id, destination_hash, due_at
    FROM deliveries
    WHERE
      status IN ('scheduled', 'delivering')
      AND due_at IS NOT NULL
      AND attempts_made > 0
      AND id >= CASE
        WHEN $3::boolean THEN '00000000-0000-0000-0000-000000000000'
        ELSE (
          lpad(to_hex((extract(epoch FROM now() - interval '38 days') * 1000)::bigint), 12, '0') || '70008000000000000000'
        )::uuid
      END
      AND due_at <= now()
      AND (due_at, id) > (coalesce($1::text::timestamptz, now()), $2::uuid)
    ORDER BY due_at, id
    LIMIT (SELECT 300)
  ),
  due AS MATERIALIZED (
    SELECT id, account_id, destination_hash, due_at, true AS is_newly_due
    FROM newly_due
    WHERE id <> ALL ($7::uuid[])
    UNION ALL
    SELECT t.id, b.account_id, b.destination_hash, t.due_at, false
    FROM
      unnest($4::uuid[], $5::uuid[]) AS b (account_id, destination_hash)
      CROSS JOIN LATERAL (
        SELECT id, due_at
        FROM deliveries
        WHERE
          status IN ('scheduled', 'delivering')
          AND due_at IS NOT NULL
          AND attempts_made > 0
          AND account_id = b.account_id
          AND destination_hash = b.destination_hash
          AND due_at <= now()
          AND id <> ALL ($7::uuid[])
        ORDER BY due_at
        LIMIT $6::integer
      ) t
  ),
  reached AS (
    SELECT due_at, id, false AS is_caught_up
    FROM (SELECT due_at, id FROM newly_due ORDER BY due_at, id OFFSET 299) last
    UNION ALL
    SELECT now() - interval '100 milliseconds', '00000000-0000-0000-0000-000000000000', true
    LIMIT 1
  )
SELECT
  r.due_at::text AS reached_due_at, r.id AS reached_id, r.is_caught_up,
  (
    SELECT extract(epoch FROM due_at - now())::double precision * 1000
    FROM deliveries
    WHERE
      status IN ('scheduled', 'delivering')
      AND due_at IS NOT NULL
      AND attempts_made > 0
      AND id >= CASE
        WHEN $3::boolean THEN '00000000-0000-0000-0000-000000000000'
        ELSE (
          lpad(to_hex((extract(epoch FROM now() - interval '38 days') * 1000)::bigint), 12, '0') || '70008000000000000000'
        )::uuid
      END
      AND due_at > now()
    ORDER BY due_at
    LIMIT 1
  ) AS next_in_ms,
  (SELECT json_agg(json_build_array(id, account_id || '/' || destination_hash, is_newly_due) ORDER BY due_at, id) FROM due) AS due
FROM reached r;

-- webhooks/queue/DeliverySweeps.ts sweep
WITH RECURSIVE
  tenants AS (
    (
      SELECT account_id
      FROM deliveries
      WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0 AND account_id > $1::uuid
      ORDER BY account_id
      LIMIT 1
    )
    UNION ALL
    SELECT
      (
        SELECT n.account_id
        FROM deliveries n
        WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0 AND n.account_id > t.account_id
        ORDER BY n.account_id
        LIMIT 1
      )
    FROM tenants t
    WHERE t.account_id IS NOT NULL
  ), resumed AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::uuid[]) AS r (account_id, destination_hash)),
  visited AS MATERIALIZED (
    SELECT t.account_id, b.destination_hash, b.nth
    FROM
      tenants t
      CROSS JOIN LATERAL (
        WITH RECURSIVE
          steps AS (
            (
              SELECT destination_hash, 1 AS nth
              FROM deliveries
              WHERE
                status IN ('scheduled', 'delivering')
                AND due_at IS NOT NULL
                AND attempts_made = 0
                AND account_id = t.account_id
                AND destination_hash >= coalesce(
                  (SELECT r.destination_hash FROM resumed r WHERE r.account_id = t.account_id),
                  '00000000-0000-0000-0000-000000000000'
                )
              ORDER BY destination_hash
              LIMIT 1
            )
            UNION ALL
            SELECT
              (
                SELECT n.destination_hash
                FROM deliveries n
                WHERE
                  status IN ('scheduled', 'delivering')
                  AND due_at IS NOT NULL
                  AND attempts_made = 0
                  AND n.account_id = t.account_id
                  AND n.destination_hash > s.destination_hash
                ORDER BY n.destination_hash
                LIMIT 1
              ), s.nth + 1
            FROM steps s
            WHERE s.destination_hash IS NOT NULL AND s.nth < 20
          )
        SELECT destination_hash, nth
        FROM steps
      ) b
    WHERE t.account_id IS NOT NULL
    LIMIT 2000
  ),
  due AS (
    SELECT v.account_id, v.destination_hash
    FROM
      visited v
      CROSS JOIN LATERAL (
        SELECT
        FROM deliveries
        WHERE
          status IN ('scheduled', 'delivering')
          AND due_at IS NOT NULL
          AND attempts_made = 0
          AND account_id = v.account_id
          AND destination_hash = v.destination_hash
          AND due_at <= now()
        LIMIT 1
      ) d
    WHERE v.destination_hash IS NOT NULL
  )
SELECT
  l.account_id AS last_account, (SELECT json_agg(account_id || '/' || destination_hash) FROM due) AS due,
  (
    SELECT json_agg(account_id || '/' || destination_hash)
    FROM visited
    WHERE destination_hash IS NOT NULL AND (nth = 20 OR (account_id = l.account_id AND destination_hash = l.destination_hash))
  ) AS unfinished
FROM (SELECT 1) one LEFT JOIN (SELECT account_id, destination_hash FROM visited OFFSET 1999 LIMIT 1) l ON true;

-- webhooks/queue/DeliverySweeps.ts sweep
WITH RECURSIVE
  tenants AS (
    (
      SELECT account_id
      FROM deliveries
      WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0 AND account_id > $1::uuid
      ORDER BY account_id
      LIMIT 1
    )
    UNION ALL
    SELECT
      (
        SELECT n.account_id
        FROM deliveries n
        WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0 AND n.account_id > t.account_id
        ORDER BY n.account_id
        LIMIT 1
      )
    FROM tenants t
    WHERE t.account_id IS NOT NULL
  ), resumed AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::uuid[]) AS r (account_id, destination_hash)),
  visited AS MATERIALIZED (
    SELECT t.account_id, b.destination_hash, b.nth
    FROM
      tenants t
      CROSS JOIN LATERAL (
        WITH RECURSIVE
          steps AS (
            (
              SELECT destination_hash, 1 AS nth
              FROM deliveries
              WHERE
                status IN ('scheduled', 'delivering')
                AND due_at IS NOT NULL
                AND attempts_made > 0
                AND account_id = t.account_id
                AND destination_hash >= coalesce(
                  (SELECT r.destination_hash FROM resumed r WHERE r.account_id = t.account_id),
                  '00000000-0000-0000-0000-000000000000'
                )
              ORDER BY destination_hash
              LIMIT 1
            )
            UNION ALL
            SELECT
              (
                SELECT n.destination_hash
                FROM deliveries n
                WHERE
                  status IN ('scheduled', 'delivering')
                  AND due_at IS NOT NULL
                  AND attempts_made > 0
                  AND n.account_id = t.account_id
                  AND n.destination_hash > s.destination_hash
                ORDER BY n.destination_hash
                LIMIT 1
              ), s.nth + 1
            FROM steps s
            WHERE s.destination_hash IS NOT NULL AND s.nth < 20
          )
        SELECT destination_hash, nth
        FROM steps
      ) b
    WHERE t.account_id IS NOT NULL
    LIMIT 2000
  ),
  due AS (
    SELECT v.account_id, v.destination_hash
    FROM
      visited v
      CROSS JOIN LATERAL (
        SELECT
        FROM deliveries
        WHERE
          status IN ('scheduled', 'delivering')
          AND due_at IS NOT NULL
          AND attempts_made > 0
          AND account_id = v.account_id
          AND destination_hash = v.destination_hash
          AND due_at <= now()
        LIMIT 1
      ) d
    WHERE v.destination_hash IS NOT NULL
  )
SELECT
  l.account_id AS last_account, (SELECT json_agg(account_id || '/' || destination_hash) FROM due) AS due,
  (
    SELECT json_agg(account_id || '/' || destination_hash)
    FROM visited
    WHERE destination_hash IS NOT NULL AND (nth = 20 OR (account_id = l.account_id AND destination_hash = l.destination_hash))
  ) AS unfinished
FROM (SELECT 1) one LEFT JOIN (SELECT account_id, destination_hash FROM visited OFFSET 1999 LIMIT 1) l ON true;

-- webhooks/queue/LeasedChangeStatements.ts endLeases
UPDATE outbox
SET leased_until = '-infinity'
WHERE
  (account_id, change_id) IN (
    SELECT *
    FROM (SELECT account_id, change_id FROM unnest($1::uuid[], $2::uuid[]) AS t (account_id, change_id)) AS c
  );

-- webhooks/queue/LeasedChangeStatements.ts storedBy
WITH
  input AS MATERIALIZED (
    SELECT *
    FROM
      (
        SELECT
          delivery_id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, origin, destination_hash,
          secret, created_at, status, due_in_ms, attempts_made, fits_delivery, attempt_id, at, duration_ms, address, status_code,
          error, response_body
        FROM
          unnest(
            $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $8::text[], $9::text[], $10::uuid[],
            $11::text[], $12::timestamptz[], $13::text[], $14::float8[], $15::integer[], $16::boolean[], $17::uuid[],
            $18::timestamptz[], $19::integer[], $20::text[], $21::integer[], $22::text[], $23::text[]
          ) AS t (
            delivery_id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, origin, destination_hash,
            secret, created_at, status, due_in_ms, attempts_made, fits_delivery, attempt_id, at, duration_ms, address, status_code,
            error, response_body
          )
      ) i
  ),
  inserted AS (
    INSERT INTO
      deliveries (
        id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, secret,
        created_at, status, due_at, attempts_made, first_attempt_at, first_duration_ms, first_status_code, first_address,
        first_response_body
      )
    SELECT
      delivery_id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, origin, destination_hash, secret,
      created_at, status, now() + due_in_ms * interval '1 millisecond', attempts_made, CASE WHEN fits_delivery THEN at
      END, CASE WHEN fits_delivery THEN duration_ms
      END, CASE WHEN fits_delivery THEN status_code
      END, CASE WHEN fits_delivery THEN address
      END, CASE WHEN fits_delivery THEN response_body
      END
    FROM input
    RETURNING id
  ),
  fanned_out AS (
    DELETE FROM outbox
    WHERE
      (account_id, change_id) IN (
        SELECT *
        FROM (SELECT account_id, change_id FROM unnest($24::uuid[], $25::uuid[]) AS t (account_id, change_id)) AS c
      )
  ),
  health_input AS MATERIALIZED (
    SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
    FROM
      (
        SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
        FROM
          unnest($26::uuid[], $27::integer[], $28::bigint[], $29::bigint[], $30::timestamptz[], $31::timestamptz[]) AS t (endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at)
      ) i
  ),
  health_updated AS (
    UPDATE webhook_endpoint_health t
    SET
      consecutive_failures = i.consecutive_failures + CASE WHEN i.successes = 0 THEN t.consecutive_failures ELSE 0
      END, successes = t.successes + i.successes, failures = t.failures + i.failures,
      last_success_at = greatest(t.last_success_at, i.last_success_at),
      last_failure_at = greatest(t.last_failure_at, i.last_failure_at)
    FROM health_input i
    WHERE t.endpoint_id = i.endpoint_id AND (SELECT count(*) FROM health_input) = 1
    RETURNING true
  ),
  health_added AS (
    INSERT INTO
      webhook_endpoint_health AS t (endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at)
    SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
    FROM health_input
    WHERE NOT EXISTS (SELECT FROM health_updated)
    ORDER BY endpoint_id
    ON CONFLICT (endpoint_id) DO UPDATE
    SET
      consecutive_failures = excluded.consecutive_failures + CASE WHEN excluded.successes = 0 THEN t.consecutive_failures ELSE 0
      END, successes = t.successes + excluded.successes, failures = t.failures + excluded.failures,
      last_success_at = greatest(t.last_success_at, excluded.last_success_at),
      last_failure_at = greatest(t.last_failure_at, excluded.last_failure_at)
  ),
  totals_input AS MATERIALIZED (
    SELECT account_id, date, attempts, successes
    FROM
      (
        SELECT *, (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date AS date
        FROM
          (
            SELECT account_id, attempts, successes
            FROM unnest($32::uuid[], $33::bigint[], $34::bigint[]) AS t (account_id, attempts, successes)
          ) t
      ) i
  ),
  totals_updated AS (
    UPDATE delivery_totals t
    SET attempts = t.attempts + i.attempts, successes = t.successes + i.successes
    FROM totals_input i
    WHERE t.account_id = i.account_id AND t.date = i.date AND (SELECT count(*) FROM totals_input) = 1
    RETURNING true
  ),
  totals_added AS (
    INSERT INTO delivery_totals AS t (account_id, date, attempts, successes)
    SELECT account_id, date, attempts, successes
    FROM totals_input
    WHERE NOT EXISTS (SELECT FROM totals_updated)
    ORDER BY account_id, date
    ON CONFLICT (account_id, date) DO UPDATE
    SET attempts = t.attempts + excluded.attempts, successes = t.successes + excluded.successes
  )
INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms, address, status_code, error, response_body)
SELECT attempt_id, delivery_id, at, duration_ms, address, status_code, error, response_body
FROM input
WHERE attempt_id IS NOT NULL AND (NOT fits_delivery OR delivery_id NOT IN (SELECT id FROM inserted));

-- webhooks/queue/LeasedChangeStatements.ts storedBy
WITH
  input AS MATERIALIZED (
    SELECT *
    FROM
      (
        SELECT
          delivery_id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, origin, destination_hash,
          secret, created_at, status, due_in_ms, attempts_made, fits_delivery, attempt_id, at, duration_ms, address, status_code,
          error, response_body
        FROM
          unnest(
            $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $8::text[], $9::text[], $10::uuid[],
            $11::text[], $12::timestamptz[], $13::text[], $14::float8[], $15::integer[], $16::boolean[], $17::uuid[],
            $18::timestamptz[], $19::integer[], $20::text[], $21::integer[], $22::text[], $23::text[]
          ) AS t (
            delivery_id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, origin, destination_hash,
            secret, created_at, status, due_in_ms, attempts_made, fits_delivery, attempt_id, at, duration_ms, address, status_code,
            error, response_body
          )
      ) i
  ),
  inserted AS (
    INSERT INTO
      deliveries (
        id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash, secret,
        created_at, status, due_at, attempts_made, first_attempt_at, first_duration_ms, first_status_code, first_address,
        first_response_body
      )
    SELECT
      delivery_id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, origin, destination_hash, secret,
      created_at, status, now() + due_in_ms * interval '1 millisecond', attempts_made, CASE WHEN fits_delivery THEN at
      END, CASE WHEN fits_delivery THEN duration_ms
      END, CASE WHEN fits_delivery THEN status_code
      END, CASE WHEN fits_delivery THEN address
      END, CASE WHEN fits_delivery THEN response_body
      END
    FROM input
    ON CONFLICT (id) DO NOTHING
    RETURNING id
  ),
  fanned_out AS (
    DELETE FROM outbox
    WHERE
      (account_id, change_id) IN (
        SELECT *
        FROM (SELECT account_id, change_id FROM unnest($24::uuid[], $25::uuid[]) AS t (account_id, change_id)) AS c
      )
  ),
  health_input AS MATERIALIZED (
    SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
    FROM
      (
        SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
        FROM
          unnest($26::uuid[], $27::integer[], $28::bigint[], $29::bigint[], $30::timestamptz[], $31::timestamptz[]) AS t (endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at)
      ) i
  ),
  health_updated AS (
    UPDATE webhook_endpoint_health t
    SET
      consecutive_failures = i.consecutive_failures + CASE WHEN i.successes = 0 THEN t.consecutive_failures ELSE 0
      END, successes = t.successes + i.successes, failures = t.failures + i.failures,
      last_success_at = greatest(t.last_success_at, i.last_success_at),
      last_failure_at = greatest(t.last_failure_at, i.last_failure_at)
    FROM health_input i
    WHERE t.endpoint_id = i.endpoint_id AND (SELECT count(*) FROM health_input) = 1
    RETURNING true
  ),
  health_added AS (
    INSERT INTO
      webhook_endpoint_health AS t (endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at)
    SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
    FROM health_input
    WHERE NOT EXISTS (SELECT FROM health_updated)
    ORDER BY endpoint_id
    ON CONFLICT (endpoint_id) DO UPDATE
    SET
      consecutive_failures = excluded.consecutive_failures + CASE WHEN excluded.successes = 0 THEN t.consecutive_failures ELSE 0
      END, successes = t.successes + excluded.successes, failures = t.failures + excluded.failures,
      last_success_at = greatest(t.last_success_at, excluded.last_success_at),
      last_failure_at = greatest(t.last_failure_at, excluded.last_failure_at)
  ),
  totals_input AS MATERIALIZED (
    SELECT account_id, date, attempts, successes
    FROM
      (
        SELECT *, (now() AT TIME ZONE(SELECT timezone FROM installation_settings))::date AS date
        FROM
          (
            SELECT account_id, attempts, successes
            FROM unnest($32::uuid[], $33::bigint[], $34::bigint[]) AS t (account_id, attempts, successes)
          ) t
      ) i
  ),
  totals_updated AS (
    UPDATE delivery_totals t
    SET attempts = t.attempts + i.attempts, successes = t.successes + i.successes
    FROM totals_input i
    WHERE t.account_id = i.account_id AND t.date = i.date AND (SELECT count(*) FROM totals_input) = 1
    RETURNING true
  ),
  totals_added AS (
    INSERT INTO delivery_totals AS t (account_id, date, attempts, successes)
    SELECT account_id, date, attempts, successes
    FROM totals_input
    WHERE NOT EXISTS (SELECT FROM totals_updated)
    ORDER BY account_id, date
    ON CONFLICT (account_id, date) DO UPDATE
    SET attempts = t.attempts + excluded.attempts, successes = t.successes + excluded.successes
  )
INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms, address, status_code, error, response_body)
SELECT attempt_id, delivery_id, at, duration_ms, address, status_code, error, response_body
FROM input
WHERE attempt_id IS NOT NULL AND (NOT fits_delivery OR delivery_id NOT IN (SELECT id FROM inserted));
