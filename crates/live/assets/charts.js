"use strict";
// Small charts: lines over time, and columns. Each has its numbers as a table behind it.

/** @typedef {{ name: string, colour: string, dash?: string, points: [number, number][] }} Line */

/** A round number not below this one. @param {number} n */
function roundUp(n) {
  if (!(n > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  return power * (/** @type {number} */ ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => n <= step * power * (1 + 1e-9))));
}

class Chart {
  /**
   * @param {HTMLElement} place @param {string} title
   * @param {{ x: (x: number) => string, y: (y: number) => string, axis: string }} how what the axes' numbers look like
   */
  constructor(place, title, how) {
    this.title = title;
    this.how = how;
    this.svg = /** @type {SVGSVGElement} */ (make("svg:svg", { role: "img", "aria-label": title }));
    this.legend = make("ul", { class: "legend" });
    this.table = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}: table` });
    this.details = /** @type {HTMLDetailsElement} */ (make("details", {}, make("summary", {}, "Table"), this.table));
    place.replaceChildren(make("h2", {}, title), this.legend, this.svg, this.details);
    /** @type {() => void} */
    this.again = () => {};
    // Asked for at every drawing, the width would have the whole page laid out each time.
    this.width = this.svg.clientWidth;
    new ResizeObserver(() => {
      this.width = this.svg.clientWidth;
      this.again();
    }).observe(place);
    this.details.addEventListener("toggle", () => this.again());
  }

  /** @param {number} top @returns {{ width: number, left: number, y: (y: number) => number, parts: Element[] }} */
  #frame(top) {
    const [width, height, left] = [Math.max(this.width, 120), 144, 52];
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const y = (/** @type {number} */ value) => height - 18 - (Math.min(value, top) / top) * (height - 30);
    const parts = [0, 0.5, 1].flatMap((share) => {
      const at = String(y(share * top));
      const told = this.how.y(share * top);
      const label = make("svg:text", { x: String(left - 5), y: String(+at + 4), "text-anchor": "end" }, told);
      const line = make("svg:line", { class: share ? "grid" : "axis", x1: String(left), x2: String(width - 4), y1: at, y2: at });
      // Half of one page is told as one.
      const isTwice = share === 0.5 && [0, top].some((end) => this.how.y(end) === told);
      return isTwice ? [line] : [line, label];
    });
    return { width, left, y, parts };
  }

  /** @param {[string, string][]} names names and colours */
  #name(names) {
    const entries = names.map(([name, colour]) => {
      const patch = make("i");
      /** @type {HTMLElement} */ (patch).style.background = `var(--${colour})`;
      return make("li", {}, patch, name);
    });
    this.legend.replaceChildren(...entries);
  }

  /** Lines from 0 up. @param {Line[]} lines @param {number} [cursor] */
  lines(lines, cursor) {
    this.again = () => {
      const all = lines.flatMap((line) => line.points);
      const top = roundUp(Math.max(...all.map(([, y]) => y), 0));
      const { width, left, y, parts } = this.#frame(top);
      const [first, last] = [Math.min(...all.map(([x]) => x)), Math.max(...all.map(([x]) => x))];
      const x = (/** @type {number} */ value) => left + ((value - first) / (last - first || 1)) * (width - left - 4);
      for (const line of lines) {
        const path = line.points.map(([px, py], i) => `${i ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");
        parts.push(make("svg:path", { d: path, fill: "none", "stroke-width": "2", "stroke-dasharray": line.dash ?? "" }));
        /** @type {SVGElement} */ (/** @type {unknown} */ (parts[parts.length - 1])).style.stroke = `var(--${line.colour})`;
      }
      if (all.length) {
        parts.push(make("svg:text", { x: String(left), y: "142" }, this.how.x(first)), make("svg:text", { x: String(width - 4), y: "142", "text-anchor": "end" }, this.how.x(last)));
        parts.push(make("svg:text", { x: String((left + width) / 2), y: "142", "text-anchor": "middle" }, this.how.axis));
      }
      if (cursor !== undefined && all.length) {
        const at = String(x(Math.min(Math.max(cursor, first), last)));
        parts.push(make("svg:line", { class: "axis", x1: at, x2: at, y1: "8", y2: "126" }));
      }
      this.svg.replaceChildren(...parts);
      if (!this.details.open) return;
      const times = [...new Set(all.map(([px]) => px))].sort((a, b) => a - b).slice(-500);
      const at = lines.map((line) => new Map(line.points));
      this.table.replaceChildren(table(this.title, [this.how.axis, ...lines.map((line) => line.name)], times.map((time) => [this.how.x(time), ...at.map((line) => (line.has(time) ? this.how.y(/** @type {number} */ (line.get(time))) : "–"))])));
    };
    this.#name(lines.map((line) => [line.name, line.colour]));
    this.again();
  }

  /** Columns from 0 up. @param {[string, number][]} columns @param {string} name */
  columns(columns, name) {
    this.again = () => {
      const top = roundUp(Math.max(...columns.map(([, n]) => n), 0));
      const { width, left, y, parts } = this.#frame(top);
      const step = (width - left - 4) / Math.max(columns.length, 1);
      columns.forEach(([label, n], i) => {
        const at = left + i * step;
        const bar = make("svg:rect", { x: String(at + 1), y: String(y(n)), width: String(Math.max(step - 2, 1)), height: String(y(0) - y(n)) }, make("svg:title", {}, `${label}: ${this.how.y(n)}`));
        /** @type {SVGElement} */ (/** @type {unknown} */ (bar)).style.fill = "var(--a)";
        parts.push(bar);
        // About six pixels a letter; what would end outside is left out.
        const fits = at + step / 2 + 3 * label.length <= width;
        if (fits && i % Math.ceil((columns.length * 62) / (width - left)) === 0) parts.push(make("svg:text", { x: String(at + step / 2), y: "142", "text-anchor": "middle" }, label));
      });
      this.svg.replaceChildren(...parts);
      if (this.details.open) this.table.replaceChildren(table(this.title, [this.how.axis, name], columns.map(([label, n]) => [label, this.how.y(n)])));
    };
    this.#name([[name, "a"]]);
    this.again();
  }
}
