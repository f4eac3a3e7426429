/**
 * Places the nodes of a network. Flows go from left to right: the x of a node is its relative distance from the
 * sender on the shortest paths of flows. Nodes with equal distance form a column, sorted so that few links cross.
 * The layout is deterministic.
 */
export interface Edge {
  from: string;
  to: string;
}

/** Position, from 0 to 1 in both directions. */
export interface Point {
  x: number;
  y: number;
}

const SWEEPS = 12;

export function placeNodes(links: Edge[], flows: Edge[]): Map<string, Point> {
  const neighbors = new Map<string, Set<string>>();
  const connect = (a: string, b: string) => (neighbors.get(a) ?? neighbors.set(a, new Set()).get(a)!).add(b);
  for (const { from, to } of links) {
    connect(from, to);
    connect(to, from);
  }
  const along = distances(neighbors, flows);
  const columns = intoColumns(along);
  sortColumns(columns, neighbors);

  const places = new Map<string, Point>();
  columns.forEach((column, i) => {
    column.forEach((node, j) => {
      places.set(node, { x: columns.length === 1 ? 0.5 : i / (columns.length - 1), y: (j + 0.5) / column.length });
    });
  });
  return places;
}

/** Returns the distance of each node from `start`, in links. */
function hops(neighbors: Map<string, Set<string>>, start: string): Map<string, number> {
  const found = new Map([[start, 0]]);
  // The Map is also the queue: iteration includes entries that are added meanwhile.
  for (const [node, distance] of found)
    for (const next of neighbors.get(node) ?? []) if (!found.has(next)) found.set(next, distance + 1);
  return found;
}

/** Returns the relative distance of each node on the flows: 0 at senders, 1 at receivers. */
function distances(neighbors: Map<string, Set<string>>, flows: Edge[]): Map<string, number> {
  const sums = new Map<string, { sum: number; count: number }>();
  const done = new Set<string>();
  const searches = new Map<string, Map<string, number>>();
  const search = (node: string) => searches.get(node) ?? searches.set(node, hops(neighbors, node)).get(node)!;
  for (const { from, to } of flows) {
    if (done.has(`${from} ${to}`) || !neighbors.has(from) || !neighbors.has(to)) continue;
    done.add(`${from} ${to}`);
    const fromStart = search(from);
    const toEnd = search(to);
    const length = fromStart.get(to);
    if (!length) continue;
    const path: [string, number][] = [];
    for (const [node, distance] of fromStart)
      if (distance + (toEnd.get(node) ?? Infinity) === length) path.push([node, distance / length]);
    // Reverse a flow that runs against the previous ones: otherwise both would average to the middle.
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
  // A node without flows is one column next to its neighbor. A network without flows starts at its first node.
  const first = neighbors.keys().next();
  if (along.size === 0 && !first.done) along.set(first.value, 0);
  const step = 1 / (Math.max(...[...search(first.done ? "" : first.value).values()], 1) + 1);
  for (const [node, x] of along)
    for (const next of neighbors.get(node) ?? []) if (!along.has(next)) along.set(next, x + (x < 0.5 ? -step : step));
  for (const node of neighbors.keys()) if (!along.has(node)) along.set(node, 0);
  return along;
}

/** Groups nodes with almost equal distance into columns. */
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

/** Sorts each column by the mean height of the neighbors in other columns, in alternating directions. */
function sortColumns(columns: string[][], neighbors: Map<string, Set<string>>): void {
  const height = new Map<string, number>();
  const spread = (column: string[]) => column.forEach((node, i) => height.set(node, (i + 0.5) / column.length));
  columns.forEach(spread);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const order = sweep % 2 === 0 ? columns : [...columns].reverse();
    for (const column of order) {
      const target = new Map<string, number>();
      for (const node of column) {
        const others = [...(neighbors.get(node) ?? [])].filter((other) => !column.includes(other));
        const sum = others.reduce((total, other) => total + height.get(other)!, 0);
        target.set(node, others.length > 0 ? sum / others.length : height.get(node)!);
      }
      // Array.sort is stable: nodes with equal targets keep their order.
      column.sort((a, b) => target.get(a)! - target.get(b)!);
      spread(column);
    }
  }
}
