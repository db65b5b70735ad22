// @ts-check
// What a report does beyond showing itself: numbers under the pointer, series that can be hidden, tables that
// can be sorted and filtered, data to copy. Without it every chart is there, and the table behind each.
"use strict";
(() => {
  /** A point: series, row and column of the table (0: the whole row), place in the drawing.
   * @typedef {[number, number, number, number, number]} Hit */
  /** An axis: where it begins and ends, the values there (or their logarithms), whether it is logarithmic, and named.
   * @typedef {[number, number, number, number, boolean, boolean]} Axis */

  const tip = /** @type {HTMLElement} */ (document.getElementById("tip"));

  /** @template {Element} T @param {ParentNode} root @param {string} what @returns {T[]} */
  const all = (root, what) => /** @type {T[]} */ ([...root.querySelectorAll(what)]);

  /** @param {string} text @param {() => void} act */
  const button = (text, act) => {
    const it = document.createElement("button");
    it.type = "button";
    it.textContent = text;
    it.addEventListener("click", act);
    return it;
  };

  /** @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] */
  const made = (name, attributes, text = "") => {
    const it = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => it.setAttribute(key, String(value)));
    it.textContent = text;
    return it;
  };

  /** An axis that fits these values. It begins at 0 if it did before. @param {Axis} axis @param {number[]} values @returns {Axis} */
  const fitted = ([from, to, low, , log, named], values) => {
    const at = log ? values.map(Math.log10) : values;
    const [least, most] = [Math.min(...at), Math.max(...at)];
    const zero = !log && low === 0;
    const margin = log ? 0.1 : 0.06 * ((zero ? most : most - least) || 1);
    return [from, to, zero ? 0 : least - margin, most + margin, log, named];
  };

  /** @param {Axis} axis @param {number} value */
  const placeOn = ([from, to, low, high, log], value) => from + ((to - from) * ((log ? Math.log10(value) : value) - low)) / (high - low);

  /** The values named beside an axis. @param {Axis} axis @returns {number[]} */
  const round = ([, , low, high, log]) => {
    if (log) {
      const steps = high - low < 0.7 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : high - low < 2 ? [1, 2, 5] : [1];
      const powers = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, i) => 10 ** (Math.floor(low) + i));
      return powers.flatMap((power) => steps.map((step) => step * power)).filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
    }
    const power = 10 ** Math.floor(Math.log10((high - low) / 5));
    const step = power * ([1, 2, 5, 10].find((one) => (high - low) / (one * power) <= 6) ?? 10);
    return Array.from({ length: 8 }, (_, i) => (Math.ceil(low / step) + i) * step).filter((value) => value <= high);
  };

  /** Numbers beside an axis, and lines across. @param {Axis} axis @param {Axis} other @param {boolean} below */
  const ticksOf = (axis, other, below) => round(axis).flatMap((value) => {
    const [at, foot, end] = [placeOn(axis, value), other[0], other[1]];
    const text = value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
    const line = below ? { x1: at, x2: at, y1: foot, y2: end } : { x1: foot, x2: end, y1: at, y2: at };
    const place = below ? { x: at, y: foot + 11, dy: "0.76em", "text-anchor": "middle" } : { x: foot - 10, y: at, dy: "0.5ex", "text-anchor": "end" };
    return [made("line", { ...line, stroke: "var(--mesh)" }), made("text", { ...place, "font-size": 12.1, fill: "currentColor" }, text)];
  });

  /** Whether a part of a drawing is a number, a tick or a line of the y-axis, or of both. @param {Element} part @param {Axis} x @param {boolean} both */
  const isOfAxis = (part, x, both) => {
    const get = (/** @type {string} */ name) => part.getAttribute(name);
    if (part.tagName === "line") return both || get("y1") === get("y2");
    if (part.tagName === "text") return get("text-anchor") === "end" || (both && get("dy") === "0.76em" && !get("transform"));
    if (part.tagName !== "polyline" || get("stroke") !== "currentColor") return false;
    const [x1, y1, x2, y2] = (get("points") ?? "").split(/[ ,]/).map(Number);
    return (y1 === y2 && x2 < x[0] + 1 && x1 < x[0] - 1) || (both && x1 === x2 && y2 - y1 < 8);
  };

  /** The texts of a row. @param {HTMLTableRowElement} row */
  const cells = (row) => [...row.cells].map((cell) => cell.textContent ?? "");

  /** @param {HTMLTableElement} table */
  const body = (table) => [...table.tBodies[0].rows];

  /** @param {HTMLTableElement} table */
  const csv = (table) => {
    /** @param {string} text */
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const head = table.tHead ? [...table.tHead.rows] : [];
    const rows = [...head, ...body(table).filter((row) => !row.hidden)];
    return rows.map((row) => cells(row).map(quoted).join(",") + "\n").join("");
  };

  /** @param {string} text */
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A file that was opened may not be trusted with the clipboard: the old way.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  /** @param {HTMLTableElement} table */
  const copyButton = (table) => {
    const it = button("Copy data", async () => {
      await copy(csv(table));
      it.textContent = "Copied";
      setTimeout(() => { it.textContent = "Copy data"; }, 1500);
    });
    return it;
  };

  /** Sorts by a column, then the other way round. @param {HTMLTableElement} table @param {number} column */
  const sort = (table, column) => {
    const heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
    const down = heads[column].getAttribute("aria-sort") === "ascending";
    /** @param {HTMLTableRowElement} row @returns {number | string} */
    const key = (row) => {
      const cell = row.cells[column];
      const text = cell.dataset.v ?? cell.textContent ?? "";
      const number = Number(text);
      return text.trim() === "" || Number.isNaN(number) ? text : number;
    };
    /** @param {number | string} a @param {number | string} b */
    const order = (a, b) =>
      typeof a === "number" && typeof b === "number" ? a - b
        : typeof a === typeof b ? String(a).localeCompare(String(b)) : typeof a === "number" ? -1 : 1;
    const rows = body(table).map((row) => ({ row, key: key(row) }));
    rows.sort((a, b) => (down ? order(b.key, a.key) : order(a.key, b.key)));
    table.tBodies[0].append(...rows.map((one) => one.row));
    heads.forEach((head, at) => {
      if (at === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };

  /** Series that are hidden, by name, on the whole page. @type {Set<string>} */
  const hidden = new Set();
  /** @type {(() => void)[]} */
  const redraws = [];

  /** @param {string} name */
  const toggle = (name) => {
    if (!hidden.delete(name)) hidden.add(name);
    redraws.forEach((redraw) => redraw());
  };

  /** @param {HTMLElement} figure */
  const chart = (figure) => {
    const plot = /** @type {HTMLElement} */ (figure.querySelector(".plot"));
    const svg = /** @type {SVGSVGElement} */ (plot.querySelector("svg"));
    const table = /** @type {HTMLTableElement} */ (figure.querySelector("table"));
    /** @type {Hit[]} */
    const hits = JSON.parse(plot.dataset.hits ?? "[]");
    const rows = body(table);
    const titles = table.tHead ? cells(table.tHead.rows[0]) : [];
    /** @type {string[]} */
    const names = [];
    all(figure, ".legend .key[data-s]").forEach((key) => {
      const name = key.textContent ?? "";
      // One key may stand for all series that are not told apart.
      (/** @type {HTMLElement} */ (key).dataset.s ?? "").split(" ").forEach((series) => { names[Number(series)] = name; });
      const it = button("", () => toggle(name));
      it.append(...key.childNodes);
      key.append(it);
      redraws.push(() => it.setAttribute("aria-pressed", String(!hidden.has(name))));
    });
    /** @param {Hit} hit */
    const visible = (hit) => names[hit[0]] === undefined || !hidden.has(names[hit[0]]);
    /** Where each point is now. */
    const places = hits.map((hit) => [hit[3], hit[4]]);
    /** The axes, if points may be drawn again on others. @type {[Axis, Axis] | null} */
    const frame = plot.dataset.frame ? JSON.parse(plot.dataset.frame) : null;
    // Dots are scattered over both axes; under lines the x-axis stays.
    const scattered = hits.every((hit) => hit[2] === 0);

    /** The number of a point on an axis, or how far it may be off. @param {Hit} hit @param {number} axis @param {boolean} [off] */
    const number = ([, row, column], axis, off = false) => {
      const values = cells(rows[row]);
      if (!off) return Number(values[column || axis + 1]);
      const spread = column ? column + 1 : 3;
      return titles[spread]?.startsWith("±") ? Number(values[spread]) : 0;
    };

    // The line that joins the dots no other beats in both: of those that are visible.
    const joins = (/** @type {number} */ series) => scattered && hits.filter((hit) => hit[0] === series).length > 1;
    const best = () => {
      const dots = hits.flatMap((hit, i) => (visible(hit) && !joins(hit[0]) ? [{ hit, at: places[i] }] : []));
      dots.sort((a, b) => number(a.hit, 0) - number(b.hit, 0) || number(a.hit, 1) - number(b.hit, 1));
      let least = Infinity;
      return dots.filter(({ hit }) => number(hit, 1) < least && ((least = number(hit, 1)), true));
    };

    /** A series in its colours, where its points are now. @param {number} series @param {Axis} axis */
    const drawn = (series, axis) => {
      const own = joins(series) ? best() : hits.flatMap((hit, i) => (hit[0] === series ? [{ hit, at: places[i] }] : []));
      const old = all(svg, `[data-s="${series}"]`);
      const paint = ["stroke", "fill"].flatMap((name) => old.map((part) => part.getAttribute(name) ?? "none"));
      const colour = paint.find((it) => it !== "none") ?? "currentColor";
      const [line, dot] = ["polyline", "circle"].map((name) => old.find((part) => part.tagName === name));
      // The second half of the colours is dashed.
      const dash = !scattered && Number(/\d+/.exec(colour)?.[0] ?? 0) >= 6 ? "5 3" : "";
      /** @type {Element[]} */
      const parts = [];
      if (line && own.length > 1) parts.push(made("polyline", { points: own.map((it) => it.at.join(",")).join(" "), fill: "none", stroke: colour, "stroke-width": line.getAttribute("stroke-width") ?? 2, "stroke-dasharray": dash }));
      for (const { hit, at: [x, y] } of own) {
        const [value, off] = [number(hit, 1), number(hit, 1, true)];
        if (dot) parts.push(made("circle", { cx: x, cy: y, r: dot.getAttribute("r") ?? 3, fill: colour }));
        if (off > 0 && !(axis[4] && off >= value)) parts.push(made("line", { x1: x, x2: x, y1: placeOn(axis, value - off), y2: placeOn(axis, value + off), stroke: colour }));
      }
      return parts;
    };

    // What is visible gets axes that fit it. The first picture is only put out of sight.
    redraws.push(() => {
      svg.querySelector("g.again")?.remove();
      hits.forEach((hit, i) => { places[i] = [hit[3], hit[4]]; });
      const left = hits.filter((hit) => visible(hit) && !joins(hit[0]));
      const again = frame !== null && left.length > 0 && hits.some((hit) => !visible(hit));
      [...svg.children].forEach((part) => {
        const series = part.getAttribute("data-s");
        const off = series !== null ? again || hidden.has(names[Number(series)]) : again && isOfAxis(part, frame[0], scattered);
        part.setAttribute("visibility", off ? "hidden" : "visible");
      });
      if (!again) return;
      const x = scattered ? fitted(frame[0], left.map((hit) => number(hit, 0))) : null;
      const y = fitted(frame[1], left.map((hit) => number(hit, 1)));
      hits.forEach((hit, i) => {
        if (visible(hit)) places[i] = [x ? placeOn(x, number(hit, 0)) : hit[3], placeOn(y, number(hit, 1))];
      });
      const series = [...new Set(hits.filter(visible).map((hit) => hit[0]))];
      const ticks = [...ticksOf(y, frame[0], false), ...(x ? ticksOf(x, frame[1], true) : [])];
      const group = made("g", { class: "again" });
      group.append(...ticks, ...series.flatMap((one) => drawn(one, y)));
      svg.append(group);
    });

    const mark = made("circle", { id: "mark", r: 7 });
    let at = -1;

    /** @param {Hit} hit */
    const describe = ([, row, column]) => {
      const values = cells(rows[row]);
      if (column === 0) return values.map((value, i) => (titles[i] ? `${titles[i]}: ${value}` : value)).join("\n");
      const first = values.slice(0, titles[0] === "panel" ? 2 : 1);
      const of = first.map((value, i) => (titles[i] ? `${titles[i]}: ${value}` : value));
      return [...of, `${titles[column]}: ${values[column]}`].join("\n");
    };

    /** @param {number} next */
    const show = (next) => {
      at = next;
      const hit = hits[at];
      if (!hit) return leave();
      const [cx, cy] = places[at];
      mark.setAttribute("cx", String(cx));
      mark.setAttribute("cy", String(cy));
      svg.append(mark);
      tip.textContent = describe(hit);
      tip.hidden = false;
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const x = box.left + cx * scale;
      const left = Math.min(x + 12, document.documentElement.clientWidth - tip.offsetWidth - 8);
      tip.style.left = `${Math.max(8, left) + scrollX}px`;
      tip.style.top = `${box.top + cy * scale + 14 + scrollY}px`;
    };

    const leave = () => {
      at = -1;
      mark.remove();
      tip.hidden = true;
    };

    plot.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale;
      const y = (event.clientY - box.top) * scale;
      let [best, near] = [-1, 40 * 40];
      hits.forEach((hit, i) => {
        const far = (places[i][0] - x) ** 2 + (places[i][1] - y) ** 2;
        if (far < near && visible(hit)) [best, near] = [i, far];
      });
      if (best < 0) leave();
      else if (best !== at) show(best);
    });
    plot.addEventListener("pointerleave", leave);
    plot.addEventListener("blur", leave);
    // The arrows go along a series, and from one to the next.
    plot.addEventListener("keydown", (event) => {
      const shown = hits.map((hit, i) => ({ hit, i })).filter((one) => visible(one.hit));
      if (event.key === "Escape") return leave();
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };
      const step = steps[/** @type {keyof typeof steps} */ (event.key)];
      if (step === undefined || shown.length === 0) return undefined;
      event.preventDefault();
      const place = shown.findIndex((one) => one.i === at);
      if (place < 0) return show(shown[0].i);
      const here = shown[place];
      const along = event.key === "ArrowRight" || event.key === "ArrowLeft";
      if (along) return show((shown[place + step] ?? here).i);
      const order = [...new Set(shown.map((one) => one.hit[0]))];
      const next = order[order.indexOf(here.hit[0]) + step];
      const others = shown.filter((one) => one.hit[0] === next);
      others.sort((a, b) => Math.abs(a.hit[3] - here.hit[3]) - Math.abs(b.hit[3] - here.hit[3]));
      return show((others[0] ?? here).i);
    });

    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(copyButton(table));
    figure.insertBefore(tools, figure.querySelector("details"));
  };

  /** @param {HTMLElement} results */
  const filterable = (results) => {
    const table = /** @type {HTMLTableElement} */ (results.querySelector("table"));
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Filter rows";
    input.setAttribute("aria-label", "Filter rows");
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const rows = body(table);
      rows.forEach((row) => {
        const text = (row.textContent ?? "").toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      });
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    });
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(input, copyButton(table), count);
    results.prepend(tools);
  };

  all(document, "figure.chart").forEach((figure) => chart(/** @type {HTMLElement} */ (figure)));
  all(document, ".results").forEach((results) => filterable(/** @type {HTMLElement} */ (results)));
  all(document, "table.sortable").forEach((it) => {
    const table = /** @type {HTMLTableElement} */ (it);
    // The points of a chart know their cells by the order in which the page came.
    [...(table.tHead?.rows[0].cells ?? [])].forEach((head, column) => {
      const text = head.textContent;
      if (!text) return;
      head.textContent = "";
      head.append(button(text, () => sort(table, column)));
    });
  });
  redraws.forEach((redraw) => redraw());
})();
