/** The words of the page of a dispute. */
import { inBoth } from "../words/Words.ts"

export const disputeWords = inBoth({
  en: {
    order: "By",
    files: "Files",
    filesHint: "Up to 5 files of 5 MB.",
    left: "left for the defense",
    over: "The time for a defense has passed",
    inProgress: "A defense was filed. The provider has not answered yet.",
    underReview: "The defense is under review. The amount stays blocked until the decision.",
    won: (amount: string) => `Decided in our favour: ${amount} are available again.`,
    lost: (amount: string) => `Decided for the payer: ${amount} went back.`,
    hours: (hours: number, minutes: number) => `${hours} h ${minutes} min`,
    days: (days: number, hours: number) => `${days} d ${hours} h`
  },
  pt: {
    order: "Por",
    files: "Arquivos",
    filesHint: "Até 5 arquivos de 5 MB.",
    left: "restam para a defesa",
    over: "O prazo da defesa passou",
    inProgress: "Uma defesa foi enviada. A instituição ainda não respondeu.",
    underReview: "A defesa está em análise. O valor fica bloqueado até a decisão.",
    won: (amount) => `Decidida a nosso favor: ${amount} estão disponíveis de novo.`,
    lost: (amount) => `Decidida pelo pagador: ${amount} voltaram.`,
    hours: (hours, minutes) => `${hours} h ${minutes} min`,
    days: (days, hours) => `${days} d ${hours} h`
  }
})
