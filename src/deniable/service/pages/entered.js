/** What somebody has entered, while what surrounds it is made anew, in another language. It stays on the page. */

const fields = (place) => [...place.querySelectorAll("input[id], textarea[id], select[id]")];

/** Do work that makes the inside of an element anew, and put back what its fields had, and which parts were open. */
export async function kept(place, work) {
  const before = new Map(fields(place).map((one) => [one.id, [one.value, one.closest("details")?.open]]));
  await work();
  for (const one of fields(place)) {
    const [value, open] = before.get(one.id) ?? [];
    if (value !== undefined) one.value = value;
    if (open) one.closest("details").open = true;
  }
}
