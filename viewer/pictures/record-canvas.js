/**
 * Records the drawing operations of canvases as SVG. Must run in the page before its script. `svgOf(canvas)`
 * returns the SVG.
 *
 * Only shapes are recorded. Style and transformation are read from the canvas, which draws as usual.
 */
(() => {
  /** Shapes of each canvas since it was cleared. */
  const drawn = new WeakMap();
  /** Current path of each path or context. */
  const paths = new WeakMap();
  /** Active and saved clips of each context. */
  const clips = new WeakMap();
  let names = 0;

  const round = (value) => String(Math.round(value * 100) / 100);
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const listOf = (canvas) => drawn.get(canvas) ?? drawn.set(canvas, []).get(canvas);
  const pathOf = (owner) => paths.get(owner) ?? "";
  const clipsOf = (to) => clips.get(to) ?? clips.set(to, { now: [], saved: [] }).get(to);
  const matrix = ({ a, b, c, d, e, f }) => `matrix(${[a, b, c, d, e, f].map(round).join(" ")})`;

  /** Wraps a method to call `before` first. */
  function watch(prototype, name, before) {
    const method = prototype[name];
    prototype[name] = function (...args) {
      before.call(this, ...args);
      return method.apply(this, args);
    };
  }

  const segments = {
    moveTo: (x, y) => `M${round(x)} ${round(y)}`,
    lineTo: (x, y) => `L${round(x)} ${round(y)}`,
    rect: (x, y, w, h) => `M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}z`,
    closePath: () => "z",
    bezierCurveTo: (...points) => `C${points.map(round).join(" ")}`,
    // All arcs of the page are full circles.
    arc: (x, y, r, _from, _to, back = false) =>
      `M${round(x + r)} ${round(y)}a${round(r)} ${round(r)} 0 1 ${back ? 0 : 1} ${round(-2 * r)} 0a${round(r)} ${round(r)} 0 1 ${back ? 0 : 1} ${round(2 * r)} 0z`,
  };
  const Context = CanvasRenderingContext2D.prototype;
  for (const [name, segment] of Object.entries(segments))
    for (const prototype of [Context, Path2D.prototype])
      watch(prototype, name, function (...args) {
        const before = pathOf(this);
        // A line without a current point starts at its end.
        paths.set(this, before + (before === "" && name === "lineTo" ? segments.moveTo : segment)(...args));
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
  watch(Context, "fillRect", function (...args) {
    add(this, `<path d="${segments.rect(...args)}" fill="${this.fillStyle}" ${common(this)}/>`);
  });
  watch(Context, "strokeRect", function (...args) {
    add(this, `<path d="${segments.rect(...args)}" ${stroked(this)} ${common(this)}/>`);
  });
  watch(Context, "fillText", function (text, x, y, widest = Infinity) {
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign] ?? "start";
    const [, weight, size, family] = /^(bold )?([\d.]+)px (.*)$/.exec(this.font);
    // Convert to the alphabetic baseline: other baselines differ between SVG and canvas.
    const above = this.measureText(text).fontBoundingBoxAscent;
    const baseline = this.textBaseline;
    this.textBaseline = "alphabetic";
    const base = y - above + this.measureText(text).fontBoundingBoxAscent;
    this.textBaseline = baseline;
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
  // Setting the size clears a canvas.
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
