#!/usr/bin/env bash
# Raises the versions and writes the changelogs. The client's generated code names its version.
set -euo pipefail
cd "$(dirname "$0")/.."
.changeset/node_modules/.bin/changeset version
pnpm run client:generate
