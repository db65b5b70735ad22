"""Tests of reports in a browser: of a comparison, a run, a sweep, a search and a paper."""

import json
import os
import subprocess
import sys
import tempfile

import registry
from chromium import Chromium

THERMOCLINE = os.environ["THERMOCLINE"]
POLICIES = "in-place,greedy,cost-benefit,lfs,cat,dac,update-interval,sep-bit,midas,fifo"
DEVICE = ["--ops=-trim", "--over-provisioning", "7%", "--clock", "device"]
SQLITE = "corpus/sqlite-ext4.tct"
MOST_BYTES = 2_000_000
# Units of an axis of times; the longer names first.
MICROSECONDS = {"µs": 1, "ms": 1e3, "min": 60e6, "s": 1e6}
# What a name may have in it: markup, quotes, an escape sequence, a change of direction.
HOSTILE = "<img src=x onerror=hostile()>\"'&amp;</script>\x1b[31m\u202e,.tct"

# Letters on letters: pairs of texts in one drawing whose boxes meet.
OVERLAPS = """[...document.querySelectorAll('.plot svg')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent.trim(), t.getBoundingClientRect()]).filter(t => t[0]);
  const found = [];
  texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left), tall = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide > 1 && tall > 3) found.push(svg.getAttribute('aria-label') + ': ' + a + ' / ' + b);
  }));
  const box = svg.getBoundingClientRect();
  texts.forEach(([a, p]) => { if (p.left < box.left - 1 || p.right > box.right + 1) found.push(svg.getAttribute('aria-label') + ': cut off: ' + a); });
  return found;
})"""
EMPTY = """[...document.querySelectorAll('figure.chart')].filter(f =>
  !f.querySelector('svg').querySelector('circle, polyline, rect[data-s], rect[fill^="var(--h"]') || !f.querySelector('tbody tr')
).map(f => f.dataset.name)"""


def check(holds, what):
    if not holds:
        sys.exit(f"browser/reports.py: {what}")


def run(*arguments):
    done = subprocess.run([THERMOCLINE, *arguments], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{arguments}: {done.stderr}")
    return done.stdout


def table(browser, name, at=0):
    """The table behind a chart, by the chart's name."""
    return browser.evaluate(
        f"""[...[...document.querySelectorAll('figure[data-name="{name}"]')][{at}].querySelectorAll('tbody tr')]
        .map(row => [...row.cells].map(cell => cell.textContent))""")


def near(text, value):
    return abs(float(text) - value) <= 2e-5 * abs(value)


class Pages:
    def __init__(self, browser, axe):
        self.browser, self.axe = browser, axe

    def open(self, file, width=1000, dark=False, scripts=True):
        self.browser.look(width, dark=dark, scripts=scripts)
        self.browser.open(f"file://{file}")
        self.file = os.path.basename(file)

    def sound(self, file):
        """What holds of every page."""
        check(os.path.getsize(file) < MOST_BYTES, f"{file} has {os.path.getsize(file)} bytes")
        for width in (360, 1000, 2560):
            self.open(file, width)
            self.quiet(file)
            wide = self.browser.evaluate("document.documentElement.scrollWidth - innerWidth")
            check(wide <= 0, f"{self.file} is {wide} pixels too wide at {width}")
            found = self.browser.evaluate(OVERLAPS)
            check(not found, f"{self.file} at {width}: {found[:5]}")
        check(not (found := self.browser.evaluate(EMPTY)), f"{self.file}: empty charts {found}")
        self.open(file, scripts=False)
        pictures = self.browser.evaluate("[...document.querySelectorAll('figure')].every(f => f.querySelector('svg') && f.querySelector('details table'))")
        check(pictures, f"{self.file} without scripts: a chart without picture or table")
        for dark in (False, True):
            self.accessible(file, dark)

    def quiet(self, file):
        asked = [url for url in self.browser.requests if not url.startswith("data:")]
        check(len(asked) == 1 and asked[0].startswith("file://"), f"{self.file} asks for {asked}")
        check(not self.browser.complaints, f"{self.file}: {self.browser.complaints[:3]}")

    def accessible(self, file, dark):
        if self.axe is None:
            return
        self.open(file, dark=dark)
        self.browser.evaluate(self.axe + ";0")
        found = self.browser.evaluate(
            "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')))")
        check(not found, f"{self.file}, {'dark' if dark else 'light'}: {found}")

    def comparison(self, file, result):
        """What the page of a comparison says equals its JSON."""
        self.sound(file)
        self.open(file)
        traces = list(dict.fromkeys(run["trace"]["path"] for run in result["runs"]))
        lead = self.browser.evaluate("document.querySelector('.answer').textContent")
        lifetime = table(self.browser, "lifetime")
        check(all(near(row[2], one["lifetime"]["dwpd"]) for row, one in zip(lifetime, result["runs"])), f"DWPD: {lifetime}")
        check(f": {result['answer']['best']}." in lead, f"the answer is {result['answer']['best']}, not {lead}")
        for at, trace in enumerate(traces):
            runs = [run for run in result["runs"] if run["trace"]["path"] == trace]
            shown = self.browser.evaluate(f"[...document.querySelectorAll('.results')[{at}].querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
            check(len(shown) == len(runs), f"{len(shown)} rows for {len(runs)} policies")
            for row, one in zip(shown, runs):
                check(row[0] == one["config"]["policy"], f"{row[0]} where {one['config']['policy']} is")
                check(row[1] == f"{one['write_amplification']:,.3f}", f"{row[0]}: {row[1]}")
            final, over_time = table(self.browser, "write-amplification", at), table(self.browser, "write-amplification-over-time", at)
            for number, one in enumerate(runs):
                check(final[number][0] == one["config"]["policy"] and near(final[number][1], one["write_amplification"]), f"chart: {final[number]}")
                check(all(float(row[number + 1]) >= 1 for row in over_time), "less than a program a page")
            # Weighted by the writes between its points, a line comes to the figure at the end.
            for number, one in enumerate(runs):
                x = [0] + [float(row[0]) for row in over_time]
                mean = sum((b - a) * float(row[number + 1]) for a, b, row in zip(x, x[1:], over_time)) / x[-1]
                check(abs(mean / one["write_amplification"] - 1) < 1e-3, f"{one['config']['policy']} over time: {mean}")
            worst = table(self.browser, "write-responses", at)[-1]
            axis = self.browser.evaluate(f"[...document.querySelectorAll('figure[data-name=\"write-responses\"] svg')][{at}].textContent")
            unit = next(us for name, us in MICROSECONDS.items() if f"response, {name}" in axis)
            check(all(near(worst[n + 1], one["response_us"]["write"]["max"] / unit) for n, one in enumerate(runs)), f"worst responses: {worst}")
            chosen = sum(float(row[1]) for row in table(self.browser, "choices", at))
            check(chosen == sum(sum(one["cleaning"]["choices"].values()) for one in runs), f"{chosen} blocks chosen")
        text = self.browser.evaluate("document.body.textContent")
        check(all(one["trace"]["digest"] in text for one in result["runs"]), "a digest is missing")
        self.keyboard(result)

    def axes(self, browser):
        """Without its first series a chart has axes that fit the rest: points are where the numbers beside the axis say."""
        read = browser.evaluate("""(() => { const figure = document.querySelector('figure[data-name="victims-over-time"]');
            const group = figure.querySelector('g.again'), svg = figure.querySelector('svg');
            const ticks = [...group.querySelectorAll('text')].map(t => [Number(t.textContent), Number(t.getAttribute('y'))]);
            const lines = [...group.querySelectorAll('polyline')].map(l => l.getAttribute('points').split(' ').map(p => Number(p.split(',')[1])));
            const rows = [...figure.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent));
            return [ticks, lines, rows, svg.querySelectorAll('polyline[data-s][visibility="visible"]').length]; })()""")
        ticks, lines, rows, old = read
        check(len(ticks) >= 3 and old == 0, f"{len(ticks)} numbers beside the axis, {old} lines of the first picture")
        (low, foot), (high, top) = ticks[0], ticks[-1]
        for number, line in enumerate(lines):
            values = [float(row[number + 2]) for row in rows if row[number + 2]]
            for value, y in zip(values, line, strict=True):
                wanted = foot + (value - low) / (high - low) * (top - foot)
                check(abs(y - wanted) < 0.01, f"series {number + 1}: {value} is drawn at {y}, not {wanted}")
        most = max(float(cell) for row in rows for cell in row[2:] if cell)
        check(high > most * 0.6, f"the axis ends at {high}, the values at {most}")

    def keyboard(self, result):
        """Everything by keys alone."""
        browser = self.browser

        def tab_to(wanted, most=200):
            for _ in range(most):
                browser.press("Tab")
                if browser.evaluate(f"document.activeElement.matches({json.dumps(wanted)})"):
                    return
            check(False, f"no way by Tab to {wanted}")

        first = "[...document.querySelector('.results table').tBodies[0].rows].map(r => r.cells[0].textContent)"
        tab_to(".results thead th:nth-child(2) button")
        browser.press("Enter")
        runs = [one for one in result["runs"] if one["trace"]["path"] == result["runs"][0]["trace"]["path"]]
        by_value = [one["config"]["policy"] for one in sorted(runs, key=lambda one: one["write_amplification"])]
        check(browser.evaluate(first) == by_value, "the table is not sorted")
        browser.press("Enter")
        check(browser.evaluate(first) == by_value[::-1], "the table is not sorted the other way")
        tab_to('figure[data-name="write-amplification"] .plot')
        for key in ("ArrowRight", "ArrowDown"):
            browser.press(key)
        tip = browser.evaluate("document.getElementById('tip').innerText")
        row = table(browser, "write-amplification")[1]
        check(all(part in tip for part in row), f"the tip is {tip!r}, not {row}")
        browser.press("Escape")
        check(browser.evaluate("document.getElementById('tip').hidden"), "the tip stays")
        tab_to('figure[data-name="write-amplification-over-time"] .key button')
        browser.press(" ")
        hidden = "[...document.querySelectorAll('figure[data-name=\"erases\"] svg [data-s=\"0\"]')].every(e => e.getAttribute('visibility') === 'hidden')"
        check(browser.evaluate(hidden), "a hidden series shows in another chart")
        self.axes(browser)
        browser.press(" ")
        check(not browser.evaluate(hidden), "a series does not come back")
        count = "[...document.querySelectorAll('.results')[0].querySelectorAll('tbody tr')].filter(r => !r.hidden).length"
        browser.evaluate("document.querySelector('.results input').focus()")
        browser.call("Input.insertText", text="cost-ben")
        check(browser.evaluate(count) == 1, "the filter does not filter")
        check(not browser.complaints, f"{browser.complaints[:3]}")


def main():
    with tempfile.TemporaryDirectory(prefix="thermocline-reports.") as work, Chromium() as browser:
        pages = Pages(browser, registry.axe())
        file = os.path.join(work, "compare.html")
        result = run("compare", "--trace", SQLITE, "--trace", "corpus/developer-ext4.tct", *DEVICE, "--policies", POLICIES, "--report", file, "--json")
        pages.comparison(file, json.loads(result))

        file, plots = os.path.join(work, "run.html"), os.path.join(work, "plots")
        result = json.loads(run("run", "--workload", "hot-cold:90/10", "--capacity", "32MiB", "--bytes", "128MiB", "--policy", "dac",
                                "--report", file, "--plots", plots, "--json"))
        pages.sound(file)
        names = set(browser.evaluate("[...document.querySelectorAll('figure')].map(f => f.dataset.name)"))
        written = {name.removesuffix(".svg") for name in os.listdir(plots) if name.endswith(".svg")}
        check(names == written, f"{names ^ written} are not both on the page and in the folder")
        with open(os.path.join(plots, "write-responses.csv"), encoding="utf-8") as csv:
            check(near(csv.read().split("\n")[6].split(",")[1], result["response_us"]["write"]["max"] / 1000), "the CSV has another figure")

        file, store = os.path.join(work, "sweep.html"), os.path.join(work, "store")
        sweep = ["sweep", "--trace", SQLITE, "--limit", "40000", "--ops=-trim", "--clock", "device", "--policy", "greedy,sep-bit", "--store", store]
        rows = run(*sweep, "--over-provisioning", "7%,15%,28%", "--reserve", "2,4,8", "--format", "jsonl", "--report", file)
        pages.sound(file)
        values = [json.loads(row)["result"]["write_amplification"] for row in rows.splitlines()] if '"result"' in rows else \
                 [json.loads(row)["write_amplification"] for row in rows.splitlines()]
        shown = [cell for at in (0, 1) for row in table(browser, f"write-amplification-{at + 1}") for cell in row[1:]]
        check(len(shown) == len(values) == 18 and all(any(near(cell, value) for cell in shown) for value in values), f"the maps have {shown}")

        file = os.path.join(work, "until.html")
        words = run(*sweep, "--over-provisioning", "5%..60%", "--until", "write_amplification<=1.5", "--report", file)
        pages.sound(file)
        lead = browser.evaluate("[...document.querySelectorAll('.answer')].map(p => p.textContent)")
        lead = [text.replace("\u00a0", " ") for text in lead]
        check(lead == words.splitlines(), f"{lead} is not {words}")
        knee = words.split("at least ")[1].split(":")[0]
        check(knee in browser.evaluate("document.querySelector('svg').textContent"), f"the knee at {knee} is not marked")

        file = os.path.join(work, "paper.html")
        result = json.loads(run("reproduce", "striping", "--quick", "--report", file, "--json"))
        pages.sound(file)
        measured = [claim["id"] for one in result["papers"][0]["experiments"] for claim in one["claims"]]
        rows = browser.evaluate("document.querySelectorAll('.prose tbody tr').length")
        check(rows >= len(measured), f"{rows} rows for {len(measured)} claims")

        hostile = os.path.join(work, HOSTILE.replace("/", "\u2215"))
        run("trace", "convert", "--limit", "5000", SQLITE, hostile)
        file = os.path.join(work, "hostile.html")
        printed = run("compare", "--trace", hostile, "--policies", "greedy,cat", "--report", file)
        check(not any(c in printed for c in "\x1b\u202e") and "\\u{1b}[31m" in printed, "a terminal would obey the name")
        pages.sound(file)
        text = browser.evaluate("document.body.innerText")
        check("<img src=x onerror=hostile()>\"'&amp;" in text and "\\u{202e}" in text, "the name is not shown as it is")
        check(not any(c in text for c in "\x1b\u202e"), "a control character is on the page")
        check(browser.evaluate("document.images.length") == 0, "a name became markup")
    print("ok      browser/reports.py: comparison, run, sweep, search, paper, hostile names")


main()
