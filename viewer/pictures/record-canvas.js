/**
 * Run in the page before its own script: what is drawn on canvases is kept as SVG, too. `svgOf(canvas)` is its text.
 *
 * Style and transformation are asked of the canvas, which draws as ever; only shapes are written down.
 */
(() => {
  /** Per canvas: what was drawn since it was cleared. */
  const drawn = new WeakMap();
  /** Per path or context: the path so far. */
  const paths = new WeakMap();
  /** Per context: the clips that hold, and those that were saved. */
  const clips = new WeakMap();
  let names = 0;

  const round = (value) => String(Math.round(value * 100) / 100);
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const listOf = (canvas) => drawn.get(canvas) ?? drawn.set(canvas, []).get(canvas);
  const pathOf = (owner) => paths.get(owner) ?? "";
  const clipsOf = (to) => clips.get(to) ?? clips.set(to, { now: [], saved: [] }).get(to);
  const matrix = ({ a, b, c, d, e, f }) => `matrix(${[a, b, c, d, e, f].map(round).join(" ")})`;

  /** Wraps a method: `before` is told of each call of it. */
  function watch(prototype, name, before) {
    const method = prototype[name];
    prototype[name] = function (...words) {
      before.call(this, ...words);
      return method.apply(this, words);
    };
  }

  const segments = {
    moveTo: (x, y) => `M${round(x)} ${round(y)}`,
    lineTo: (x, y) => `L${round(x)} ${round(y)}`,
    rect: (x, y, w, h) => `M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}z`,
    closePath: () => "z",
    bezierCurveTo: (...points) => `C${points.map(round).join(" ")}`,
    // Whole circles, as all are here.
    arc: (x, y, r, _from, _to, back = false) =>
      `M${round(x + r)} ${round(y)}a${round(r)} ${round(r)} 0 1 ${back ? 0 : 1} ${round(-2 * r)} 0a${round(r)} ${round(r)} 0 1 ${back ? 0 : 1} ${round(2 * r)} 0z`,
  };
  const Context = CanvasRenderingContext2D.prototype;
  for (const [name, segment] of Object.entries(segments))
    for (const prototype of [Context, Path2D.prototype])
      watch(prototype, name, function (...words) {
        const before = pathOf(this);
        // A line from nowhere starts where it leads to.
        paths.set(this, before + (before === "" && name === "lineTo" ? segments.moveTo : segment)(...words));
      });
  watch(Context, "beginPath", function () {
    paths.set(this, "");
  });
  const Path = window.Path2D;
  window.Path2D = function (from) {
    const made = from === undefined ? new Path() : new Path(from);
    if (from instanceof Path) paths.set(made, pathOf(from));
    return made;
  };
  window.Path2D.prototype = Path.prototype;

  function add(to, shape) {
    const around = clipsOf(to).now;
    listOf(to.canvas).push(
      `${around.map((id) => `<g clip-path="url(#${id})">`).join("")}${shape}${"</g>".repeat(around.length)}`,
    );
  }
  const common = (to) =>
    `transform="${matrix(to.getTransform())}"${to.globalAlpha < 1 ? ` opacity="${round(to.globalAlpha)}"` : ""}`;
  const stroked = (to) => {
    const dash = to.getLineDash();
    return `fill="none" stroke="${to.strokeStyle}" stroke-width="${round(to.lineWidth)}" stroke-linejoin="${to.lineJoin}"${dash.length > 0 ? ` stroke-dasharray="${dash.map(round).join(" ")}"` : ""}`;
  };
  const isPath = (word) => word instanceof Path;

  watch(Context, "fill", function (path) {
    const d = pathOf(isPath(path) ? path : this);
    if (d) add(this, `<path d="${d}" fill="${this.fillStyle}" ${common(this)}/>`);
  });
  watch(Context, "stroke", function (path) {
    const d = pathOf(isPath(path) ? path : this);
    if (d && this.lineWidth > 0) add(this, `<path d="${d}" ${stroked(this)} ${common(this)}/>`);
  });
  watch(Context, "fillRect", function (...words) {
    add(this, `<path d="${segments.rect(...words)}" fill="${this.fillStyle}" ${common(this)}/>`);
  });
  watch(Context, "strokeRect", function (...words) {
    add(this, `<path d="${segments.rect(...words)}" ${stroked(this)} ${common(this)}/>`);
  });
  watch(Context, "fillText", function (text, x, y, widest = Infinity) {
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign] ?? "start";
    const [, weight, size, family] = /^(bold )?([\d.]+)px (.*)$/.exec(this.font);
    // SVG's other baselines lie elsewhere than those of canvases.
    const above = this.measureText(text).fontBoundingBoxAscent;
    const asked = this.textBaseline;
    this.textBaseline = "alphabetic";
    const base = y - above + this.measureText(text).fontBoundingBoxAscent;
    this.textBaseline = asked;
    const narrow =
      this.measureText(text).width > widest ? ` textLength="${round(widest)}" lengthAdjust="spacingAndGlyphs"` : "";
    add(
      this,
      `<text x="${round(x)}" y="${round(base)}" font-size="${size}" font-family="${escaped(family)}"${weight ? ' font-weight="bold"' : ""} fill="${this.fillStyle}" text-anchor="${anchor}"${narrow} ${common(this)}>${escaped(String(text))}</text>`,
    );
  });
  watch(Context, "drawImage", function (image, x, y, w = image.width, h = image.height) {
    const place = `translate(${round(x)} ${round(y)}) scale(${w / image.width} ${h / image.height})`;
    add(this, `<g ${common(this)}><g transform="${place}">${listOf(image).join("")}</g></g>`);
  });
  watch(Context, "clearRect", function () {
    drawn.set(this.canvas, []);
  });
  watch(Context, "clip", function (path) {
    const id = `clip${names++}`;
    const d = pathOf(isPath(path) ? path : this);
    listOf(this.canvas).push(
      `<clipPath id="${id}"><path d="${d}" transform="${matrix(this.getTransform())}"/></clipPath>`,
    );
    clipsOf(this).now = [...clipsOf(this).now, id];
  });
  watch(Context, "save", function () {
    clipsOf(this).saved.push(clipsOf(this).now);
  });
  watch(Context, "restore", function () {
    clipsOf(this).now = clipsOf(this).saved.pop() ?? [];
  });
  // A canvas that is given a size is empty.
  for (const side of ["width", "height"]) {
    const { get, set } = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, side);
    Object.defineProperty(HTMLCanvasElement.prototype, side, {
      get,
      set(value) {
        drawn.set(this, []);
        set.call(this, value);
      },
    });
  }

  window.svgOf = (canvas) =>
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${canvas.width} ${canvas.height}">${listOf(canvas).join("")}</svg>`;
})();
