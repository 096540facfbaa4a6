#!/bin/sh
# The database image runs this once, on an empty volume. It creates the service's role, which owns nothing.
# The migrate step grants its privileges: packages/server/src/schema/Privileges.ts.
set -eu
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  -v password="$(cat /run/secrets/service_password)" -v database="$POSTGRES_DB" <<'SQL'
CREATE ROLE pix_payments LOGIN PASSWORD :'password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION;
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO pix_payments;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
SQL
