/** What is there before the data, once that takes longer than a moment. */
export const Skeleton = () => (
  <section class="card skeleton" aria-hidden="true">
    {Array.from({ length: 6 }, (_, index) => (
      <i key={index} />
    ))}
  </section>
)
