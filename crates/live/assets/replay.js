"use strict";
// The page of a recorded simulation: policies side by side on the same writes. Time is host pages written.

{
  /** Steps between two kept states. */
  const KEPT = 64;

  /** @typedef {{ block: number, valid: number, erases: number, cost: number | null }} Candidate */
  /** @typedef {{ pages: number, copies: number, erases: number, victims: number, changes: number, chosen?: (Candidate & { beaten: Candidate[] })[] }} Step */

  class Run {
    /** @param {Json} recorded @param {Uint8Array} start @param {Uint8Array} changes @param {HTMLElement} place */
    constructor(recorded, start, changes, place) {
      this.recorded = recorded;
      this.changes = changes;
      /** @type {Step[]} */
      this.steps = [recorded.first, ...recorded.steps];
      this.chip = new Chip(recorded.blocks, recorded.pages_per_block);
      this.at = 0;
      this.chip.whole(start, this.steps[0].pages);
      this.kept = [this.chip.copy()];
      for (let i = 1; i < this.steps.length; i++) {
        this.#forward(i);
        if (i % KEPT === 0) this.kept.push(this.chip.copy());
      }
      this.chip.restore(this.kept[0]);
      const canvas = /** @type {HTMLCanvasElement} */ (make("canvas", { tabindex: "0", role: "application", "aria-label": `Blocks of the chip under ${shown(recorded.policy)}; arrow keys choose a block` }));
      this.figures = make("dl", { class: "tiles" });
      this.victim = make("div", { class: "victim scroll", tabindex: "0", role: "region", "aria-label": `The victim of ${shown(recorded.policy)}` });
      this.sentence = make("p", { "aria-live": "polite" }, "No block is chosen.");
      this.history = make("ol", { class: "history", tabindex: "0", "aria-label": `What happened to the block, ${shown(recorded.policy)}` });
      const legend = /** @type {HTMLElement} */ (make("ul", { class: "legend" }));
      place.append(make("section", { class: "panel", "data-policy": recorded.policy }, make("h2", {}, shown(recorded.policy)), this.figures, legend, make("div", {}, canvas), this.victim, this.sentence, this.history));
      this.map = new ChipMap(canvas, legend, this.chip, { height: 420, age: (n) => `${grouped(n)} host pages`, select: (block) => this.tell(block) });
    }

    /** Does step `i`, whose changes lie behind those of the one before. @param {number} i @param {(block: number) => void} [tell] */
    #forward(i, tell) {
      this.chip.change(this.changes, this.steps[i - 1].changes, this.steps[i].changes, this.steps[i].pages, tell);
    }

    /** The last step that is over when so many pages are written. @param {number} pages */
    stepAt(pages) {
      let [low, high] = [0, this.steps.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.steps[middle].pages <= pages) low = middle;
        else high = middle - 1;
      }
      return low;
    }

    /** Goes to a point in time. @param {number} pages */
    goTo(pages) {
      const to = this.stepAt(pages);
      if (to < this.at || to > this.at + 2 * KEPT) {
        this.at = Math.floor(to / KEPT) * KEPT;
        this.chip.restore(this.kept[this.at / KEPT]);
        for (; this.at < to; this.at++) this.#forward(this.at + 1);
        this.map.repaint();
      } else {
        for (; this.at < to; this.at++) this.#forward(this.at + 1, (block) => this.map.touch(block));
      }
      this.show();
    }

    /** Whether step `i` cleaned. @param {number} i */
    cleaned(i) {
      return i > 0 && this.steps[i].victims > this.steps[i - 1].victims;
    }

    /** Flash over host writes since another step. @param {number} from */
    amplification(from) {
      const [a, b] = [this.steps[from], this.steps[this.at]];
      return b.pages > a.pages ? (b.pages - a.pages + b.copies - a.copies) / (b.pages - a.pages) : NaN;
    }

    show() {
      const step = this.steps[this.at], first = this.steps[0];
      const [copies, victims] = [step.copies - first.copies, step.victims - first.victims];
      /** @type {[string, string, string, number][]} */
      const figures = [
        ["Write amplification so far", "write_amplification", fixed((step.pages + step.copies) / step.pages, 3), (step.pages + step.copies) / step.pages],
        ["in this excerpt", "", fixed(this.amplification(0), 3), 0],
        ["Pages copied in it", "", grouped(copies), 0],
        ["Valid pages of a victim, mean", "", victims ? `${fixed(copies / victims, 1)} of ${this.chip.pages}` : "–", 0],
        ["Blocks erased so far", "erases", grouped(step.erases), step.erases],
      ];
      this.figures.replaceChildren(...figures.map(([name, key, text, value]) => make("div", {}, make("dt", {}, name), make("dd", key ? { "data-key": key, "data-value": String(value) } : {}, text))));
      // The latest victim, until the next.
      let at = this.at;
      while (at > 0 && !this.cleaned(at)) at--;
      this.map.marks.clear();
      this.showVictim(at);
      this.map.refresh();
      if (this.map.selected >= 0) this.sentence.textContent = this.chip.sentence(this.map.selected);
    }

    /** @param {number} at the step that cleaned, or 0 */
    showVictim(at) {
      if (at === 0) {
        this.victim.replaceChildren(make("p", { class: "note" }, "Nothing was cleaned yet in this excerpt."));
        return;
      }
      const { chosen = [], pages, victims } = this.steps[at];
      const heading = make("h3", {}, `Cleaning ${grouped(victims)}, after ${grouped(pages)} host pages`);
      if (chosen.length === 0) {
        this.victim.replaceChildren(heading, make("p", { class: "note" }, "The layer chose by a rule of its own, without scores."));
        return;
      }
      const choice = chosen[chosen.length - 1];
      if (choice.cost == null) {
        this.map.marks.set(choice.block, "mark");
        this.victim.replaceChildren(heading, make("p", { class: "note" }, `Block ${grouped(choice.block)}, ${choice.valid} of ${this.chip.pages} pages valid. This policy weighs no block against another, so there are no scores.`));
        return;
      }
      for (const { block } of choice.beaten) this.map.marks.set(block, "ink");
      this.map.marks.set(choice.block, "mark");
      const row = (/** @type {Candidate} */ it, /** @type {string} */ what) => [what, grouped(it.block), `${it.valid} of ${this.chip.pages}`, grouped(it.erases), String(+(it.cost ?? NaN).toPrecision(4))];
      const rows = [row(choice, "victim"), ...choice.beaten.map((it) => row(it, "beaten"))];
      const shownTable = table("The victim and those it beat", ["choice", "block", "valid pages", "erases", "score (least is cleaned)"], rows);
      shownTable.querySelector("tbody tr")?.classList.add("chosen");
      const more = chosen.length > 1 ? [make("p", { class: "note" }, `The last of ${chosen.length} in this request.`)] : [];
      this.victim.replaceChildren(heading, shownTable, ...more);
    }

    /** Tells a block's history up to now. @param {number} block */
    tell(block) {
      this.sentence.textContent = this.chip.sentence(block);
      /** @type {string[]} */
      const lines = [];
      const view = new DataView(this.changes.buffer), start = this.kept[0];
      let [used, erases, valid] = [start.used[block], start.erases[block], start.valid[block]];
      for (let i = 1; i <= this.at; i++) {
        const step = this.steps[i];
        const victim = step.chosen?.find((it) => it.block === block);
        if (victim) lines.push(`${grouped(step.pages)}: chosen with ${victim.valid} valid pages${victim.cost == null ? "" : `, score ${+victim.cost.toPrecision(4)}`}`);
        for (let c = this.steps[i - 1].changes; c < step.changes; c++) {
          if (view.getUint32(12 * c, true) !== block) continue;
          const [nowUsed, nowErases, stream] = [view.getUint8(12 * c + 6), view.getUint32(12 * c + 8, true), view.getUint8(12 * c + 7)];
          if (nowErases > erases) lines.push(`${grouped(step.pages)}: erased, ${grouped(nowErases)} times now; it had ${valid} valid pages`);
          if (nowUsed !== used || nowErases > erases) lines.push(`${grouped(step.pages)}: ${USES[nowUsed]}${nowUsed === OPEN ? ` for stream ${stream}` : ""}`);
          [used, erases, valid] = [nowUsed, nowErases, view.getUint16(12 * c + 4, true)];
        }
      }
      const shownLines = lines.length ? lines.slice(-200) : ["nothing happened to it in this excerpt so far but what its pages show"];
      this.history.replaceChildren(...shownLines.map((line) => make("li", {}, line)));
    }
  }

  /** @param {Json} recording */
  async function begin(recording) {
    const place = byId("runs");
    /** @type {Run[]} */
    const runs = [];
    for (const run of recording.runs) runs.push(new Run(run, await unpacked(run.start), await unpacked(run.changes), place));
    const [from, to] = [Math.min(...runs.map((run) => run.steps[0].pages)), Math.min(...runs.map((run) => run.steps[run.steps.length - 1].pages))];
    let [now, playing, last] = [from, false, 0];
    const time = byId("time");
    [time.min, time.max] = [String(from), String(to)];
    byId("what").textContent = shown(`${recording.input}: host pages ${grouped(from)} to ${grouped(to)} of ${grouped(Math.max(...runs.map((run) => run.recorded.result.host.pages_written)))}`);
    byId("command").textContent = shown(recording.command);
    const pages = (/** @type {number} */ x) => grouped(x);
    const colours = ["a", "b", "c", "d"];
    const charts = {
      wa: new Chart(byId("wa"), "Write amplification in the excerpt", { x: pages, y: (y) => fixed(y, 2), axis: "host pages" }),
      valid: new Chart(byId("valid"), "Valid pages of victims, mean of the last blocks", { x: pages, y: (y) => fixed(y, 1), axis: "host pages" }),
      course: new Chart(byId("course"), "Write amplification over the whole run", { x: pages, y: (y) => fixed(y, 2), axis: "host pages" }),
    };

    /** A line of each run. @param {(run: Run) => [number, number][]} points @returns {Line[]} */
    const lines = (points) => runs.map((run, i) => ({ name: shown(run.recorded.policy), colour: colours[i % colours.length], dash: i ? `${8 - 2 * i} 4` : "", points: points(run) }));
    /** Points of an excerpt: something between a step and one a tenth before. @param {(a: Step, b: Step) => number} of */
    const moving = (of) => lines((run) => {
      const back = Math.max(2, Math.floor(run.steps.length / 20)), every = Math.max(1, Math.floor(run.steps.length / 200));
      /** @type {[number, number][]} */
      const points = [];
      for (let i = back; i < run.steps.length; i += every) {
        const y = of(run.steps[i - back], run.steps[i]);
        if (Number.isFinite(y)) points.push([run.steps[i].pages, y]);
      }
      return points;
    });
    const amplified = moving((a, b) => (b.pages - a.pages + b.copies - a.copies) / (b.pages - a.pages));
    const utilized = moving((a, b) => (b.copies - a.copies) / (b.victims - a.victims));
    charts.course.lines(lines((run) => run.recorded.course.filter((/** @type {number[]} */ p) => p[0] > 0).map((/** @type {number[]} */ [x, copies]) => [x, (x + copies) / x])));

    const show = () => {
      time.value = String(now);
      time.setAttribute("aria-valuetext", `${grouped(now)} host pages`);
      byId("at").textContent = `Host page ${grouped(now)}`;
      for (const run of runs) run.goTo(now);
      charts.wa.lines(amplified, now);
      charts.valid.lines(utilized, now);
      answer();
    };

    const answer = () => {
      const rank = [...runs].sort((a, b) => (a.steps[a.at].copies - a.steps[0].copies) - (b.steps[b.at].copies - b.steps[0].copies));
      const [best, worst] = [rank[0], rank[rank.length - 1]];
      const copied = (/** @type {Run} */ run) => run.steps[run.at].copies - run.steps[0].copies;
      const place = byId("answer");
      if (runs.length < 2 || now <= from || copied(worst) === 0) {
        place.textContent = "Play, or step from cleaning to cleaning: every policy gets the same writes.";
        return;
      }
      const mean = (/** @type {Run} */ run) => fixed(copied(run) / Math.max(run.steps[run.at].victims - run.steps[0].victims, 1), 1);
      place.replaceChildren(make("strong", {}, shown(best.recorded.policy)), ` copied ${grouped(copied(best))} pages, `, make("strong", {}, shown(worst.recorded.policy)),
        ` ${grouped(copied(worst))}, for the same ${grouped(now - from)} host pages: a victim held ${mean(best)} valid pages on average, against ${mean(worst)}.`);
    };

    /** The next time at which a policy cleaned, in a direction. @param {number} way */
    const cleaning = (way) => {
      let found = way > 0 ? to : from;
      for (const run of runs) {
        for (let i = run.stepAt(now) + (way > 0 ? 1 : 0); i > 0 && i < run.steps.length; i += way) {
          const at = run.steps[i].pages;
          if (!run.cleaned(i) || (way > 0 ? at <= now : at >= now)) continue;
          found = way > 0 ? Math.min(found, at) : Math.max(found, at);
          break;
        }
      }
      stop();
      now = found;
      show();
    };

    const stop = () => {
      playing = false;
      byId("play").textContent = "Play";
    };
    const turn = (/** @type {number} */ stamp) => {
      if (!playing) return;
      if (!SLOW.matches || stamp - last >= 1000) {
        const passed = Math.min((stamp - last) / 1000, 1);
        last = stamp;
        now = Math.min(to, now + Math.max(passed * Number(byId("speed").value) * runs[0].chip.pages, 0.01));
        const shownAt = now;
        show();
        now = shownAt;
        if (now >= to) return stop();
      }
      requestAnimationFrame(turn);
    };
    const play = () => {
      if (playing) return stop();
      if (now >= to) now = from;
      [playing, last] = [true, performance.now()];
      byId("play").textContent = "Stop";
      requestAnimationFrame(turn);
    };

    byId("play").addEventListener("click", play);
    byId("next").addEventListener("click", () => cleaning(1));
    byId("back").addEventListener("click", () => cleaning(-1));
    time.addEventListener("input", () => {
      stop();
      now = Number(time.value);
      show();
    });
    byId("mode").addEventListener("change", () => runs.forEach((run) => run.map.colourBy(byId("mode").value)));
    document.addEventListener("keydown", (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.ctrlKey || event.altKey || event.metaKey || ["BUTTON", "SELECT", "INPUT", "SUMMARY"].includes(target.tagName)) return;
      const keys = /** @type {Record<string, () => void>} */ ({ " ": play, ".": () => cleaning(1), ",": () => cleaning(-1) });
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });

    // The simulator's own results, by its keys.
    const rows = /** @type {[string, string, (n: any) => string][]} */ ([
      ["host pages written", "host.pages_written", grouped], ["pages copied", "flash.pages_copied", grouped], ["blocks erased", "flash.blocks_erased", grouped],
      ["write amplification", "write_amplification", (n) => fixed(n, 3)], ["response of writes, 99th percentile", "response_us.write.p99", (n) => (n == null ? "–" : duration(n))],
    ]);
    const value = (/** @type {Json} */ of, /** @type {string} */ path) => path.split(".").reduce((it, key) => (it == null ? it : it[key]), of);
    const whole = table("The whole run", ["figure", ...runs.map((run) => shown(run.recorded.policy))], rows.map(([name, path, look]) => [name, ...runs.map((run) => look(value(run.recorded.result, path)))]));
    whole.querySelectorAll("tbody tr").forEach((row, r) => row.querySelectorAll("td").forEach((cell, c) => {
      if (c) cell.setAttribute("data-value", String(value(runs[c - 1].recorded.result, rows[r][1])));
      if (c) cell.setAttribute("data-key", rows[r][1]);
    }));
    byId("whole").append(whole);
    show();
    document.body.dataset.ready = "yes";
  }

  begin(JSON.parse(byId("recording").textContent)).catch((error) => {
    byId("answer").textContent = `The recording cannot be shown: ${error}`;
    throw error;
  });
}
