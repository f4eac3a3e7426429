/**
 * Places nodes: flows go from left to right, each node stands as far along as it lies on the shortest paths of flows, and nodes that are
 * equally far stand in one column, sorted so that few links cross. The same network gives the same picture.
 */
export interface Edge {
  from: string;
  to: string;
}

/** From 0 to 1 in both directions. */
export interface Point {
  x: number;
  y: number;
}

const SWEEPS = 12;

export function placeNodes(links: Edge[], flows: Edge[]): Map<string, Point> {
  const neighbours = new Map<string, Set<string>>();
  const meet = (a: string, b: string) => (neighbours.get(a) ?? neighbours.set(a, new Set()).get(a)!).add(b);
  for (const { from, to } of links) {
    meet(from, to);
    meet(to, from);
  }
  const along = distances(neighbours, flows);
  const columns = intoColumns(along);
  sortColumns(columns, neighbours);

  const places = new Map<string, Point>();
  columns.forEach((column, i) => {
    column.forEach((node, j) => {
      places.set(node, { x: columns.length === 1 ? 0.5 : i / (columns.length - 1), y: (j + 0.5) / column.length });
    });
  });
  return places;
}

/** How many links each node is away from `start`. */
function hops(neighbours: Map<string, Set<string>>, start: string): Map<string, number> {
  const found = new Map([[start, 0]]);
  // A Map hands over what is added to it while it is walked: it is the queue, too.
  for (const [node, distance] of found)
    for (const next of neighbours.get(node) ?? []) if (!found.has(next)) found.set(next, distance + 1);
  return found;
}

/** For each node, how far along the flows it lies: 0 at senders, 1 at receivers. */
function distances(neighbours: Map<string, Set<string>>, flows: Edge[]): Map<string, number> {
  const sums = new Map<string, { sum: number; count: number }>();
  const done = new Set<string>();
  const searches = new Map<string, Map<string, number>>();
  const search = (node: string) => searches.get(node) ?? searches.set(node, hops(neighbours, node)).get(node)!;
  for (const { from, to } of flows) {
    if (done.has(`${from} ${to}`) || !neighbours.has(from) || !neighbours.has(to)) continue;
    done.add(`${from} ${to}`);
    const ahead = search(from);
    const behind = search(to);
    const length = ahead.get(to);
    if (!length) continue;
    const path: [string, number][] = [];
    for (const [node, distance] of ahead)
      if (distance + (behind.get(node) ?? Infinity) === length) path.push([node, distance / length]);
    // A flow that goes against those before it counts the other way round, or both would meet in the middle.
    let against = 0;
    for (const [node, x] of path) {
      const known = sums.get(node);
      if (known) against += (known.sum / known.count - 0.5) * (x - 0.5);
    }
    for (const [node, x] of path) {
      const known = sums.get(node) ?? sums.set(node, { sum: 0, count: 0 }).get(node)!;
      known.sum += against < 0 ? 1 - x : x;
      known.count++;
    }
  }
  const along = new Map<string, number>();
  for (const [node, { sum, count }] of sums) along.set(node, sum / count);
  // What no flow crosses stands one column beside what it hangs on; a network without flows starts at its first node.
  const first = neighbours.keys().next();
  if (along.size === 0 && !first.done) along.set(first.value, 0);
  const step = 1 / (Math.max(...[...search(first.done ? "" : first.value).values()], 1) + 1);
  for (const [node, x] of along)
    for (const next of neighbours.get(node) ?? []) if (!along.has(next)) along.set(next, x + (x < 0.5 ? -step : step));
  for (const node of neighbours.keys()) if (!along.has(node)) along.set(node, 0);
  return along;
}

/** Nodes that are almost equally far along share a column. */
function intoColumns(along: Map<string, number>): string[][] {
  const sorted = [...along].sort((a, b) => a[1] - b[1]);
  const columns: string[][] = [];
  let last = -Infinity;
  for (const [node, x] of sorted) {
    if (x - last > 0.04) columns.push([]);
    last = x;
    columns.at(-1)!.push(node);
  }
  return columns;
}

/** Each node moves to the mean height of those that it is linked to, forth and back. */
function sortColumns(columns: string[][], neighbours: Map<string, Set<string>>): void {
  const height = new Map<string, number>();
  const spread = (column: string[]) => column.forEach((node, i) => height.set(node, (i + 0.5) / column.length));
  columns.forEach(spread);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const order = sweep % 2 === 0 ? columns : [...columns].reverse();
    for (const column of order) {
      const wish = new Map<string, number>();
      for (const node of column) {
        const others = [...(neighbours.get(node) ?? [])].filter((other) => !column.includes(other));
        const sum = others.reduce((total, other) => total + height.get(other)!, 0);
        wish.set(node, others.length > 0 ? sum / others.length : height.get(node)!);
      }
      // Array.sort is stable: equal wishes keep their order, so the picture does not depend on the sweep it stopped at.
      column.sort((a, b) => wish.get(a)! - wish.get(b)!);
      spread(column);
    }
  }
}
