# The server, the migrate step and the command line in one image. All settings come from the environment:
# docs/operations/install.md. ACQUIRER and, with DATABASE_URL, OPERATOR_TOKEN and SECRETS_KEYS must be set: then a server writes to standard
# output only, and the file system can be read-only.
# The release workflow gives the digest.
ARG NODE=node:26-bookworm-slim
FROM ${NODE} AS build
WORKDIR /app
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.mjs tsconfig.base.json ./
COPY patches patches
COPY packages/domain/package.json packages/domain/tsconfig.json packages/domain/
COPY packages/api/package.json packages/api/tsconfig.json packages/api/
COPY packages/embedded-postgres/package.json packages/embedded-postgres/
COPY packages/api-pix/package.json packages/api-pix/
COPY packages/server/package.json packages/server/
COPY packages/dashboard/package.json packages/dashboard/
# No script of a dependency runs.
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --prod --ignore-scripts \
  --filter "@pix-payments/server..." --filter "@pix-payments/dashboard..."
COPY scripts/builds.mjs scripts/
COPY packages/domain/src packages/domain/src
COPY packages/api/src packages/api/src
COPY packages/embedded-postgres/src packages/embedded-postgres/src
COPY packages/api-pix/src packages/api-pix/src
COPY packages/dashboard packages/dashboard
COPY packages/server/build.mjs packages/server/
COPY packages/server/src packages/server/src
RUN node packages/dashboard/build.mjs && node packages/server/build.mjs

# The built programs contain the packages that they import.
FROM ${NODE}
ENV NODE_ENV=production LOG_FORMAT=json HOST=0.0.0.0 OPERATOR_HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app/packages/server/package.json packages/server/
COPY --from=build /app/packages/server/dist packages/server/dist
COPY --from=build /app/packages/dashboard/dist packages/dashboard/dist
USER node
EXPOSE 3000 3001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.OPERATOR_PORT ?? 3001) + '/health/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=16", "packages/server/dist/main.js"]
