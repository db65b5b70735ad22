// @ts-check
// Search, in the page: the index is a script that is loaded when the field is first used. "/" leads to the field.
(() => {
  const root = document.currentScript?.dataset.root ?? "";
  const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
  const [field, found, count] = [byId("search"), byId("found"), byId("found-count")];
  const MOST = 12;
  /** Page, anchor, title, heading, text. @type {[string, string, string, string, string][] | undefined} */
  let index;

  // A list of fifty pages is no beginning on a narrow screen.
  if (matchMedia("(max-width: 50rem)").matches) byId("contents").open = false;

  const loaded = () => new Promise((resolve, reject) => {
    if (index) return resolve(undefined);
    const script = document.createElement("script");
    script.src = `${root}search-index.js`;
    script.addEventListener("load", () => {
      index = /** @type {any} */ (window).docsIndex;
      resolve(undefined);
    });
    script.addEventListener("error", () => reject(new Error("the index cannot be loaded")));
    document.head.append(script);
  });

  /** How well a part fits; 0 if a word is missing. @param {string[]} words @param {string} title @param {string} heading @param {string} text */
  const fits = (words, title, heading, text) => {
    let sum = 0;
    for (const word of words) {
      const times = text.split(word).length - 1;
      const score = (heading.includes(word) ? 10 : 0) + (title.includes(word) ? 4 : 0) + Math.min(times, 5);
      if (score === 0) return 0;
      sum += score;
    }
    return sum;
  };

  /** Some words around the first hit. @param {string} text @param {string} word */
  const around = (text, word) => {
    const at = Math.max(0, text.toLowerCase().indexOf(word));
    const from = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 50)) + 1);
    return `${from > 0 ? "… " : ""}${text.slice(from, from + 150)}${text.length > from + 150 ? " …" : ""}`;
  };

  const search = async () => {
    const asked = field.value;
    const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length > 0) await loaded();
    if (asked !== field.value) return;
    const hits = words.length === 0 ? [] : (index ?? [])
      .map((part) => ({ part, score: fits(words, part[2].toLowerCase(), part[3].toLowerCase(), part[4].toLowerCase()) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score);
    count.textContent = words.length === 0 ? "" : `${hits.length} found${hits.length > MOST ? `, the best ${MOST} shown` : ""}`;
    found.replaceChildren(...hits.slice(0, MOST).map(({ part: [page, anchor, title, heading, text] }) => {
      const [item, link, words_] = [document.createElement("li"), document.createElement("a"), document.createElement("span")];
      link.href = `${root}${page}.html#${anchor}`;
      link.textContent = heading === title ? title : `${title}: ${heading}`;
      words_.textContent = around(text, words[0]);
      item.append(link, words_);
      return item;
    }));
  };

  field.addEventListener("input", () => search().catch((/** @type {Error} */ error) => { count.textContent = error.message; }));
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") found.querySelector("a")?.click();
    if (event.key === "Escape") {
      field.value = "";
      void search();
    }
  });
  // A hit on the same page leaves the list open.
  found.addEventListener("click", () => { field.value = ""; void search(); });
  document.addEventListener("keydown", (event) => {
    const inField = /^(?:input|textarea|select)$/i.test(/** @type {Element} */ (event.target).tagName ?? "");
    if (event.key === "/" && !inField && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      field.focus();
    }
  });
})();
