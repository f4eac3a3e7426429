/**
 * Draws the network and a scene on two canvases. The lower one has nodes and links and changes rarely. The upper
 * one has packets and changes with each frame.
 */
import { causeMark, causeText, traceShape, type Shape } from "./colors.ts";
import { placeNodes, type Edge, type Point } from "./layout.ts";
import type { Hop } from "./packets.ts";
import { UNKNOWN, type Scene } from "./scene.ts";
import type { Ink } from "./theme.svelte.ts";

/** Properties of links and flows that are drawn. */
export interface Network {
  links: { name: string; from: string; to: string; peak: number }[];
  flows: Edge[];
  /** The shape of each media kind. */
  shapes: Shape[];
}

/** Color of each flow, and whether another flow is selected. */
export type Paint = { color: string; faint: boolean }[];

const NODE_RADIUS_PX = 9;
const MAX_NAME_PX = 130;
/** Distance between the line of a direction and the center of the link. */
const LANE_OFFSET_PX = 5;
const PACKET_RADIUS_PX = 4;
/** Length of the longest queue. */
const MAX_QUEUE_PX = 56;
const MIN_QUEUE_PX = 16;
const FALL_PX = 46;
/** Maximum distance between the pointer and a packet that it points at. */
const REACH_PX = 9;
/** Number of vertical positions of a falling packet; each has 5 horizontal positions. */
const FALL_STEPS = 12;
/** Maximum number of simultaneous drops with the cause as text; more drops have a letter. */
const MAX_CAUSE_TEXTS = 6;

interface Lane {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  length: number;
  /** Unit vectors along the lane, and across it away from the other direction. */
  ux: number;
  uy: number;
  nx: number;
  ny: number;
  /** For each 2 px of the lane, the last frame with a packet there. */
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
  /** Length of the longest queue, in px. */
  private queueLengthPx = MAX_QUEUE_PX;
  private frame = 0;
  /** For each position of a falling packet, the last frame with a packet there. */
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
    this.queueLengthPx = Math.min(Math.max(this.nearest() - 2 * NODE_RADIUS_PX - 16, MIN_QUEUE_PX), MAX_QUEUE_PX);
    this.fallen = new Uint32Array(this.network.links.length * FALL_STEPS * 5);
    this.lanes = this.network.links.map((link) => this.lane(this.at(link.from), this.at(link.to)));
  }

  /** Returns the smallest distance between two nodes of a column. */
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
    const x0 = from.x + ux * NODE_RADIUS_PX + nx * LANE_OFFSET_PX;
    const y0 = from.y + uy * NODE_RADIUS_PX + ny * LANE_OFFSET_PX;
    const length = Math.max(whole - 2 * NODE_RADIUS_PX, 1);
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
    // Outline of the peak length of each queue.
    this.network.links.forEach((link, i) => {
      if (link.peak < 2) return;
      this.across(to, this.lanes[i]);
      to.strokeRect(2.5, 2.5, 8, this.cell(link.peak) * link.peak + 1);
    });
    to.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    to.textAlign = "center";
    to.textBaseline = "bottom";
    to.font = "12px system-ui, sans-serif";
    // Omit names that would overlap.
    const written: { x: number; y: number; half: number }[] = [];
    for (const node of this.places.keys()) {
      const { x, y } = this.at(node);
      to.fillStyle = ink.paper;
      to.strokeStyle = ink.faint;
      to.lineWidth = 1.5;
      to.beginPath();
      to.arc(x, y, NODE_RADIUS_PX, 0, 2 * Math.PI);
      to.fill();
      to.stroke();
      const half = Math.min(to.measureText(node).width, MAX_NAME_PX) / 2 + 3;
      if (written.some((other) => Math.abs(other.y - y) < 14 && Math.abs(other.x - x) < other.half + half)) continue;
      written.push({ x, y, half });
      to.fillStyle = ink.text;
      to.fillText(node, x, y - NODE_RADIUS_PX - 3, MAX_NAME_PX);
    }
  }

  /** Sets the coordinates: x along a lane and y across it, with the origin at the start of the lane. */
  private across(to: CanvasRenderingContext2D, lane: Lane): void {
    const s = this.scale;
    to.setTransform(lane.ux * s, lane.uy * s, lane.nx * s, lane.ny * s, lane.x0 * s, lane.y0 * s);
  }

  draw(scene: Scene, paint: Paint, ink: Ink): void {
    // The stage has no lanes until it has a size.
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
      // Thousands of packets may be on a few hundred px. Skip packets that would cover another one.
      const spot = head >> 1;
      const look = paint[flying.flow[i]] ?? { color: ink.faint, faint: false };
      if (lane.taken[spot] === this.frame) continue;
      lane.taken[spot] = this.frame;
      const { x, y } = this.flyingAt(scene, i);
      if (look.faint !== faint) {
        faint = look.faint;
        to.globalAlpha = faint ? 0.2 : 1;
      }
      const body = (flying.head[i] - flying.tail[i]) * lane.length;
      if (body > 2 * PACKET_RADIUS_PX) {
        to.strokeStyle = look.color;
        to.lineWidth = 3;
        to.beginPath();
        to.moveTo(x, y);
        to.lineTo(x - lane.ux * body, y - lane.uy * body);
        to.stroke();
      }
      const sprite = this.sprite(look.color, flying.kind[i], flying.late[i], flying.marked[i], ink);
      const size = sprite.width / this.scale;
      to.drawImage(sprite, x - size / 2, y - size / 2, size, size);
    }
    to.globalAlpha = 1;
  }

  private flyingAt({ flying }: Scene, i: number): Point {
    const lane = this.lanes[flying.link[i]];
    const head = flying.head[i] * lane.length;
    return { x: lane.x0 + lane.ux * head, y: lane.y0 + lane.uy * head };
  }

  private fallingAt({ falling }: Scene, i: number): Point {
    const lane = this.lanes[falling.link[i]];
    const age = falling.age[i];
    // Start next to the queue, with a small distance between packets.
    const aside = 30 + (falling.link[i] % 3) * 2 + ((i * 7) % 5) * 4 * age;
    return {
      x: falling.far[i] ? lane.x1 + aside * age : lane.x0 + lane.ux * 7 + aside,
      y: (falling.far[i] ? lane.y1 : lane.y0 + lane.uy * 7 + lane.ny * 10) + FALL_PX * age * age,
    };
  }

  /** Returns the packet at a position: the one in a queue, or the nearest other one within reach. */
  find(scene: Scene, x: number, y: number): Hop | null {
    for (let link = 0; link < this.lanes.length; link++) {
      const { batch, row } = scene.waiting[link] ?? { batch: [], row: [] };
      if (row.length === 0) continue;
      const lane = this.lanes[link];
      const [dx, dy] = [x - lane.x0, y - lane.y0];
      const along = dx * lane.ux + dy * lane.uy;
      const place = Math.floor((dx * lane.nx + dy * lane.ny - 3) / this.cell(this.longest(scene, link)));
      if (along >= 1 && along <= 12 && place >= 0 && place < row.length)
        return { batch: batch[place], row: row[place] };
    }
    let [nearest, hop]: [number, Hop | null] = [REACH_PX, null];
    const consider = (at: Point, batch: Hop["batch"] | null, row: number) => {
      const distance = Math.hypot(at.x - x, at.y - y);
      if (batch && distance <= nearest) [nearest, hop] = [distance, { batch, row }];
    };
    const { flying, falling } = scene;
    for (let i = 0; i < flying.count; i++) consider(this.flyingAt(scene, i), flying.batch[i], flying.row[i]);
    for (let i = 0; i < falling.count; i++) consider(this.fallingAt(scene, i), falling.batch[i], falling.row[i]);
    return hop;
  }

  /** Returns the largest length of a queue so far. */
  private longest(scene: Scene, link: number): number {
    return Math.max(this.network.links[link].peak, scene.queues[link].length);
  }

  private drawQueues(to: CanvasRenderingContext2D, scene: Scene, paint: Paint, ink: Ink): void {
    to.font = "11px system-ui, sans-serif";
    to.textAlign = "center";
    to.textBaseline = "middle";
    for (let link = 0; link < this.lanes.length; link++) {
      const queue = scene.queues[link];
      if (!queue || queue.length === 0) continue;
      const lane = this.lanes[link];
      const step = this.cell(this.longest(scene, link));
      this.across(to, lane);
      // Adjacent packets of a flow are one bar, so that long queues are drawn fast.
      for (let start = 0; start < queue.length;) {
        let end = start + 1;
        if (step < 3) while (end < queue.length && queue[end] === queue[start]) end++;
        const look = queue[start] === UNKNOWN ? undefined : paint[queue[start]];
        to.fillStyle = look?.color ?? ink.faint;
        to.globalAlpha = look?.faint ? 0.2 : 1;
        to.fillRect(3, 3 + start * step, 7, (end - start) * step - (step >= 3 ? 1 : 0));
        start = end;
      }
      to.globalAlpha = 1;
      to.setTransform(this.scale, 0, 0, this.scale, 0, 0);
      // Write the length at the head of the queue, where no other queue is.
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
      const age = falling.age[i];
      // Skip packets that would cover another one.
      const spot = (falling.link[i] * FALL_STEPS + Math.floor(age * FALL_STEPS)) * 5 + (i % 5);
      if (this.fallen[spot] === this.frame) continue;
      this.fallen[spot] = this.frame;
      const look = paint[falling.flow[i]];
      const { x, y } = this.fallingAt(scene, i);
      to.globalAlpha = (1 - age) * (look?.faint ? 0.3 : 1);
      to.fillStyle = look?.color ?? ink.faint;
      traceShape(to, this.network.shapes[falling.kind[i]] ?? "square", x, y, PACKET_RADIUS_PX);
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
      to.fillText((falling.count <= MAX_CAUSE_TEXTS ? causeText : causeMark)(cause[i]), x + 9, y);
    }
  }

  /** Returns the height of a packet in a queue with up to `peak` packets. */
  private cell(peak: number): number {
    return Math.min(4, this.queueLengthPx / Math.max(peak, 1));
  }

  /** Returns the cached image of a packet. It is hollow if late, and has a ring if it was marked. */
  private sprite(color: string, kind: number, late: boolean, marked: boolean, ink: Ink): HTMLCanvasElement {
    const key = `${color} ${kind} ${late} ${marked} ${ink.paper}`;
    let sprite = this.sprites.get(key);
    if (sprite) return sprite;
    sprite = document.createElement("canvas");
    sprite.width = sprite.height = Math.ceil((PACKET_RADIUS_PX * 2 + 8) * this.scale);
    const to = sprite.getContext("2d")!;
    to.scale(this.scale, this.scale);
    const middle = sprite.width / this.scale / 2;
    traceShape(
      to,
      this.network.shapes[kind] ?? "square",
      middle,
      middle,
      late ? PACKET_RADIUS_PX - 1 : PACKET_RADIUS_PX,
    );
    to.fillStyle = late ? ink.paper : color;
    to.fill();
    if (late) {
      to.strokeStyle = color;
      to.lineWidth = 2;
      to.stroke();
    }
    if (marked) {
      to.strokeStyle = ink.text;
      to.lineWidth = 1;
      to.beginPath();
      to.arc(middle, middle, PACKET_RADIUS_PX + 2.5, 0, 2 * Math.PI);
      to.stroke();
    }
    this.sprites.set(key, sprite);
    return sprite;
  }
}
