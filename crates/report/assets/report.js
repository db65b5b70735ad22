// @ts-check
// What a report does beyond showing itself: numbers under the pointer, series that can be hidden, tables that
// can be sorted and filtered, data to copy. Without it every chart is there, and the table behind each.
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";
  /** A point: series, row and column of the table (0: the whole row), place in the drawing.
   * @typedef {[number, number, number, number, number]} Hit */

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
      const series = Number(/** @type {HTMLElement} */ (key).dataset.s);
      const name = key.textContent ?? "";
      names[series] = name;
      const it = button("", () => toggle(name));
      it.append(...key.childNodes);
      key.append(it);
      redraws.push(() => it.setAttribute("aria-pressed", String(!hidden.has(name))));
    });
    redraws.push(() => {
      all(svg, "[data-s]").forEach((part) => {
        const name = names[Number(part.getAttribute("data-s"))];
        part.setAttribute("visibility", name !== undefined && hidden.has(name) ? "hidden" : "visible");
      });
    });

    const mark = document.createElementNS(NS, "circle");
    mark.id = "mark";
    mark.setAttribute("r", "7");
    let at = -1;

    /** @param {Hit} hit */
    const visible = (hit) => names[hit[0]] === undefined || !hidden.has(names[hit[0]]);

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
      mark.setAttribute("cx", String(hit[3]));
      mark.setAttribute("cy", String(hit[4]));
      svg.append(mark);
      tip.textContent = describe(hit);
      tip.hidden = false;
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const x = box.left + hit[3] * scale;
      const left = Math.min(x + 12, document.documentElement.clientWidth - tip.offsetWidth - 8);
      tip.style.left = `${Math.max(8, left) + scrollX}px`;
      tip.style.top = `${box.top + hit[4] * scale + 14 + scrollY}px`;
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
        const far = (hit[3] - x) ** 2 + (hit[4] - y) ** 2;
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
