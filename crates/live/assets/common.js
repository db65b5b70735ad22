"use strict";
// What all pages use: numbers as people read them, elements, and the blocks of a chip.

/** @typedef {Record<string, any>} Json */

/** What a block is used for, by its number in a frame. */
const USES = ["free", "open", "full", "condemned", "bad", "the layer's records"];
const FREE = 0, OPEN = 1, BAD = 4;

const THOUSANDS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
/** A whole number with thousands apart. @param {number} n */
const grouped = (n) => THOUSANDS.format(Math.round(n));
const FIXED = [0, 1, 2, 3].map((digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
/** @param {number | null | undefined} n @param {number} digits up to three */
const fixed = (n, digits) => (n == null || !Number.isFinite(n) ? "–" : FIXED[digits].format(n));
/** A time. @param {number} us */
const duration = (us) => (us < 1000 ? `${+us.toPrecision(3)} µs` : us < 1e6 ? `${+(us / 1e3).toPrecision(3)} ms` : `${us < 1e9 ? +(us / 1e6).toPrecision(3) : grouped(us / 1e6)} s`);
/** Whether who looks on wants little motion: one picture a second, then. */
const SLOW = matchMedia("(prefers-reduced-motion: reduce)");
/** A size. @param {number} bytes */
function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  for (; bytes >= 1024 && at + 1 < units.length; at++) bytes /= 1024;
  return `${at === 0 ? Math.round(bytes) : +bytes.toPrecision(3)} ${units[at]}`;
}
/** Names come from anywhere: control characters would be invisible. @param {unknown} text */
const shown = (text) => String(text).replace(/\p{Cc}|\p{Cf}/gu, "\ufffd");

/** An element of this page. @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/**
 * A new element; texts become text, never markup.
 * @param {string} tag @param {Record<string, string>} attributes @param {...(Node | string)} children
 */
function make(tag, attributes = {}, ...children) {
  const it = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) it.setAttribute(name, value);
  it.append(...children);
  return it;
}

/**
 * A table.
 * @param {string} caption @param {string[]} head @param {string[][]} rows
 */
function table(caption, head, rows) {
  const line = (/** @type {string} */ kind, /** @type {string[]} */ cells) =>
    make("tr", {}, ...cells.map((cell) => make(kind, kind === "th" ? { scope: "col" } : {}, cell)));
  return make("table", { "aria-label": caption }, make("thead", {}, line("th", head)), make("tbody", {}, ...rows.map((row) => line("td", row))));
}

/** The bytes of a text in base64. @param {string} text */
function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The same where they are compressed. @param {string} text */
async function unpacked(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The blocks of a chip. */
class Chip {
  /** @param {number} blocks @param {number} pages pages of a block */
  constructor(blocks, pages) {
    this.blocks = blocks;
    this.pages = pages;
    this.valid = new Uint16Array(blocks);
    this.used = new Uint8Array(blocks);
    this.stream = new Uint8Array(blocks);
    this.erases = new Uint32Array(blocks);
    /** When each was opened last, as far as seen. */
    this.opened = new Float64Array(blocks);
    this.now = 0;
  }

  /** @param {DataView} view @param {number} at @param {number} block */
  #take(view, at, block) {
    const used = view.getUint8(at + 2);
    const erases = view.getUint32(at + 4, true);
    if (used !== FREE && (this.used[block] === FREE || this.erases[block] !== erases)) this.opened[block] = this.now;
    this.valid[block] = view.getUint16(at, true);
    this.used[block] = used;
    this.stream[block] = view.getUint8(at + 3);
    this.erases[block] = erases;
  }

  /** All blocks, as a frame has them. @param {Uint8Array} bytes @param {number} now */
  whole(bytes, now) {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    this.now = now;
    for (let block = 0; block < this.blocks; block++) this.#take(view, 8 * block, block);
    this.opened.fill(now);
  }

  /**
   * The blocks that changed: those from one to another in a list of changes.
   * @param {Uint8Array} bytes @param {number} from @param {number} to @param {number} now
   * @param {(block: number) => void} [tell] called before each is taken
   */
  change(bytes, from, to, now, tell) {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    this.now = now;
    for (let i = from; i < to; i++) {
      const block = view.getUint32(12 * i, true);
      if (block >= this.blocks) continue;
      if (tell) tell(block);
      this.#take(view, 12 * i + 4, block);
    }
  }

  /** A copy of the state, to return to. */
  copy() {
    const { valid, used, stream, erases, opened, now } = this;
    return { valid: valid.slice(), used: used.slice(), stream: stream.slice(), erases: erases.slice(), opened: opened.slice(), now };
  }

  /** @param {ReturnType<Chip["copy"]>} kept */
  restore(kept) {
    this.valid.set(kept.valid);
    this.used.set(kept.used);
    this.stream.set(kept.stream);
    this.erases.set(kept.erases);
    this.opened.set(kept.opened);
    this.now = kept.now;
  }

  /** Least, mean and most erases of blocks that can be used. */
  wear() {
    let [min, max, sum, count] = [Infinity, 0, 0, 0];
    for (let block = 0; block < this.blocks; block++) {
      if (this.used[block] === BAD) continue;
      const n = this.erases[block];
      min = Math.min(min, n);
      max = Math.max(max, n);
      sum += n;
      count++;
    }
    return { min: count ? min : 0, max, mean: count ? sum / count : 0 };
  }

  /** A block in a sentence. @param {number} block */
  sentence(block) {
    const used = USES[this.used[block]] ?? "in use";
    const what = this.used[block] === FREE || this.used[block] >= BAD ? used : `${used}, stream ${this.stream[block]}, ${this.valid[block]} of ${this.pages} pages valid`;
    return `Block ${grouped(block)}: ${what}, erased ${grouped(this.erases[block])} times`;
  }
}
