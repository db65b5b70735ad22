// @ts-check
// The page: settings in a form and in the address, a worker for each policy, and their results as one report.

// @ts-ignore: it has no types.
import { decompress } from "./fzstd.js";
import { EXAMPLES, named, read, split } from "./own.js";
import { Courses, replayed } from "./watch.js";

/** A setting by its name; null for a flag. @typedef {[string, string | null]} Setting */

const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const USUAL = ["thermocline", "greedy", "cost-benefit", "cat", "dac", "sep-bit", "midas", "fifo"];
/** Presets that no controller can have. */
const KNOW_THE_FUTURE = new Set(["fk", "oracle"]);
const WORKLOAD = "workload";
const FILE = "file";
/** Names in the address of what is watched; the others are settings. */
const WATCHED = ["watch", "watch-from", "watch-blocks"];
/** A trace of a link that the reader has to choose. */
let wanted = "";
/** The traces at hand, by name. @type {Map<string, Blob>} */
const files = new Map();
/** @type {Worker[]} */
let workers = [];
/** Whether a later run has begun. */
let run = 0;
const courses = new Courses(byId("course"));
/** The settings of the comparison that is shown, without policies. @type {Setting[]} */
let compared = [];
/** Its policies. */
let comparedPolicies = "";
/** What a link shows beside the comparison: two policies, and the excerpt. @type {Map<string, string>} */
let toWatch = new Map();

/** @param {string} name @param {string} [text] */
const made = (name, text = "") => {
  const it = document.createElement(name);
  it.textContent = text;
  return it;
};

/** The simulator, compiled once. It comes packed by zstd, which needs a third fewer bytes, or by gzip where the site was built without. */
const compiled = (async () => {
  const answer = await fetch("thermocline.wasm.packed");
  if (!answer.ok) throw new Error(`the simulator cannot be loaded: ${answer.status}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (bytes[0] === 0x28) return WebAssembly.compile(decompress(bytes));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
})();

/** Asks a worker of its own, which may stay when a comparison is stopped. @param {string} question @param {(share: { read?: number, done?: number, written?: number, copied?: number }) => void} [progress] @returns {Promise<{ text: string, seconds: number, memory: number }>} */
const asked = async (question, progress = () => {}, stays = false) => {
  const module = await compiled;
  const worker = new Worker("worker.js", { type: "module" });
  if (!stays) workers.push(worker);
  return new Promise((resolve) => {
    const end = (/** @type {string} */ text, seconds = 0, memory = 0) => {
      worker.terminate();
      resolve({ text, seconds, memory });
    };
    worker.addEventListener("message", ({ data }) => {
      if (data.answer === undefined) progress(data);
      else end(data.answer, data.seconds, data.memory);
    });
    worker.addEventListener("error", (event) => end(JSON.stringify({ error: `a worker failed: ${event.message}` })));
    worker.postMessage({ module, files: [...files], question });
  });
};

/** The policy of the reader's own; empty if there is none. */
const ofReader = () => {
  const [score, stream] = ["score", "stream"].map((id) => byId(id).value.trim().replace(/\s+/g, " "));
  return named({ score, stream, base: byId("base").value });
};

/** Fills the form. @param {Record<"score" | "stream" | "base", string>} policy */
const own = (policy) => {
  for (const [id, value] of Object.entries(policy)) Object.assign(byId(id), { value });
};

/** @returns {string[]} */
const chosen = () => {
  const ticked = [...document.querySelectorAll("#policies input:checked")].map((it) => /** @type {HTMLInputElement} */ (it).value);
  return [...new Set([ofReader(), ...ticked, ...split(byId("own").value)].filter(Boolean))];
};

/** The number of the last check. */
let checks = 0;

/** Says whether the reader's policy can be read, and if not, where it ends to make sense. */
const checked = async () => {
  const mine = ++checks;
  const policy = ofReader();
  const says = byId("score-says");
  // Not at every letter.
  if (policy) await new Promise((resolve) => { setTimeout(resolve, 150); });
  if (mine !== checks) return;
  const { value } = policy ? JSON.parse((await asked(JSON.stringify({ ask: "check", policy }), () => {}, true)).text) : { value: "" };
  if (mine !== checks) return;
  says.textContent = !policy ? "Empty: no policy of your own." : value || `Compared as ${policy}.`;
  says.classList.toggle("error", Boolean(value));
  for (const id of ["score", "stream"]) byId(id).setAttribute("aria-invalid", String(Boolean(value && byId(id).value)));
};

/** What the form says, without policies. @returns {Setting[]} */
const settings = () => {
  /** @type {Setting[]} */
  const all = [];
  const input = byId("input").value;
  if (input === WORKLOAD) {
    all.push([WORKLOAD, byId("workload").value.trim()]);
    if (byId("capacity").value.trim()) all.push(["capacity", byId("capacity").value.trim()]);
  } else {
    all.push(["trace", input === FILE ? (byId("file").files[0]?.name ?? wanted) : input]);
    if (byId("ignore-trim").checked) all.push(["ops", "-trim"]);
  }
  if (byId("device").value) all.push(["device", byId("device").value]);
  all.push(["over-provisioning", `${byId("spare").value}%`]);
  if (byId("settle").checked) all.push(["settle", null]);
  if (byId("no-wait").checked) all.push(["clock", "device"]);
  for (const line of byId("more").value.split("\n").map((/** @type {string} */ text) => text.trim()).filter(Boolean)) {
    const [, name, value] = /^-*([^\s=]+)\s*=?\s*(.*)$/.exec(line) ?? [];
    if (name) all.push([name, value || null]);
  }
  return all;
};

const wholly = () => /** @type {Setting[]} */ ([...settings(), ["policies", chosen().join(",")]]);

const address = (/** @type {Setting[]} */ all) => `#${new URLSearchParams(all.map(([name, value]) => [name, value ?? ""]))}`;

const shown = () => {
  const input = byId("input").value;
  byId("of-file").hidden = input !== FILE;
  byId("of-workload").hidden = input !== WORKLOAD;
  byId("ignore-trim").disabled = input === WORKLOAD;
  byId("spare-is").textContent = `${byId("spare").value} %`;
  const file = byId("file").files[0];
  byId("chosen").textContent = file ? `${file.name}, ${file.size.toLocaleString("en")} bytes; it stays on this machine.` : wanted && `This view is of ${wanted}: choose that file.`;
  const device = devices.find((it) => it.name === byId("device").value);
  byId("about-device").textContent = device?.summary ?? "The one that the trace was recorded on if it names one, else a generic SLC NAND chip (slc-generic).";
  byId("sources").replaceChildren(...(device?.sources ?? []).map((/** @type {string} */ text) => made("li", text)));
  const kind = byId("workload").value.split(/[:/]/)[0];
  byId("about-workload").textContent = workloads.find((it) => it.syntax.split(/[:/[]/)[0] === kind)?.summary ?? "";
};

/** @type {{ name: string, summary: string, sources: string[] }[]} */
let devices = [];
/** @type {{ syntax: string, summary: string }[]} */
let workloads = [];

/** Fills the form from the address. Returns whether it says anything. */
const applied = () => {
  const given = [...new URLSearchParams(location.hash.slice(1))];
  if (given.length === 0) return false;
  const more = [];
  for (const id of ["ignore-trim", "settle", "no-wait"]) byId(id).checked = false;
  byId("device").value = "";
  toWatch = new Map(given.filter(([name]) => WATCHED.includes(name)));
  for (const [name, value] of given) {
    if (toWatch.has(name)) continue;
    if (name === "trace") {
      const known = [...byId("input").options].some((option) => option.value === value);
      byId("input").value = known ? value : FILE;
      wanted = known ? "" : value;
    } else if (name === WORKLOAD) {
      byId("input").value = WORKLOAD;
      byId("workload").value = value;
    } else if (name === "policies") {
      const names = split(value);
      const at = names.findIndex((name) => [...byId("base").options].some((option) => option.value === read(name)?.base));
      own((at >= 0 && read(names.splice(at, 1)[0])) || { score: "", stream: "", base: "" });
      for (const it of byId("policies").querySelectorAll("input")) it.checked = names.includes(it.value);
      byId("own").value = names.filter((one) => ![...byId("policies").querySelectorAll("input")].some((it) => it.value === one)).join(", ");
    } else if (name === "ops" && value === "-trim") byId("ignore-trim").checked = true;
    else if (name === "settle" && !value) byId("settle").checked = true;
    else if (name === "clock" && value === "device") byId("no-wait").checked = true;
    else if (name === "over-provisioning" && /^\d+%$/.test(value) && Number.parseInt(value, 10) <= 60) byId("spare").value = Number.parseInt(value, 10);
    else if (name === "device" && devices.some((it) => it.name === value)) byId("device").value = value;
    else if (name === "capacity" && given.some(([other]) => other === WORKLOAD)) byId("capacity").value = value;
    else more.push(`${name} ${value}`.trim());
  }
  byId("more").value = more.join("\n");
  return true;
};

/** @param {string} text */
const failed = (text) => {
  byId("error").textContent = text;
  byId("error").hidden = !text;
};

const stopped = () => {
  run += 1;
  workers.forEach((worker) => worker.terminate());
  workers = [];
  byId("run").disabled = false;
  byId("watch").disabled = false;
  byId("stop").hidden = true;
};

/** The trace that the settings name, if it is not at hand yet. @param {Setting[]} given */
const fetched = async (given) => {
  const name = given.find(([it]) => it === "trace")?.[1];
  if (!name) return;
  const file = byId("input").value === FILE ? byId("file").files[0] : undefined;
  if (byId("input").value === FILE && !file) throw new Error("no trace is chosen; choose a file, or drop one on the page");
  files.clear();
  if (file) files.set(file.name, file);
  else {
    const answer = await fetch(name);
    if (!answer.ok) throw new Error(`${name} cannot be loaded: ${answer.status}`);
    files.set(name, await answer.blob());
  }
};

/** A row of the table of progress. @param {string} policy */
const row = (policy) => {
  const line = made("tr");
  const name = made("th", policy);
  name.setAttribute("scope", "row");
  const bar = /** @type {HTMLProgressElement} */ (made("progress"));
  bar.setAttribute("aria-label", policy);
  const cell = made("td");
  cell.append(bar);
  line.append(name, cell, made("td"), made("td"));
  byId("progress").tBodies[0].append(line);
  return { line, bar };
};

/** Runs one policy in a worker of its own. @param {string} policy @param {Setting[]} given */
const one = async (policy, given, { line, bar } = row(policy)) => {
  const question = JSON.stringify({ ask: "compare", settings: [...given, ["policies", policy], ["no-oracle", null]] });
  const { text, seconds, memory } = await asked(question, ({ read, done, written, copied }) => {
    courses.add(policy, written ?? 0, copied ?? 0);
    // Of a run the trace takes a part, and reading it a smaller one.
    bar.value = done === undefined ? (read ?? 0) * 0.2 : 0.2 + 0.8 * done;
  });
  const answer = JSON.parse(text);
  const cells = [...line.children].slice(1);
  line.dataset.memory = String(memory);
  if (answer.error) {
    cells[0].textContent = answer.error;
    cells[0].className = "wide";
    cells[0].setAttribute("colspan", "3");
    cells.slice(1).forEach((cell) => cell.remove());
  } else {
    const [result] = answer.value[0].rows[0].runs.Ok;
    cells[0].textContent = result.write_amplification?.toFixed(3) ?? "–";
    cells[1].textContent = result.flash.blocks_erased.toLocaleString("en");
    cells[2].textContent = seconds.toFixed(2);
    courses.add(policy, result.host.pages_written, result.flash.pages_copied);
  }
  return { policy, text, notes: answer.notes ?? [], error: answer.error };
};

/** @param {any} element @param {string} text @param {string} type */
const offered = (element, text, type) => {
  URL.revokeObjectURL(element.href);
  element.href = URL.createObjectURL(new Blob([text], { type }));
};

/** @param {string} html */
const framed = (html) => {
  const frame = byId("report");
  frame.hidden = false;
  frame.srcdoc = html;
  frame.addEventListener("load", () => {
    const inside = frame.contentDocument.body;
    // What stands above the frame.
    inside.querySelectorAll("h1, .answer").forEach((/** @type {HTMLElement} */ it) => { it.hidden = true; });
    const fit = () => { frame.style.height = `${inside.scrollHeight + 40}px`; };
    new ResizeObserver(fit).observe(inside);
    fit();
  }, { once: true });
};

const compare = async () => {
  stopped();
  const mine = run;
  const begun = performance.now();
  failed("");
  byId("done").hidden = false;
  byId("answer").textContent = "";
  byId("exports").hidden = true;
  byId("command-is").hidden = true;
  byId("report").hidden = true;
  byId("watching").hidden = true;
  byId("progress").hidden = false;
  byId("progress").tBodies[0].replaceChildren();
  byId("notes").replaceChildren();
  byId("run").disabled = true;
  byId("stop").hidden = false;
  byId("state").textContent = "Running …";
  history.replaceState(null, "", address(wholly()));
  try {
    const [given, policies] = [settings(), chosen()];
    if (policies.length === 0) throw new Error("no policy is chosen; tick one or two");
    await fetched(given);
    courses.begin(policies);
    byId("course").hidden = false;
    // A worker for each core at once; each has one policy.
    const waiting = policies.map((policy) => ({ policy, line: row(policy) }));
    /** @type {Awaited<ReturnType<typeof one>>[]} */
    const parts = Array.from({ length: policies.length });
    let next = 0;
    const work = async () => {
      while (next < waiting.length && mine === run) {
        const at = next++;
        parts[at] = await one(waiting[at].policy, given, waiting[at].line);
      }
    };
    await Promise.all(Array.from({ length: Math.max(1, navigator.hardwareConcurrency || 2) }, work));
    if (mine !== run) return;
    if (parts.every(({ error }) => error)) throw new Error(parts[0].error);
    const all = [...given, ["policies", policies.join(",")], ["no-oracle", null]];
    // Answers go on as they came: a number of JavaScript may not hold theirs.
    const each = parts.map(({ policy, text }) => `{"policy":${JSON.stringify(policy)},"answer":${text}}`);
    const of = async (/** @type {string} */ ask) => {
      const { text } = await asked(`{"ask":"${ask}","settings":${JSON.stringify(all)},"parts":[${each}]}`);
      return JSON.parse(text);
    };
    const seconds = () => ((performance.now() - begun) / 1000).toFixed(1);
    const { value, error } = await of("answer");
    if (mine !== run) return;
    if (error) throw new Error(error);
    byId("answer").textContent = value.sentence;
    byId("notes").replaceChildren(...[...new Set(parts.flatMap(({ notes }) => notes))].map((note) => made("li", note)));
    offered(byId("json-file"), value.json, "application/json");
    offered(byId("grid-file"), value.grid, "application/toml");
    byId("command-is").textContent = value.command;
    byId("report-file").hidden = true;
    byId("exports").hidden = false;
    byId("command-is").hidden = false;
    const answered = seconds();
    byId("state").textContent = `Answered in ${answered} s. Drawing the report …`;
    const report = await of("report");
    if (mine !== run) return;
    if (report.error) throw new Error(report.error);
    offered(byId("report-file"), report.value, "text/html");
    byId("report-file").hidden = false;
    framed(report.value);
    // The report has their figures and courses.
    byId("progress").hidden = true;
    byId("course").hidden = true;
    [compared, comparedPolicies] = [given, policies.join(",")];
    offerToWatch(parts.filter(({ error }) => !error).map(({ policy }) => policy), value.best);
    byId("state").textContent = `Done in ${seconds()} s, the answer in ${answered} s.`;
  } catch (error) {
    if (mine !== run) return;
    byId("progress").hidden = true;
    byId("course").hidden = true;
    byId("state").textContent = "";
    failed(/** @type {Error} */ (error).message);
  }
  stopped();
  // A link is followed once.
  const isLinked = toWatch.has("watch") && !byId("watching").hidden;
  if (isLinked) {
    toWatch = new Map();
    await watched();
  }
};

/** Offers what was compared: what a link says, otherwise the best, and beside it greedy or another. @param {string[]} policies @param {string | null} best */
const offerToWatch = (policies, best) => {
  const linked = split(toWatch.get("watch") ?? "").filter((it) => policies.includes(it));
  const one = linked[0] ?? best ?? policies[0];
  const other = linked[linked.length - 1] ?? policies.find((it) => it === "greedy" && it !== one) ?? policies.find((it) => it !== one) ?? one;
  for (const [id, chosenOne] of [["watch-one", one], ["watch-other", other]]) {
    byId(id).replaceChildren(...policies.map((it) => made("option", it)));
    byId(id).value = chosenOne;
  }
  for (const id of ["watch-from", "watch-blocks"]) {
    const value = toWatch.get(id);
    if ([...byId(id).options].some((option) => option.value === value)) byId(id).value = value;
  }
  byId("replay").hidden = true;
  byId("replay").srcdoc = "";
  byId("watching").hidden = false;
};

const watched = async () => {
  stopped();
  const mine = run;
  failed("");
  byId("run").disabled = true;
  byId("stop").hidden = false;
  byId("watch").disabled = true;
  const say = (/** @type {number} */ share) => { byId("state").textContent = `Recording: ${Math.floor(100 * share)} %`; };
  say(0);
  try {
    const policies = [...new Set([byId("watch-one").value, byId("watch-other").value])];
    const excerpt = { from: Number(byId("watch-from").value), blocks: Number(byId("watch-blocks").value) };
    const shows = [policies.join(","), byId("watch-from").value, byId("watch-blocks").value];
    history.replaceState(null, "", address([...compared, ["policies", comparedPolicies], ...WATCHED.map((name, i) => /** @type {Setting} */ ([name, shows[i]]))]));
    const html = await replayed(asked, compared, policies, excerpt, say);
    if (mine !== run) return;
    byId("replay").srcdoc = html;
    byId("replay").hidden = false;
    byId("replay").scrollIntoView({ block: "nearest" });
    byId("state").textContent = "Recorded.";
  } catch (error) {
    if (mine !== run) return;
    byId("state").textContent = "";
    failed(/** @type {Error} */ (error).message);
  }
  stopped();
};

const copied = async (/** @type {any} */ button, /** @type {string} */ text) => {
  try {
    await navigator.clipboard.writeText(text);
    byId("state").textContent = `${button.textContent.replace("Copy", "Copied:")}.`;
  } catch {
    byId("command-is").textContent = text;
  }
};

/** @param {File | undefined} file */
const dropped = (file) => {
  if (!file) return;
  const list = new DataTransfer();
  list.items.add(file);
  byId("file").files = list.files;
  byId("input").value = FILE;
  shown();
};

const begun = async () => {
  const { text } = await asked(JSON.stringify({ ask: "catalogue" }));
  const { value, error } = JSON.parse(text);
  if (error) throw new Error(error);
  devices = value.devices;
  workloads = value.workloads;
  byId("version").textContent = value.version;
  const usual = /** @type {HTMLOptionElement} */ (made("option", "the usual one"));
  usual.value = "";
  byId("device").append(usual, ...devices.map((it) => made("option", it.name)));
  byId("workloads").append(...workloads.map((it) => made("option", it.syntax)));
  /** @type {{ axis: string, name: string, summary: string, source: string, combines?: string }[]} */
  const presets = value.policies.filter((/** @type {any} */ entry) => entry.axis === "preset");
  const rank = (/** @type {string} */ name) => (USUAL.includes(name) ? USUAL.indexOf(name) : USUAL.length);
  for (const it of presets.slice().sort((a, b) => rank(a.name) - rank(b.name))) {
    const label = made("label");
    label.className = "tick";
    const box = /** @type {HTMLInputElement} */ (made("input"));
    Object.assign(box, { type: "checkbox", value: it.name, checked: USUAL.includes(it.name) });
    // What knows the future is no choice, and the others map pages.
    if (it.combines && !KNOW_THE_FUTURE.has(it.name) && !/^NFTL|^DFTL/.test(it.combines)) box.dataset.real = "";
    const words = made("span", it.name);
    words.append(made("span", `${it.summary}${it.source ? ` (${it.source})` : ""}`));
    label.append(box, words);
    byId("policies").append(label);
  }
  const plain = /** @type {HTMLOptionElement} */ (made("option", "a plain log: one stream, greedy otherwise"));
  plain.value = "";
  byId("base").append(plain, ...[...byId("policies").querySelectorAll("[data-real]")].map((it) => made("option", it.value)));
  for (const [what, score, stream, base] of EXAMPLES) {
    const button = /** @type {HTMLButtonElement} */ (made("button", what));
    button.type = "button";
    button.addEventListener("click", () => {
      own({ score, stream, base });
      void checked();
    });
    byId("examples").append(button);
  }
  const linked = applied();
  void checked();
  shown();
  document.documentElement.dataset.ready = "";
  if (linked && !wanted) await compare();
};

byId("form").addEventListener("submit", (/** @type {Event} */ event) => {
  event.preventDefault();
  void compare();
});
byId("form").addEventListener("input", shown);
byId("your-own").addEventListener("input", () => void checked());
byId("tick-all").addEventListener("click", () => {
  for (const it of byId("policies").querySelectorAll("input")) it.checked = it.dataset.real !== undefined;
});
byId("stop").addEventListener("click", () => {
  stopped();
  byId("state").textContent = "Stopped.";
});
byId("watch").addEventListener("click", () => void watched());
byId("link").addEventListener("click", () => copied(byId("link"), location.href));
byId("command").addEventListener("click", () => copied(byId("command"), byId("command-is").textContent));
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  dropped(event.dataTransfer?.files[0]);
});

begun().catch((/** @type {Error} */ error) => {
  byId("done").hidden = false;
  failed(error.message);
});
if ("serviceWorker" in navigator && location.protocol.startsWith("http")) void navigator.serviceWorker.register("offline.js");
