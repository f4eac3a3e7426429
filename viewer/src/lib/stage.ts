/**
 * Draws the network and a scene on two canvases: nodes and links on the one below, which changes seldom, packets on the one
 * above, which changes with each frame.
 */
import { causeMark, causeText, traceShape, type Shape } from "./colours.ts";
import { placeNodes, type Edge, type Point } from "./layout.ts";
import { UNKNOWN, type Scene } from "./scene.ts";
import type { Ink } from "./theme.svelte.ts";

/** What is drawn of a flow or a link. */
export interface Network {
  links: { name: string; from: string; to: string; peak: number }[];
  flows: Edge[];
  /** The shape of each media kind. */
  shapes: Shape[];
}

/** How each flow is drawn: its colour, and whether another one is selected. */
export type Paint = { colour: string; faint: boolean }[];

const NODE = 9;
/** The width of the longest name of a node, in px. */
const NAME = 130;
/** The directions of a link run side by side. */
const LANE = 5;
const PACKET = 4;
/** How long the longest queue may be drawn where there is room, and at least, in px. */
const QUEUE = 56;
const SHORT_QUEUE = 16;
const FALL = 46;
/** How many places a falling packet has on its way down, 5 of them side by side. */
const STEPS = 12;
/** Up to this many drops at once have their cause written out. */
const NAMED = 6;

interface Lane {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  length: number;
  /** Along the lane, and across it away from the other direction. */
  ux: number;
  uy: number;
  nx: number;
  ny: number;
  /** For each 2 px of the lane the number of the frame that has a packet there. */
  taken: Uint32Array;
}

export class Stage {
  private readonly still: CanvasRenderingContext2D;
  private readonly moving: CanvasRenderingContext2D;
  private readonly places: Map<string, Point>;
  private lanes: Lane[] = [];
  private width = 0;
  private height = 0;
  private scale = 1;
  /** How long the longest queue is drawn, in px. */
  private room = QUEUE;
  private frame = 0;
  /** For each place of a falling packet the number of the frame that has one there. */
  private fallen = new Uint32Array(0);
  private readonly sprites = new Map<string, HTMLCanvasElement>();

  constructor(
    readonly layers: [HTMLCanvasElement, HTMLCanvasElement],
    private readonly network: Network,
  ) {
    this.still = layers[0].getContext("2d")!;
    this.moving = layers[1].getContext("2d")!;
    this.places = placeNodes(network.links, network.flows);
  }

  resize(width: number, height: number, scale: number): void {
    this.width = width;
    this.height = height;
    this.scale = scale;
    for (const layer of this.layers) {
      layer.width = Math.round(width * scale);
      layer.height = Math.round(height * scale);
    }
    this.sprites.clear();
    this.room = Math.min(Math.max(this.nearest() - 2 * NODE - 16, SHORT_QUEUE), QUEUE);
    this.fallen = new Uint32Array(this.network.links.length * STEPS * 5);
    this.lanes = this.network.links.map((link) => this.lane(this.at(link.from), this.at(link.to)));
  }

  /** How near the nearest two nodes of one column are. */
  private nearest(): number {
    const nodes = [...this.places.keys()].map((node) => this.at(node)).sort((a, b) => a.x - b.x || a.y - b.y);
    let nearest = Infinity;
    for (let i = 1; i < nodes.length; i++)
      if (nodes[i].x === nodes[i - 1].x) nearest = Math.min(nearest, nodes[i].y - nodes[i - 1].y);
    return nearest;
  }

  private at(node: string): Point {
    const { x, y } = this.places.get(node) ?? { x: 0.5, y: 0.5 };
    const side = Math.min(70, this.width * 0.1);
    return { x: side + x * (this.width - 2 * side), y: 30 + y * (this.height - 62) };
  }

  private lane(from: Point, to: Point): Lane {
    const dx = to.x - from.x;
    const dy = to.y - from.y;
    const whole = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / whole, dy / whole];
    const [nx, ny] = [-uy, ux];
    const x0 = from.x + ux * NODE + nx * LANE;
    const y0 = from.y + uy * NODE + ny * LANE;
    const length = Math.max(whole - 2 * NODE, 1);
    const taken = new Uint32Array(Math.ceil(length / 2) + 1);
    return { x0, y0, x1: x0 + ux * length, y1: y0 + uy * length, length, ux, uy, nx, ny, taken };
  }

  drawStill(ink: Ink): void {
    const to = this.still;
    to.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    to.clearRect(0, 0, this.width, this.height);
    to.lineWidth = 1;
    to.strokeStyle = ink.line;
    to.beginPath();
    for (const lane of this.lanes) {
      to.moveTo(lane.x0, lane.y0);
      to.lineTo(lane.x1, lane.y1);
    }
    to.stroke();
    // The outline of the longest that each queue has been.
    this.network.links.forEach((link, i) => {
      if (link.peak < 2) return;
      this.across(to, this.lanes[i]);
      to.strokeRect(2.5, 2.5, 8, this.cell(link.peak) * link.peak + 1);
    });
    to.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    to.textAlign = "center";
    to.textBaseline = "bottom";
    to.font = "12px system-ui, sans-serif";
    // Where nodes stand close together, only as many names are written as have room.
    const written: { x: number; y: number; half: number }[] = [];
    for (const node of this.places.keys()) {
      const { x, y } = this.at(node);
      to.fillStyle = ink.paper;
      to.strokeStyle = ink.faint;
      to.lineWidth = 1.5;
      to.beginPath();
      to.arc(x, y, NODE, 0, 2 * Math.PI);
      to.fill();
      to.stroke();
      const half = Math.min(to.measureText(node).width, NAME) / 2 + 3;
      if (written.some((other) => Math.abs(other.y - y) < 14 && Math.abs(other.x - x) < other.half + half)) continue;
      written.push({ x, y, half });
      to.fillStyle = ink.text;
      to.fillText(node, x, y - NODE - 3, NAME);
    }
  }

  /** From here on x runs along a lane and y across it, from where its queue stands. */
  private across(to: CanvasRenderingContext2D, lane: Lane): void {
    const s = this.scale;
    to.setTransform(lane.ux * s, lane.uy * s, lane.nx * s, lane.ny * s, lane.x0 * s, lane.y0 * s);
  }

  draw(scene: Scene, paint: Paint, ink: Ink): void {
    // A stage without a size has no lanes.
    if (this.lanes.length === 0) return;
    const to = this.moving;
    this.frame++;
    to.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    to.clearRect(0, 0, this.width, this.height);
    this.drawFlying(to, scene, paint, ink);
    this.drawQueues(to, scene, paint, ink);
    to.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.drawFalling(to, scene, paint, ink);
    to.globalAlpha = 1;
  }

  private drawFlying(to: CanvasRenderingContext2D, scene: Scene, paint: Paint, ink: Ink): void {
    const { flying } = scene;
    let faint = false;
    for (let i = 0; i < flying.count; i++) {
      const lane = this.lanes[flying.link[i]];
      const head = flying.head[i] * lane.length;
      // Thousands of packets may be on a few hundred px. What would lie on another one is not drawn.
      const spot = head >> 1;
      const look = paint[flying.flow[i]] ?? { colour: ink.faint, faint: false };
      if (lane.taken[spot] === this.frame) continue;
      lane.taken[spot] = this.frame;
      if (look.faint !== faint) {
        faint = look.faint;
        to.globalAlpha = faint ? 0.2 : 1;
      }
      const x = lane.x0 + lane.ux * head;
      const y = lane.y0 + lane.uy * head;
      const body = (flying.head[i] - flying.tail[i]) * lane.length;
      if (body > 2 * PACKET) {
        to.strokeStyle = look.colour;
        to.lineWidth = 3;
        to.beginPath();
        to.moveTo(x, y);
        to.lineTo(x - lane.ux * body, y - lane.uy * body);
        to.stroke();
      }
      const sprite = this.sprite(look.colour, flying.kind[i], flying.late[i], flying.marked[i], ink);
      const size = sprite.width / this.scale;
      to.drawImage(sprite, x - size / 2, y - size / 2, size, size);
    }
    to.globalAlpha = 1;
  }

  private drawQueues(to: CanvasRenderingContext2D, scene: Scene, paint: Paint, ink: Ink): void {
    to.font = "11px system-ui, sans-serif";
    to.textAlign = "center";
    to.textBaseline = "middle";
    for (let link = 0; link < this.lanes.length; link++) {
      const queue = scene.queues[link];
      if (!queue || queue.length === 0) continue;
      const lane = this.lanes[link];
      const step = this.cell(Math.max(this.network.links[link].peak, queue.length));
      this.across(to, lane);
      // Neighbours of one flow are one bar: a queue of thousands costs no more than its changes.
      for (let start = 0; start < queue.length;) {
        let end = start + 1;
        if (step < 3) while (end < queue.length && queue[end] === queue[start]) end++;
        const look = queue[start] === UNKNOWN ? undefined : paint[queue[start]];
        to.fillStyle = look?.colour ?? ink.faint;
        to.globalAlpha = look?.faint ? 0.2 : 1;
        to.fillRect(3, 3 + start * step, 7, (end - start) * step - (step >= 3 ? 1 : 0));
        start = end;
      }
      to.globalAlpha = 1;
      to.setTransform(this.scale, 0, 0, this.scale, 0, 0);
      // Beside the end from which they leave, where no other queue is.
      const [along, across] = [16, 12];
      to.fillStyle = ink.text;
      to.fillText(
        String(queue.length),
        lane.x0 + lane.ux * along + lane.nx * across + 4,
        lane.y0 + lane.uy * along + lane.ny * across,
      );
    }
  }

  private drawFalling(to: CanvasRenderingContext2D, scene: Scene, paint: Paint, ink: Ink): void {
    const { falling } = scene;
    to.textAlign = "left";
    to.textBaseline = "middle";
    to.font = "bold 11px system-ui, sans-serif";
    for (let i = 0; i < falling.count; i++) {
      const lane = this.lanes[falling.link[i]];
      const age = falling.age[i];
      // Where hundreds fall at once, one stands for those on top of it.
      const spot = (falling.link[i] * STEPS + Math.floor(age * STEPS)) * 5 + (i % 5);
      if (this.fallen[spot] === this.frame) continue;
      this.fallen[spot] = this.frame;
      const look = paint[falling.flow[i]];
      // Beside the queue that had no room, and neighbours a little apart.
      const aside = 30 + (falling.link[i] % 3) * 2 + ((i * 7) % 5) * 4 * age;
      const x = falling.far[i] ? lane.x1 + aside * age : lane.x0 + lane.ux * 7 + aside;
      const y = (falling.far[i] ? lane.y1 : lane.y0 + lane.uy * 7 + lane.ny * 10) + FALL * age * age;
      to.globalAlpha = (1 - age) * (look?.faint ? 0.3 : 1);
      to.fillStyle = look?.colour ?? ink.faint;
      traceShape(to, this.network.shapes[falling.kind[i]] ?? "square", x, y, PACKET);
      to.fill();
      to.strokeStyle = ink.bad;
      to.lineWidth = 1.5;
      to.beginPath();
      to.moveTo(x - 6, y - 6);
      to.lineTo(x + 6, y + 6);
      to.moveTo(x + 6, y - 6);
      to.lineTo(x - 6, y + 6);
      to.stroke();
      const { cause } = falling;
      to.fillStyle = ink.bad;
      to.fillText((falling.count <= NAMED ? causeText : causeMark)(cause[i]), x + 9, y);
    }
  }

  /** The height of a packet in a queue that may have `peak` of them. */
  private cell(peak: number): number {
    return Math.min(4, this.room / Math.max(peak, 1));
  }

  /** One packet, drawn once for each look that it may have. Hollow: past its deadline. With a ring: marked by the network. */
  private sprite(colour: string, kind: number, late: boolean, marked: boolean, ink: Ink): HTMLCanvasElement {
    const key = `${colour} ${kind} ${late} ${marked} ${ink.paper}`;
    let sprite = this.sprites.get(key);
    if (sprite) return sprite;
    sprite = document.createElement("canvas");
    sprite.width = sprite.height = Math.ceil((PACKET * 2 + 8) * this.scale);
    const to = sprite.getContext("2d")!;
    to.scale(this.scale, this.scale);
    const middle = sprite.width / this.scale / 2;
    traceShape(to, this.network.shapes[kind] ?? "square", middle, middle, late ? PACKET - 1 : PACKET);
    to.fillStyle = late ? ink.paper : colour;
    to.fill();
    if (late) {
      to.strokeStyle = colour;
      to.lineWidth = 2;
      to.stroke();
    }
    if (marked) {
      to.strokeStyle = ink.text;
      to.lineWidth = 1;
      to.beginPath();
      to.arc(middle, middle, PACKET + 2.5, 0, 2 * Math.PI);
      to.stroke();
    }
    this.sprites.set(key, sprite);
    return sprite;
  }
}
