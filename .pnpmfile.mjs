/**
 * What a published manifest leaves out: the packages of this workspace, which are bundled, and what builds and tests it.
 */
export const hooks = {
  beforePacking: ({ dependencies = {}, devDependencies: _dev, scripts: _scripts, ...manifest }) => {
    const published = Object.entries(dependencies).filter(([name]) => !name.startsWith("@pix-payments/"))
    return published.length === 0 ? manifest : { ...manifest, dependencies: Object.fromEntries(published) }
  }
}
