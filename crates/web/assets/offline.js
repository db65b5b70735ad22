// @ts-check
// The service worker: keeps the page, so that it works without a network. A page built anew has another name, and replaces all. Versions of the site
// beside this one have workers and caches of their own.
const OWN = `thermocline ${new URL("./", self.location.href).pathname} `;
const VERSION = `${OWN}@VERSION@`;
const PAGE = ["./", "playground.css", "playground.js", "simulator.js", "worker.js", "watch.js", "own.js", "common.js", "charts.js", "fzstd.js", "docs/versions.js", "thermocline.wasm.packed"];
const worker = /** @type {any} */ (self);

worker.addEventListener("install", (/** @type {any} */ event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(PAGE)).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (/** @type {any} */ event) => {
  const old = async () => Promise.all((await caches.keys()).filter((name) => name.startsWith(OWN) && name !== VERSION).map((name) => caches.delete(name)));
  event.waitUntil(old().then(() => worker.clients.claim()));
});

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(new URL("./", self.location.href).href)) return;
  event.respondWith(caches.open(VERSION).then(async (cache) => {
    const kept = await cache.match(event.request, { ignoreSearch: true });
    if (kept) return kept;
    const answer = await fetch(event.request);
    // Recorded traces are kept once they were asked for.
    if (answer.ok) await cache.put(event.request, answer.clone());
    return answer;
  }));
});
