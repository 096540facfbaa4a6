#!/bin/sh
# A dump every day, the last seven kept. Each is there under its name only once it is complete.
set -eu
PGPASSWORD=$(cat /run/secrets/owner_password)
export PGPASSWORD
while true; do
  name="payments-$(date -u +%Y-%m-%dT%H%M%SZ).dump"
  if pg_dump --format=custom --file="/backups/.$name" && pg_restore --list "/backups/.$name" > /dev/null; then
    mv "/backups/.$name" "/backups/$name"
    ls -1 /backups/payments-*.dump | sort | head -n -7 | xargs -r rm --
  else
    echo "the backup failed" >&2
    rm -f "/backups/.$name"
  fi
  sleep 86400
done
