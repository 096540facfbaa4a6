/** A file as `data:text/plain;base64,…`. Rejects where the browser cannot read it. */
export const dataUrlOf = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)))
    reader.addEventListener("load", () => resolve(String(reader.result)))
    reader.readAsDataURL(file)
  })

/** The content of a file in base64. Rejects where the browser cannot read it. */
export const base64Of = async (file: File): Promise<string> => (await dataUrlOf(file)).replace(/^[^,]*,/, "")
