/** Returns the first index in an ascending range of a list whose value is at least `value`. */
export function firstAtLeast(list: ArrayLike<number>, value: number, end = list.length, start = 0): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the first index in an ascending range of a list whose value is above `value`. */
export function firstAbove(list: ArrayLike<number>, value: number, end = list.length, start = 0): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
