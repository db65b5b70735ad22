// @ts-check
// A worker: answers one question after another. Files are read in pieces while it does, never as a whole.
import { Simulator } from "./simulator.js";

/** @typedef {{ module: WebAssembly.Module, files: [string, Blob][], question: string }} Work */

// Only workers may wait for a file.
const reader = new (/** @type {any} */ (self).FileReaderSync)();

/** Milliseconds between two reports of progress. */
const OFTEN = 100;

self.addEventListener("message", ({ data }) => {
  const { module, files, question } = /** @type {Work} */ (data);
  const begun = performance.now();
  let told = 0;
  /** @param {{ read?: number, done?: number, written?: number, copied?: number }} share */
  const tell = (share) => {
    if (performance.now() - told < OFTEN) return;
    told = performance.now();
    self.postMessage(share);
  };
  /** @param {Blob} file @returns {(at: number, room: number) => Uint8Array} */
  const pieces = (file) => (at, room) => {
    tell({ read: at / file.size });
    return new Uint8Array(reader.readAsArrayBuffer(file.slice(at, at + room)));
  };
  const all = new Map(files.map(([name, file]) => [name, pieces(file)]));
  const progress = (/** @type {number} */ done, /** @type {number} */ of, /** @type {number} */ written, /** @type {number} */ copied) =>
    tell({ done: of > 0 ? Math.min(done / of, 1) : 0, written, copied });
  const simulator = Simulator.load(module, all, progress);
  const answer = simulator.ask(question);
  self.postMessage({ answer, seconds: (performance.now() - begun) / 1000, memory: simulator.exports.memory.buffer.byteLength });
});
