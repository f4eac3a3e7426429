/** Downloads of values and pictures. */

/** Replaces characters that are unsafe in file names; names of records are arbitrary. */
const clean = (name: string) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+/, "") || "headway";

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = clean(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Saves canvases as PNG on an opaque background, because other programs may show transparency as black. */
export function savePicture(name: string, layers: HTMLCanvasElement[], paper: string): void {
  const { width, height } = layers[0];
  savePng(name, width, height, (to) => {
    to.fillStyle = paper;
    to.fillRect(0, 0, width, height);
    for (const layer of layers) to.drawImage(layer, 0, 0);
  });
}

/** Number of pixels in a PNG file for each px of the drawing, in both directions. */
const DENSITY = 2;

/** Saves an SVG drawing as PNG. */
export async function saveDrawingAsPng(name: string, drawing: string): Promise<void> {
  const image = new Image();
  // The policy of the page allows images only from data: URLs.
  image.src = `data:image/svg+xml,${encodeURIComponent(drawing)}`;
  await image.decode();
  const [width, height] = [DENSITY * image.width, DENSITY * image.height];
  savePng(name, width, height, (to) => to.drawImage(image, 0, 0, width, height));
}

function savePng(name: string, width: number, height: number, draw: (to: CanvasRenderingContext2D) => void): void {
  const page = document.createElement("canvas");
  page.width = width;
  page.height = height;
  draw(page.getContext("2d")!);
  page.toBlob((blob) => blob && save(`${name}.png`, blob));
}

/** Formats a cell of a CSV file. Strings cannot become formulas of a spreadsheet. */
function cell(value: string | number): string {
  if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows: (string | number)[][]) => rows.map((row) => row.map(cell).join(",") + "\n").join("");
