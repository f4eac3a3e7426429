/**
 * Palette of Okabe and Ito (2008), which is distinguishable with any color vision, as in `headway plot`.
 * Gray replaces yellow, which has too little contrast on white. Curves also differ in dashes, and packets in shapes.
 */
export const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#808080"];

/**
 * Violet, magenta, brown and lavender, for links and other entities that are no flows. With a color vision deficiency,
 * too, they differ from one another and from the colors of flows.
 */
export const OTHER_COLORS = ["#8e44ec", "#c00090", "#8a5a2b", "#9c84e8"];

export const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [14, 4], [4, 2, 1, 2]];

export type Shape = "square" | "circle" | "diamond" | "triangle" | "wedge" | "bar" | "ring" | "plus";
const SHAPES: Shape[] = ["square", "circle", "diamond", "triangle", "wedge", "bar", "ring", "plus"];
const KIND_SHAPES = new Map<string, Shape>(
  Object.entries({
    data: "square",
    audio: "circle",
    video: "diamond",
    "video-i": "plus",
    "video-p": "triangle",
    "video-b": "wedge",
    ack: "bar",
    feedback: "bar",
    control: "bar",
  } as const),
);

/** Returns the shape of a media kind. An unknown kind gets a shape by its index. */
export const shapeOf = (kind: string, place = 0): Shape => KIND_SHAPES.get(kind) ?? SHAPES[place % SHAPES.length];

/** Returns the color of a flow or a group of flows. */
export const colorOf = (place: number) => COLORS[place % COLORS.length];
export const otherColorOf = (place: number) => OTHER_COLORS[place % OTHER_COLORS.length];

/** Traces a shape of a radius around a point; the caller fills or strokes it. */
export function traceShape(to: CanvasRenderingContext2D, shape: Shape, x: number, y: number, r: number): void {
  to.beginPath();
  if (shape === "square") to.rect(x - r, y - r, 2 * r, 2 * r);
  else if (shape === "bar") to.rect(x - r * 0.5, y - r, r, 2 * r);
  else if (shape === "circle") to.arc(x, y, r, 0, 2 * Math.PI);
  else if (shape === "ring") {
    to.arc(x, y, r, 0, 2 * Math.PI);
    to.arc(x, y, r * 0.5, 0, 2 * Math.PI, true);
  } else {
    const corners = {
      diamond: [0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0],
      triangle: [0, -1.2, 1.2, 1, -1.2, 1],
      wedge: [0, 1.2, 1.2, -1, -1.2, -1],
      plus: [
        -0.5, -1.3, 0.5, -1.3, 0.5, -0.5, 1.3, -0.5, 1.3, 0.5, 0.5, 0.5, 0.5, 1.3, -0.5, 1.3, -0.5, 0.5, -1.3, 0.5,
        -1.3, -0.5, -0.5, -0.5,
      ],
    }[shape];
    to.moveTo(x + corners[0] * r, y + corners[1] * r);
    for (let i = 2; i < corners.length; i += 2) to.lineTo(x + corners[i] * r, y + corners[i + 1] * r);
    to.closePath();
  }
}

/** Letter and text of each cause of a loss. It is a Map, because causes in records are arbitrary strings. */
const CAUSES = new Map(
  Object.entries({
    queue_full: { mark: "F", text: "queue full" },
    early: { mark: "E", text: "early" },
    channel: { mark: "C", text: "channel" },
    too_big: { mark: "B", text: "too big" },
    host: { mark: "H", text: "host" },
    policer: { mark: "P", text: "policer" },
  }),
);

/** Returns the text and the letter of a cause. An unknown cause has its name as text and the letter `?`. */
export const causeText = (cause: string) => CAUSES.get(cause)?.text ?? cause.replaceAll("_", " ");
export const causeMark = (cause: string) => CAUSES.get(cause)?.mark ?? "?";
