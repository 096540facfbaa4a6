/**
 * What a published manifest leaves out: what only this workspace needs to build and test a package.
 */
export const hooks = {
  beforePacking: ({ devDependencies: _dev, scripts: _scripts, ...manifest }) => manifest
}
