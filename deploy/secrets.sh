#!/bin/sh
# Makes the secrets of compose.yaml in ./secrets, once. What is there stays. Keep a copy of secrets_keys in another place.
set -eu
umask 077
mkdir -p secrets
cd secrets
[ -e owner_password ] || openssl rand -hex 24 | tr -d '\n' > owner_password
[ -e service_password ] || openssl rand -hex 24 | tr -d '\n' > service_password
[ -e operator_token ] || openssl rand -base64 32 > operator_token
[ -e secrets_keys ] || openssl rand -base64 32 > secrets_keys
rm -f database_url migrations_database_url
printf 'postgres://pix_payments:%s@database:5432/payments' "$(cat service_password)" > database_url
printf 'postgres://pix_payments_owner:%s@database:5432/payments' "$(cat owner_password)" > migrations_database_url
# The engine mounts each file for the user of the image. On this machine nobody else gets into the folder.
chmod 0444 ./*
chmod 0700 .
