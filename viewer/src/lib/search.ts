/** How many of the first `length` values of an ascending list are less than `value`. */
export function countBelow(list: ArrayLike<number>, value: number, length = list.length): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many of the first `length` values of an ascending list are at most `value`. */
export function countUpTo(list: ArrayLike<number>, value: number, length = list.length): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
