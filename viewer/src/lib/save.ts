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
  const page = document.createElement("canvas");
  page.width = layers[0].width;
  page.height = layers[0].height;
  const to = page.getContext("2d")!;
  to.fillStyle = paper;
  to.fillRect(0, 0, page.width, page.height);
  for (const layer of layers) to.drawImage(layer, 0, 0);
  page.toBlob((blob) => blob && save(`${name}.png`, blob));
}

/** Formats a cell of a CSV file. Strings cannot become formulas of a spreadsheet. */
function cell(value: string | number): string {
  if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows: (string | number)[][]) => rows.map((row) => row.map(cell).join(",") + "\n").join("");
