#!/bin/sh
# Unpacks Prometheus and promtool from Debian's package for tests, without installing them. Needs apt-get and dpkg.
set -e
cd "$(dirname "$0")/.."
command -v promtool >/dev/null && command -v prometheus >/dev/null && exit 0
to="$PWD/node_modules/.cache/prometheus"
[ -x "$to/usr/bin/promtool" ] && exit 0
from=$(mktemp -d)
trap 'rm -rf "$from"' EXIT
cd "$from"
apt-get update -qq >/dev/null && apt-get download -qq prometheus
dpkg -x prometheus_*.deb "$from/unpacked"
mkdir -p "$to/usr/bin"
mv "$from"/unpacked/usr/bin/prom* "$to/usr/bin/"
