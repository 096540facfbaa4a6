/** The content of a file in base64. Rejects where the browser cannot read it. */
export const base64Of = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)))
    // `data:text/plain;base64,…`
    reader.addEventListener("load", () => resolve(String(reader.result).replace(/^[^,]*,/, "")))
    reader.readAsDataURL(file)
  })
