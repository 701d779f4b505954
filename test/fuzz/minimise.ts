/**
 * Delta debugging: leaves out of a list whatever is not needed to see the same fault, first in big pieces, then one by one.
 */

/**
 * The smallest list found that `fails` still says true of.
 *
 * @param fails whether a list shows the fault
 * @param budget how many times it may be asked
 */
export async function minimise<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  budget: number,
): Promise<T[]> {
  let smallest = [...items]
  let left = budget
  let size = Math.ceil(smallest.length / 2)
  for (;;) {
    let shrunk = false
    for (let end = smallest.length; end > 0; end -= size) {
      if (left-- <= 0) return smallest
      const start = Math.max(0, end - size)
      const without = [...smallest.slice(0, start), ...smallest.slice(end)]
      if (without.length === 0 || !(await fails(without))) continue
      smallest = without
      shrunk = true
    }
    if (size > 1) size = Math.ceil(size / 2)
    else if (!shrunk) return smallest
  }
}
