"use strict";
// The map of a chip's blocks on a canvas. One picture in memory, of which only blocks that changed are painted again.

/** Colours of streams: Okabe and Ito, distinct to the colour-blind; streams beyond them begin anew. */
const STREAMS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8a8a8a"];
/** From little to much, even in lightness (cividis). */
const RAMP = ["#00224e", "#2a3f6d", "#575c6d", "#7d7c78", "#a69d75", "#d3c164", "#fee838"];
/** Colours from the one of no valid pages to that of nothing else. */
const STEPS = 32;
/** Largest side of a block, in CSS pixels. */
const LARGEST = 26;

/** @param {string} hex */
function rgb(hex) {
  const full = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  const n = parseInt(full.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}
/** As a word of an image. @param {number[]} c */
const word = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
/** As CSS has it. @param {number[]} c */
const hex = (c) => `rgb(${c.join(" ")})`;
/** @param {number[]} a @param {number[]} b @param {number} share of b */
const mix = (a, b, share) => a.map((x, i) => Math.round(x + (b[i] - x) * share));
/** @param {number} share from 0 to 1 */
function ramp(share) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const low = Math.min(Math.floor(at), RAMP.length - 2);
  return mix(rgb(RAMP[low]), rgb(RAMP[low + 1]), at - low);
}

/** Colours between two, as words of an image: a map has too many blocks to mix them for each. @param {number[]} rest @param {number[]} filled */
const tone = (rest, filled) => Uint32Array.from({ length: STEPS + 1 }, (_, i) => word(mix(rest, filled, i / STEPS)));

const NOTHING = tone([0, 0, 0], [0, 0, 0]);

class ChipMap {
  /**
   * @param {HTMLCanvasElement} canvas @param {HTMLElement} legend @param {Chip} chip
   * @param {{ height: number, age: (age: number) => string, select: (block: number) => void }} options
   */
  constructor(canvas, legend, chip, options) {
    this.canvas = canvas;
    this.legend = legend;
    this.chip = chip;
    this.options = options;
    this.mode = "pages";
    this.selected = -1;
    /** @type {Map<number, string>} blocks with a frame around them, and its colour variable */
    this.marks = new Map();
    /** Blocks that changed since they were painted, the first so many of a list; with more than it holds all are painted. */
    this.dirty = new Int32Array(chip.blocks);
    this.touched = 0;
    this.range = { low: 0, high: 1 };
    /** Side of a block in the picture, and blocks in a row. */
    this.cell = 1;
    this.columns = 1;
    /** @type {Record<string, number[]>} */
    this.colours = {};
    this.tones = { full: NOTHING, open: NOTHING, free: NOTHING, bad: NOTHING, records: NOTHING, streams: [NOTHING], ramp: [NOTHING] };
    this.image = new ImageData(1, 1);
    this.words = new Uint32Array(this.image.data.buffer);
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const scale = canvas.width / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale].map((n) => Math.floor(n / this.cell));
      const block = y * this.columns + x;
      if (x < this.columns && block < this.chip.blocks) this.select(block);
    });
    canvas.addEventListener("keydown", (event) => {
      /** @type {Record<string, number>} */
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns, Home: -Infinity, End: Infinity };
      const move = moves[event.key];
      if (move === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      const to = this.selected < 0 ? 0 : this.selected + move;
      this.select(Math.min(Math.max(to, 0), this.chip.blocks - 1));
    });
    new ResizeObserver(() => this.layout()).observe(/** @type {Element} */ (canvas.parentElement));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.layout());
    this.layout();
  }

  /** @param {number} block */
  select(block) {
    this.selected = block;
    this.draw();
    this.options.select(block);
  }

  /** @param {string} mode */
  colourBy(mode) {
    this.mode = mode;
    this.layout();
  }

  /** Finds the size of a block, and paints everything. */
  layout() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const parent = /** @type {HTMLElement} */ (this.canvas.parentElement);
    const width = Math.max(Math.floor(parent.clientWidth * ratio), 50);
    const most = Math.floor(this.options.height * ratio);
    let cell = Math.floor(LARGEST * ratio);
    while (cell > 1 && Math.ceil(this.chip.blocks / Math.floor(width / cell)) * cell > most) cell--;
    this.cell = cell;
    this.columns = Math.min(Math.floor(width / cell), Math.max(this.chip.blocks, 1));
    const rows = Math.ceil(this.chip.blocks / this.columns);
    this.canvas.width = this.columns * cell;
    this.canvas.height = Math.max(rows * cell, 1);
    this.canvas.style.width = `${this.canvas.width / ratio}px`;
    const style = getComputedStyle(document.documentElement);
    this.colours = Object.fromEntries(["valid", "garbage", "free", "open", "bad", "records", "panel", "mark", "ink", "accent"].map((name) => [name, rgb(style.getPropertyValue(`--${name}`).trim())]));
    const { valid, garbage, free, open, bad, records, panel } = this.colours;
    const streams = STREAMS.map((stream) => tone(mix(rgb(stream), panel, 0.65), rgb(stream)));
    const even = Array.from({ length: STEPS + 1 }, (_, i) => tone(ramp(i / STEPS), ramp(i / STEPS)));
    this.tones = { full: tone(garbage, valid), open: tone(open, valid), free: tone(free, free), bad: tone(bad, bad), records: tone(records, records), streams, ramp: even };
    this.image = new ImageData(this.canvas.width, this.canvas.height);
    this.words = new Uint32Array(this.image.data.buffer);
    this.words.fill(word(this.colours.panel));
    this.repaint();
  }

  /** A block changed: the next refresh paints it. @param {number} block */
  touch(block) {
    if (this.touched < this.dirty.length) this.dirty[this.touched] = block;
    this.touched++;
  }

  /** Paints all blocks: where what the colours mean may have changed. */
  repaint() {
    this.measure();
    for (let block = 0; block < this.chip.blocks; block++) this.paint(block);
    this.touched = 0;
    this.explain();
    this.draw();
  }

  /** Paints the blocks that changed. */
  refresh() {
    const { low, high } = this.range;
    this.measure();
    if (this.mode === "age" || low !== this.range.low || high !== this.range.high || this.touched > this.dirty.length) return this.repaint();
    for (let i = 0; i < this.touched; i++) this.paint(this.dirty[i]);
    this.touched = 0;
    this.draw();
  }

  /** What the ends of the ramp stand for. */
  measure() {
    const { chip } = this;
    if (this.mode === "erases") {
      const { min, max } = chip.wear();
      this.range = { low: min, high: Math.max(max, min + 1) };
    } else if (this.mode === "age") {
      let oldest = 1;
      for (let block = 0; block < chip.blocks; block++) if (chip.used[block] !== FREE) oldest = Math.max(oldest, chip.now - chip.opened[block]);
      this.range = { low: 0, high: oldest };
    } else this.range = { low: 0, high: 1 };
  }

  /** The colour of a number between the ends of the ramp. @param {number} n */
  ramped(n) {
    const { low, high } = this.range;
    return this.tones.ramp[Math.round(Math.min(Math.max((n - low) / (high - low), 0), 1) * STEPS)];
  }

  /** The colours of a block. @param {number} block */
  toneOf(block) {
    const { chip, tones } = this;
    const used = chip.used[block];
    if (used >= BAD) return used === BAD ? tones.bad : tones.records;
    if (this.mode === "erases") return this.ramped(chip.erases[block]);
    if (used === FREE) return tones.free;
    if (this.mode === "age") return this.ramped(chip.now - chip.opened[block]);
    if (this.mode === "stream") return tones.streams[chip.stream[block] % STREAMS.length];
    return used === OPEN ? tones.open : tones.full;
  }

  /** @param {number} block */
  paint(block) {
    const { cell, columns, chip } = this;
    const { words } = this;
    const stride = this.canvas.width;
    const share = Math.min(chip.valid[block] / chip.pages, 1);
    const tone = this.toneOf(block);
    let at = Math.floor(block / columns) * cell * stride + (block % columns) * cell;
    if (cell < 4) {
      // Too small for a level: one colour between the two.
      const colour = tone[Math.round(share * STEPS)];
      const side = cell > 2 ? cell - 1 : cell;
      for (let y = 0; y < side; y++, at += stride) for (let x = 0; x < side; x++) words[at + x] = colour;
      return;
    }
    const side = cell - 1;
    const level = Math.round(share * side);
    for (let y = 0; y < side; y++, at += stride) words.fill(tone[y < side - level ? 0 : STEPS], at, at + side);
    if (chip.used[block] === BAD) {
      // A cross, for who does not see the colour.
      const cross = word(this.colours.panel);
      at -= side * stride;
      for (let y = 0; y < side; y++) words[at + y * stride + y] = words[at + y * stride + side - 1 - y] = cross;
    }
  }

  /** Puts the picture on the screen. */
  draw() {
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    context.putImageData(this.image, 0, 0);
    const frame = (/** @type {number} */ block, /** @type {string} */ colour, /** @type {number} */ thick) => {
      const { cell, columns } = this;
      const wide = Math.max(cell, 7);
      const [x, y] = [(block % columns) * cell, Math.floor(block / columns) * cell].map((at) => at + (cell - wide) / 2 + 0.5);
      // On a line of the ground, so that it is seen on every colour.
      for (const [name, width] of /** @type {[string, number][]} */ ([["panel", thick + 2], [colour, thick]])) {
        context.strokeStyle = hex(this.colours[name]);
        context.lineWidth = width;
        context.strokeRect(x, y, wide - 2, wide - 2);
      }
    };
    for (const [block, colour] of this.marks) frame(block, colour, colour === "mark" ? 3 : 2);
    if (this.selected >= 0) frame(this.selected, "accent", 3);
  }

  /** Says what the colours mean. */
  explain() {
    const { low, high } = this.range;
    const c = this.colours;
    /** @type {[number[], string][]} */
    let entries = [[c.valid, "valid pages"], [c.garbage, "garbage"], [c.open, "room in an open block"], [c.free, "free"], [c.records, "the layer's records"], [c.bad, "bad (crossed)"]];
    if (this.mode === "stream") {
      const streams = new Set();
      for (let block = 0; block < this.chip.blocks; block++) if (this.chip.used[block] !== FREE && this.chip.used[block] < BAD) streams.add(this.chip.stream[block]);
      entries = [...streams].sort((a, b) => a - b).slice(0, 16).map((stream) => [rgb(STREAMS[stream % STREAMS.length]), `stream ${stream}`]);
      entries.push([c.free, "free"]);
    } else if (this.mode !== "pages") {
      const name = this.mode === "age" ? this.options.age : (/** @type {number} */ n) => `${grouped(n)} erases`;
      entries = [0, 0.25, 0.5, 0.75, 1].map((share) => [ramp(share), name(low + share * (high - low))]);
      if (this.mode === "age") entries.push([c.free, "free"]);
    }
    this.legend.replaceChildren(...entries.map(([colour, text]) => {
      const patch = make("i");
      /** @type {HTMLElement} */ (patch).style.background = hex(colour);
      return make("li", {}, patch, text);
    }));
  }
}
