/**
 * Ends any packing but pnpm's: only pnpm puts `publishConfig` into the manifest, so that what another packs would have
 * its `exports` in `src`, which is not in the package.
 *
 * Plain JavaScript, for whichever Node somebody packs with.
 */
if (!process.env.npm_config_user_agent?.startsWith("pnpm/")) {
  process.stderr.write(
    "@pix-payments/client is packed and published by pnpm alone (`npx pnpm@12.21.0 publish`): what npm makes of it has exports that point to no file.\n"
  )
  process.exitCode = 1
}
