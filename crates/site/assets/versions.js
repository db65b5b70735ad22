// @ts-check
// The versions of the site beside this one, to choose from. They are in versions.json above them; a site opened from a disk has none.
(() => {
  const choice = /** @type {HTMLSelectElement} */ (document.getElementById("versions"));
  const root = new URL(document.currentScript?.dataset.root ?? "./", location.href);
  if (!location.protocol.startsWith("http")) return;

  const shown = async () => {
    const answer = await fetch(new URL("../versions.json", root));
    /** @type {string[]} */
    const versions = answer.ok ? await answer.json() : [];
    const own = root.pathname.split("/").at(-2) ?? "";
    const names = ["latest", ...versions];
    if (versions.length < 2 || !names.includes(own)) return;
    choice.replaceChildren(...names.map((name) => new Option(name, name)));
    choice.value = own;
    choice.hidden = false;
  };

  choice.addEventListener("change", async () => {
    const other = new URL(`../${choice.value}/`, root);
    const page = new URL(location.href.slice(root.href.length), other);
    // A page may be newer than that version.
    const there = await fetch(page, { method: "HEAD" });
    location.href = (there.ok ? page : other).href;
  });

  // Without a network there is one version.
  shown().catch(() => {});
})();
