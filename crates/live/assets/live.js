"use strict";
// The page of a served chip: one stream of frames in, figures, charts and the map of blocks out.

{
  /** Seconds of history in the charts, and what "now" means. */
  const HISTORY = 120, NOW = 5;
  /** Events kept of all blocks, and shown of one. */
  const EVENTS = 1 << 16, SHOWN = 20;

  /** @type {Chip | null} */
  let chip = null;
  /** @type {ChipMap | null} */
  let map = null;
  /** @type {{ s: number, figures: Json }[]} */
  let past = [];
  /** @type {Json} */
  let about = {};
  let [begun, paused, painted, shownAt] = [0, false, 0, 0];
  /** The latest events, in a ring: what happens to thousands of blocks a second becomes words for the chosen one alone. */
  const seen = { count: 0, block: new Int32Array(EVENTS), s: new Float64Array(EVENTS), used: new Uint8Array(EVENTS), stream: new Uint8Array(EVENTS), erases: new Uint32Array(EVENTS), erased: new Uint8Array(EVENTS) };
  /** @type {EventSource | null} */
  let stream = null;

  const seconds = (/** @type {number} */ x) => `${Math.round(x)} s`;
  /** How long ago, in seconds below 0. @param {number} x */
  const hours = (x) => (x > -120 ? `${Math.round(-x)} s` : x > -7200 ? `${Math.round(-x / 60)} min` : x > -172800 ? `${Math.round(-x / 3600)} h` : `${Math.round(-x / 86400)} d`);
  const charts = {
    wa: new Chart(byId("wa"), "Write amplification", { x: seconds, y: (y) => fixed(y, 2), axis: "since this page was opened" }),
    writes: new Chart(byId("writes"), "Pages a second", { x: seconds, y: (y) => grouped(y), axis: "since this page was opened" }),
    latency: new Chart(byId("latency"), "Response time, 99th percentile", { x: seconds, y: duration, axis: "since this page was opened" }),
    victims: new Chart(byId("victims"), "Valid pages of victims, mean", { x: seconds, y: (y) => fixed(y, 1), axis: "since this page was opened" }),
    pastSpare: new Chart(byId("pastspare"), "Blocks that may still fail, pages lost", { x: hours, y: (y) => grouped(y), axis: "before now" }),
    pastWear: new Chart(byId("pastwear"), "Wear against the rating, mean block", { x: hours, y: (y) => `${y === 0 ? 0 : fixed(y, y < 0.1 ? 3 : y < 10 ? 2 : 0)} %`, axis: "before now" }),
    pastWa: new Chart(byId("pastwa"), "Write amplification over time", { x: hours, y: (y) => fixed(y, 2), axis: "before now" }),
    wear: new Chart(byId("wear"), "Erases of blocks", { x: String, y: (y) => grouped(y), axis: "erases" }),
  };

  /** A figure of a frame by its path. @param {Json} figures @param {string} path @returns {any} */
  const figure = (figures, path) => path.split(".").reduce((/** @type {any} */ of, key) => (of == null ? of : of[key]), figures);
  /** How much it grew between two frames. @param {Json} a @param {Json} b @param {string} path */
  const grown = (a, b, path) => (figure(b, path) ?? 0) - (figure(a, path) ?? 0);

  /** Flash over host writes between two frames. @param {Json} a @param {Json} b */
  function amplification(a, b) {
    const host = grown(a, b, "since_mount.host_pages_written");
    return host > 0 ? (host + grown(a, b, "since_mount.flash_pages_copied")) / host : NaN;
  }

  /**
   * The upper end of the class in which a share of the requests between two frames was answered, in µs.
   * @param {Json | null} a @param {Json} b @param {string} kind @param {number} share
   */
  function percentile(a, b, kind, share) {
    /** @type {number[]} */
    const now = figure(b, `clients.latency.${kind}`) ?? [];
    /** @type {number[]} */
    const before = (a && figure(a, `clients.latency.${kind}`)) ?? [];
    const counts = now.map((n, i) => n - (before[i] ?? 0));
    const all = counts.reduce((x, y) => x + y, 0);
    let sum = 0;
    const at = counts.findIndex((n) => (sum += n) >= all * share && all > 0);
    return at < 0 ? NaN : about.latency_limits_us[at];
  }

  /** The frame some seconds ago. @param {number} ago */
  function since(ago) {
    const last = past[past.length - 1];
    return past.find((one) => one.s >= last.s - ago) ?? last;
  }

  /** Name, key of the frame, how it looks. @type {[string, string, (value: any, figures: Json) => string][]} */
  const TILES = [
    ["Write amplification since mount", "since_mount.write_amplification", (n) => fixed(n, 3)],
    [`Write amplification, last ${NOW} s`, "", () => fixed(amplification(since(NOW).figures, past[past.length - 1].figures), 3)],
    ["May still fail before read-only", "spare_blocks", (n) => (n == null ? "–" : grouped(n))],
    ["Pages lost since mount", "since_mount.pages_lost", grouped],
    ["Wear of the rating, mean / most", "", () => wearOfRating()],
    ["Host pages written", "since_mount.host_pages_written", grouped],
    ["Pages copied", "since_mount.flash_pages_copied", grouped],
    ["Blocks erased", "since_mount.flash_blocks_erased", grouped],
    ["Free blocks", "free_blocks", (n) => (n == null ? "–" : grouped(n))],
    ["Erases of a block, mean", "", () => (chip ? `${fixed(chip.wear().mean, 2)}` : "–")],
    ["Write p50 / p99 since start", "", (_, f) => both(f, "write")],
    ["Read p50 / p99 since start", "", (_, f) => both(f, "read")],
    ["Connections", "clients.connections", grouped],
    ["Requests in flight", "clients.in_flight", grouped],
    ["Failed reads, programs, erases", "", (_, f) => ["failed_reads", "failed_programs", "failed_erases"].map((key) => grouped(f.health[key])).join(", ")],
  ];
  /** Erases of the mean and of the most worn block over what a block is rated for. */
  function wearOfRating() {
    if (!chip || !about.endurance) return "–";
    const { mean, max } = chip.wear();
    return [mean, max].map((n) => `${fixed((n / about.endurance) * 100, 2)} %`).join(" / ");
  }
  const both = (/** @type {Json} */ figures, /** @type {string} */ kind) => {
    const [half, most] = [0.5, 0.99].map((share) => percentile(null, figures, kind, share));
    return Number.isNaN(half) ? "–" : `≤ ${duration(half)} / ${duration(most)}`;
  };
  const tiles = TILES.map(([name, key]) => {
    const value = make("dd", key ? { "data-key": key } : {});
    byId("tiles").append(make("div", {}, make("dt", {}, name), value));
    return value;
  });

  /** @param {Json} frame */
  function take(frame) {
    const s = frame.time_ms / 1000;
    if (frame.whole !== undefined) {
      about = frame;
      if (!chip || !map || chip.blocks !== frame.blocks) begin(frame, s);
      const known = /** @type {Chip} */ (chip), first = past.length === 0;
      const opened = known.opened.slice();
      known.whole(bytesOf(frame.whole), s);
      if (!first) known.opened.set(opened);
      /** @type {ChipMap} */ (map).repaint();
      delete frame.whole;
    }
    if (!chip || !map) return;
    if (frame.changed !== undefined) {
      const bytes = bytesOf(frame.changed);
      note(bytes, s);
      const drawn = map;
      chip.change(bytes, 0, bytes.length / 12, s, (block) => drawn.touch(block));
      delete frame.changed;
    }
    past.push({ s, figures: frame });
    while (past[0].s < s - HISTORY) past.shift();
    if (paused || (SLOW.matches && s - shownAt < 1)) return;
    shownAt = s;
    show(frame);
  }

  /** Another chip. @param {Json} frame @param {number} s */
  function begin(frame, s) {
    chip = new Chip(frame.blocks, frame.pages_per_block);
    begun = s;
    const canvas = byId("map"), fresh = canvas.cloneNode();
    canvas.replaceWith(fresh);
    map = new ChipMap(fresh, byId("legend"), chip, { height: 560, age: (n) => `${grouped(n)} s`, select });
    map.colourBy(byId("mode").value);
  }

  /** Keeps what happened to blocks. @param {Uint8Array} bytes @param {number} s */
  function note(bytes, s) {
    const view = new DataView(bytes.buffer), known = /** @type {Chip} */ (chip);
    for (let at = 0; at + 12 <= bytes.length; at += 12) {
      const block = view.getUint32(at, true), used = view.getUint8(at + 6), erases = view.getUint32(at + 8, true);
      const [was, had] = [known.used[block], known.erases[block]];
      if (used === was && erases === had) continue;
      const i = seen.count++ % EVENTS;
      [seen.block[i], seen.s[i], seen.used[i], seen.stream[i]] = [block, s, used, view.getUint8(at + 7)];
      [seen.erases[i], seen.erased[i]] = [erases, Number(erases > had)];
    }
  }

  /** What was seen of a block, oldest first. @param {number} block */
  function eventsOf(block) {
    const lines = [];
    for (let at = seen.count - 1; at >= 0 && at >= seen.count - EVENTS && lines.length < SHOWN; at--) {
      const i = at % EVENTS;
      if (seen.block[i] !== block) continue;
      const became = `${USES[seen.used[i]]}${seen.used[i] === OPEN ? ` for stream ${seen.stream[i]}` : ""}`;
      lines.push(`${seconds(seen.s[i] - begun)}: ${seen.erased[i] ? `erased (${grouped(seen.erases[i])} times now), ` : ""}${became}`);
    }
    return lines.length ? lines.reverse() : ["nothing since this page was opened"];
  }

  /** @param {Json} frame */
  function show(frame) {
    byId("what").textContent = shown(`${about.export || "the default export"}: ${frame.settings?.policy ?? ""} on ${about.device}, ${size(about.exported_bytes)}, ${grouped(about.blocks)} blocks of ${about.pages_per_block} pages`);
    byId("status").textContent = shown(frame.state);
    byId("status").classList.toggle("off", frame.state !== "served");
    TILES.forEach(([, key, look], i) => {
      const value = key ? figure(frame, key) : null;
      tiles[i].textContent = look(value, frame);
      if (key) tiles[i].setAttribute("data-value", String(value));
    });
    const now = performance.now();
    /** @type {ChipMap} */ (map).refresh();
    tell(/** @type {ChipMap} */ (map).selected);
    if (now - painted < 480) return;
    painted = now;
    draw();
  }

  function draw() {
    const every = Math.max(1, Math.floor(past.length / 240));
    /** @type {Record<string, [number, number][]>} */
    const points = { wa: [], total: [], host: [], flash: [], write: [], read: [], valid: [] };
    for (let i = 4; i < past.length; i += every) {
      // A second back: four frames.
      const [a, b] = [past[i - 4], past[i]], x = b.s - begun, took = b.s - a.s || 1;
      const add = (/** @type {string} */ name, /** @type {number} */ y) => Number.isFinite(y) && points[name].push([x, y]);
      add("wa", amplification(a.figures, b.figures));
      add("total", b.figures.since_mount.write_amplification ?? NaN);
      add("host", grown(a.figures, b.figures, "since_mount.host_pages_written") / took);
      add("flash", grown(a.figures, b.figures, "since_mount.flash_pages_programmed") / took);
      add("write", percentile(a.figures, b.figures, "write", 0.99));
      add("read", percentile(a.figures, b.figures, "read", 0.99));
      add("valid", grown(a.figures, b.figures, "since_mount.victims_valid_pages") / grown(a.figures, b.figures, "since_mount.cleaning_victims"));
    }
    charts.wa.lines([{ name: "last second", colour: "a", points: points.wa }, { name: "since mount", colour: "b", dash: "6 4", points: points.total }]);
    charts.writes.lines([{ name: "host writes", colour: "a", points: points.host }, { name: "flash programs", colour: "b", dash: "6 4", points: points.flash }]);
    charts.latency.lines([{ name: "writes", colour: "a", points: points.write }, { name: "reads", colour: "b", dash: "6 4", points: points.read }]);
    charts.victims.lines([{ name: `of ${about.pages_per_block} pages`, colour: "a", points: points.valid }]);
    if (!chip) return;
    const { min, max } = chip.wear(), width = Math.max(1, Math.ceil((max - min + 1) / 16));
    const counts = Array.from({ length: Math.floor((max - min) / width) + 1 }, () => 0);
    for (let block = 0; block < chip.blocks; block++) if (chip.used[block] !== BAD) counts[Math.floor((chip.erases[block] - min) / width)]++;
    charts.wear.columns(counts.map((n, i) => [width > 1 ? `${grouped(min + i * width)}–${grouped(min + (i + 1) * width - 1)}` : grouped(min + i), n]), "blocks, by erase count");
  }

  /** How the export was since the server started. */
  async function remember() {
    const asked = byId("export").value || 0;
    /** @type {Json | null} */
    const was = await fetch(`history?export=${asked}`).then((it) => it.json(), () => null);
    if (!was || asked !== (byId("export").value || 0)) return;
    const now = Date.now();
    /** @type {number[]} */
    const times = was.time_ms.map((/** @type {number} */ ms) => (ms - now) / 1000);
    /** @param {(i: number) => number | null} y @returns {[number, number][]} */
    const points = (y) => times.flatMap((x, i) => {
      const value = y(i);
      return value == null || !Number.isFinite(value) ? [] : [/** @type {[number, number]} */ ([x, value])];
    });
    const grew = (/** @type {string} */ key, /** @type {number} */ i) => was[key][i] - was[key][i - 1];
    charts.pastSpare.lines([
      { name: "may still fail", colour: "a", points: points((i) => was.spare_blocks[i]) },
      { name: "pages lost since mount", colour: "b", dash: "6 4", points: points((i) => was.pages_lost[i]) },
    ]);
    charts.pastWear.lines([{ name: "mean block", colour: "a", points: points((i) => (was.wear_mean[i] / (about.endurance || NaN)) * 100) }]);
    const amplified = (/** @type {number} */ i) => {
      const host = i > 0 ? grew("host_pages_written", i) : 0;
      return host > 0 ? (host + grew("flash_pages_copied", i)) / host : NaN;
    };
    charts.pastWa.lines([{ name: "between samples", colour: "a", points: points(amplified) }]);
  }

  /** How the chosen block is, and what was seen of it. @param {number} block */
  function tell(block) {
    if (block < 0) return;
    const sentence = /** @type {Chip} */ (chip).sentence(block);
    if (byId("sentence").textContent === sentence) return;
    byId("sentence").textContent = sentence;
    byId("history").replaceChildren(...eventsOf(block).map((text) => make("li", {}, text)));
  }

  /** @param {number} block */
  async function select(block) {
    tell(block);
    const place = byId("pages");
    const answer = await fetch(`block?export=${byId("export").value || 0}&block=${block}`).then((it) => it.json(), () => ({ pages: [] }));
    if (/** @type {ChipMap} */ (map).selected !== block) return;
    const names = ["free", "garbage", "valid"];
    /** @type {[number, number | null][]} */
    const pages = answer.pages;
    place.hidden = pages.length === 0;
    place.replaceChildren(...pages.map(([state, owner], i) => make("i", { class: names[state], title: `page ${i}: ${names[state]}${owner == null ? "" : `, logical page ${grouped(owner)}`}` })));
    const count = (/** @type {number} */ state) => pages.filter(([one]) => one === state).length;
    const text = pages.length ? `${count(2)} valid (blue), ${count(1)} garbage (striped), ${count(0)} free pages, when it was chosen.` : "This layer does not distinguish pages.";
    place.setAttribute("aria-label", text);
    byId("pagenote").textContent = text;
  }

  function connect() {
    setTimeout(remember, 1000);
    stream?.close();
    [chip, map, past, seen.count, shownAt] = [null, null, [], 0, 0];
    stream = new EventSource(`events?export=${byId("export").value || 0}`);
    stream.addEventListener("message", (event) => take(JSON.parse(event.data)));
    stream.addEventListener("error", () => {
      byId("status").textContent = "the server does not answer; asking again";
      byId("status").classList.add("off");
    });
  }

  byId("mode").addEventListener("change", () => map?.colourBy(byId("mode").value));
  byId("export").addEventListener("change", connect);
  byId("pause").addEventListener("click", () => {
    paused = !paused;
    byId("pause").setAttribute("aria-pressed", String(paused));
    byId("pause").textContent = paused ? "Go on" : "Pause";
    if (!paused) map?.repaint();
  });
  setInterval(() => paused || remember(), 60000);
  fetch("exports").then((it) => it.json()).then((/** @type {string[]} */ names) => {
    byId("export").replaceChildren(...names.map((name, i) => make("option", { value: String(i) }, shown(name) || "(default)")));
    byId("exports").hidden = names.length < 2;
    connect();
  });
}
