/**
 * Describes the look of a page coarsely: each block (a panel, a chart) is a grid of cells with the amount of ink
 * and color. With another font the ink is in almost the same cells; without a panel or a curve the cells are
 * empty.
 */
import type { Page } from "playwright-core";

/** About the height of a line of text. */
const CELL_PX = 20;

/** A panel with charts is represented by its charts. */
const BLOCKS = "header, .panel:not(:has([data-chart])), .stage, .marks, [data-chart], .bar";

export interface Block {
  name: string;
  /** Distance from the left of the page, in cells. */
  left: number;
  /** Brightness of the background, from 0 to 9. */
  paper: number;
  /** Amount in each cell, from 0 to 9, row by row. */
  ink: number[][];
  color: number[][];
}

/** Returns the current look of the page. The window must contain the whole page. */
export async function look(page: Page): Promise<Block[]> {
  const boxes = await page.locator(BLOCKS).evaluateAll((blocks) =>
    blocks.flatMap((block) => {
      const { x, y, width, height } = block.getBoundingClientRect();
      const kind = ["header", ".bar", ".stage", ".marks"].find((kind) => block.matches(kind)) ?? "";
      const panel = block.closest("[id]:not(#page)")?.id;
      const name = block.getAttribute("data-chart") ?? [panel, kind.replace(".", "")].filter(Boolean).join(", ");
      const [left, top, wide, high] = [x, y, width, height].map(Math.round);
      return wide > 0 && high > 0 ? [{ name, left, top, wide, high }] : [];
    }),
  );
  const picture = (await page.screenshot({ animations: "disabled", caret: "hide" })).toString("base64");
  return page.evaluate(reduce, { picture, boxes, cell: CELL_PX });
}

/** Runs in the page. */
async function reduce(of: {
  picture: string;
  boxes: { name: string; left: number; top: number; wide: number; high: number }[];
  cell: number;
}): Promise<Block[]> {
  const { picture, boxes, cell } = of;
  const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const to = new OffscreenCanvas(image.width, image.height).getContext("2d", { willReadFrequently: true })!;
  to.drawImage(image, 0, 0);
  const digit = (part: number) => Math.min(9, Math.round(9 * part));
  return boxes.map(({ name, left, top, wide, high }) => {
    const { data } = to.getImageData(left, top, wide, high);
    const light = new Uint8Array(wide * high);
    const colorful = new Uint8Array(wide * high);
    for (let i = 0; i < light.length; i++) {
      const [red, green, blue] = [data[4 * i], data[4 * i + 1], data[4 * i + 2]];
      light[i] = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      // The threshold includes curves and packets, but not links.
      colorful[i] = Number(Math.max(red, green, blue) - Math.min(red, green, blue) > 150);
    }
    const paper = light.toSorted()[light.length >> 1];
    const grid = (value: (pixel: number) => number) =>
      Array.from({ length: Math.max(1, Math.round(high / cell)) }, (_, row) =>
        Array.from({ length: Math.round(wide / cell) }, (_, column) => {
          let [sum, pixels] = [0, 0];
          for (let y = row * cell; y < Math.min((row + 1) * cell, high); y++)
            for (let x = column * cell; x < Math.min((column + 1) * cell, wide); x++) {
              sum += value(y * wide + x);
              pixels++;
            }
          // Scale up: a curve of 2 px covers a tenth of a cell, and a line of text little more.
          return digit((5 * sum) / pixels);
        }),
      );
    return {
      name,
      left: Math.round(left / cell),
      paper: digit(paper / 255),
      ink: grid((pixel) => Math.abs(light[pixel] - paper) / 255),
      color: grid((pixel) => colorful[pixel]),
    };
  });
}

const line = (cells: number[]) => cells.map((value) => value || ".").join("");

/** Formats blocks as text: a line for each row of cells, with ink on the left and color on the right. */
export const written = (blocks: Block[]): string =>
  blocks
    .map(({ name, left, paper, ink, color }) =>
      [`${name}: ${left} from the left, on ${paper}`, ...ink.map((row, i) => `${line(row)} ${line(color[i])}`)].join(
        "\n",
      ),
    )
    .join("\n\n") + "\n";

export const read = (text: string): Block[] =>
  text
    .trim()
    .split("\n\n")
    .map((block) => {
      const [head, ...rows] = block.split("\n");
      const [, name, left, paper] = head.match(/^(.*): (\d+) from the left, on (\d)$/)!;
      const half = (of: number) => rows.map((row) => [...row.split(" ")[of]].map((digit) => Number(digit) || 0));
      return { name, left: Number(left), paper: Number(paper), ink: half(0), color: half(1) };
    });

/**
 * Returns for each block the share of ink or color, whichever is larger, that only one of the two has. It is 1 if
 * only one has the block, or if the positions or backgrounds differ.
 */
export function differences(a: Block[], b: Block[]): Map<string, number> {
  const names = new Set([...a, ...b].map(({ name }) => name));
  const at = (blocks: Block[], name: string) => blocks.findIndex((block) => block.name === name);
  const before = (blocks: Block[], name: string) => blocks[at(blocks, name) - 1]?.name;
  return new Map(
    [...names].map((name) => {
      const [one, other] = [a[at(a, name)], b[at(b, name)]];
      if (!one || !other) return [name, 1];
      const moved =
        Math.abs(one.left - other.left) > 1 || (a.length === b.length && before(a, name) !== before(b, name));
      if (moved || Math.abs(one.paper - other.paper) > 1) return [name, 1];
      const lost = [one, other].flatMap((of, i, both) => {
        const { ink, color } = both[1 - i];
        return [missing(of.ink, ink), missing(of.color, color)];
      });
      return [name, Math.max(...lost)];
    }),
  );
}

/** Minimum amount of ink that counts. */
const MIN_INK = 2;
/** Minimum denominator, so that a few cells of a small block may differ. */
const MIN_CELLS = 12;

/** Returns the share of cells with ink for which the same and adjacent cells of the other grid are empty. */
function missing(a: number[][], b: number[][]): number {
  let [cells, lost] = [0, 0];
  a.forEach((row, y) =>
    row.forEach((value, x) => {
      if (value < MIN_INK) return;
      cells++;
      const near = [y - 1, y, y + 1].flatMap((at) => b[at]?.slice(Math.max(0, x - 1), x + 2) ?? []);
      if (!near.some((other) => other >= value / 3)) lost++;
    }),
  );
  return lost / Math.max(cells, MIN_CELLS);
}
