// @ts-check
// The simulator, loaded and asked: one instance in each worker. A test in Node uses the same code.

/** Where a file's bytes come from: those from a place on, as many as there is room for. @typedef {(at: number, room: number) => Uint8Array} Reader */
/** @typedef {{ memory: WebAssembly.Memory, _initialize?: () => void, thermocline_take: (n: number) => number, thermocline_give: (at: number, n: number) => void, thermocline_ask: (at: number, n: number) => number }} Exports */

/** What WASI says of a file that is not open: there are none but the page's. */
const NOT_OPEN = 8;
/** Bytes before an answer: its length. */
const HEAD = 4;

/** Functions of WASI by which Rust's library asks for an environment and random numbers. @param {() => Exports} exports */
const system = (exports) => {
  const view = () => new DataView(exports().memory.buffer);
  /** @type {Record<string, Function>} */
  const known = {
    random_get: (/** @type {number} */ at, /** @type {number} */ length) => {
      crypto.getRandomValues(new Uint8Array(exports().memory.buffer, at, length));
      return 0;
    },
    environ_sizes_get: (/** @type {number} */ count, /** @type {number} */ size) => {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    proc_exit: (/** @type {number} */ code) => { throw new Error(`the simulator ended with ${code}`); },
  };
  return new Proxy(known, { get: (all, name) => all[String(name)] ?? (() => NOT_OPEN), has: () => true });
};

export class Simulator {
  /** @param {Exports} exports */
  constructor(exports) {
    this.exports = exports;
  }

  /** @param {WebAssembly.Module} module @param {Map<string, Reader>} files @param {(done: number, all: number, written: number, copied: number) => void} progress */
  static load(module, files, progress) {
    /** @type {Exports} */
    let exports;
    /** The text of the panic that ended the simulator. */
    let fault = "";
    const bytes = (/** @type {number} */ at, /** @type {number} */ length) => new Uint8Array(exports.memory.buffer, at, length);
    const text = (/** @type {number} */ at, /** @type {number} */ length) => new TextDecoder().decode(bytes(at, length));
    const page = {
      read: (/** @type {number} */ name, /** @type {number} */ length, /** @type {number} */ at, /** @type {number} */ into, /** @type {number} */ room) => {
        const file = files.get(text(name, length));
        if (!file) return -1;
        const part = room > 0 ? file(at, room) : new Uint8Array();
        bytes(into, part.length).set(part);
        return part.length;
      },
      progress,
      failed: (/** @type {number} */ at, /** @type {number} */ length) => { fault = text(at, length); },
    };
    const imports = { page, wasi_snapshot_preview1: system(() => exports) };
    exports = /** @type {any} */ (new WebAssembly.Instance(module, /** @type {any} */ (imports)).exports);
    exports._initialize?.();
    const simulator = new Simulator(exports);
    simulator.fault = () => fault;
    return simulator;
  }

  /** What ended the simulator. */
  fault = () => "";

  /** The answer, in JSON, to a question in JSON. @param {string} question @returns {string} */
  ask(question) {
    const { thermocline_take: take, thermocline_give: give, thermocline_ask: ask, memory } = this.exports;
    const asked = new TextEncoder().encode(question);
    const at = take(asked.length);
    if (!at) return JSON.stringify({ error: "there is no memory left; close other pages, or take a smaller device" });
    new Uint8Array(memory.buffer, at, asked.length).set(asked);
    let answer = 0;
    try {
      answer = ask(at, asked.length);
    } catch (error) {
      // After a panic or with exhausted memory this instance is of no use any more.
      return JSON.stringify({ error: `the simulator failed: ${this.fault() || error}` });
    }
    give(at, asked.length);
    if (!answer) return JSON.stringify({ error: "there is no memory left; close other pages, or take a smaller device" });
    const length = new DataView(memory.buffer).getUint32(answer, true);
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answer + HEAD, length));
    give(answer, HEAD + length);
    return text;
  }
}
