/**
 * Fails any pack or publish that is not pnpm's. Only pnpm applies `publishConfig`; without it, `exports` point to `src`, which
 * is not in the package.
 *
 * Plain JavaScript, so that it runs on any Node.
 */
if (!process.env.npm_config_user_agent?.startsWith("pnpm/")) {
  process.stderr.write(
    "Pack and publish with pnpm (`npx pnpm@12.21.0 publish`): a package made by npm has exports that point to missing files.\n"
  )
  process.exitCode = 1
}
