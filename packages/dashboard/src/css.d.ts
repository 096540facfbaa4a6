/** Styles that a lazy chunk imports: Vite makes a file of them. */
declare module "*.css"
