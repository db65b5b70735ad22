"""Tests of the playground and of the documentation beside it, in Chromium: its results are the command line's, also in Firefox where that is installed, nothing comes
from elsewhere, it works without a network, the keyboard is enough, an accessibility checker finds nothing.

    browser/playground.py SITE            the tests
    browser/playground.py SITE --speed    how long runs take here, and by the command line
"""

import functools
import gzip
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import firefox
import registry
from chromium import Chromium

THERMOCLINE = os.environ["THERMOCLINE"]
SITE = sys.argv[1]
SMALL = [("trace", "corpus/camera-fat32.tct"), ("ops", "-trim"), ("over-provisioning", "7%"), ("clock", "device"), ("limit", "8000"),
         ("policies", "thermocline,greedy,dac")]
#: The other recorded traces, in short.
RECORDED = ["corpus/sqlite-ext4.tct", "corpus/developer-ext4.tct", "corpus/developer-btrfs.tct"]
WORKLOAD = [("workload", "hot-cold:90/10"), ("capacity", "16MiB"), ("over-provisioning", "15%"), ("bytes", "48MiB"),
            ("policies", "sep-bit,nftl,cat(tau=84min)")]
LARGE = [("trace", "corpus/sqlite-ext4.tct"), ("ops", "-trim"), ("over-provisioning", "7%"), ("clock", "device"), ("loop", "8")]


def check(holds, what):
    if not holds:
        sys.exit(f"browser/playground.py: {what}")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Served:
    """A site on a port of its own."""

    def __init__(self, folder=SITE, port=0):
        handler = functools.partial(Quiet, directory=folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


def listed(settings, cwd="."):
    """What the command line says."""
    words = [f"--{name}={value}" if value else f"--{name}" for name, value in settings]
    done = subprocess.run([THERMOCLINE, "compare", *words, "--no-oracle", "--json", "--threads", "1"], capture_output=True, text=True, cwd=cwd, check=False)
    check(done.returncode == 0, f"{words}: {done.stderr}")
    return json.loads(done.stdout)


def stable(result):
    """All but the time of this machine, and RAM: a pointer has four bytes in WebAssembly, as on a controller."""
    for run in result["runs"]:
        run.pop("perf", None)
        run.pop("memory", None)
    for costs in ("costs", "greedy_costs"):
        if result["answer"].get(costs):
            result["answer"][costs] = {key: value for key, value in result["answer"][costs].items() if "bytes" not in key}
    return result


def digest(result):
    result = stable(result)
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()


def until(browser, script, what, seconds=60):
    end = time.monotonic() + seconds
    while not browser.evaluate(script):
        check(time.monotonic() < end, f"{what}: not after {seconds} s")
        time.sleep(0.05)


class Page:
    def __init__(self, browser, port):
        self.browser, self.origin = browser, f"http://127.0.0.1:{port}/"
        self.address = self.origin + "latest/"

    def wait(self, script, what, seconds=120):
        end = time.monotonic() + seconds
        while not self.browser.evaluate(script):
            error = self.browser.evaluate("document.getElementById('error').textContent")
            check(not error, f"{what}: {error}")
            check(time.monotonic() < end, f"{what}: not after {seconds} s")
            time.sleep(0.05)

    def open(self, settings=(), **looks):
        self.browser.look(looks.pop("width", 1000), **looks)
        # Another fragment alone would not load the page again.
        self.browser.open("about:blank")
        self.browser.open(self.address + ("#" + urllib.parse.urlencode(settings) if settings else ""))
        self.wait("'ready' in document.documentElement.dataset", "the page begins")

    def done(self, what):
        self.wait("document.getElementById('state').textContent.startsWith('Done')", what)

    def result(self):
        return json.loads(self.browser.evaluate("fetch(document.getElementById('json-file').href).then((it) => it.text())"))

    def equal(self, settings, what, cwd="."):
        """What the page has equals what the command line says, and so does its own command line."""
        ours, theirs = stable(self.result()), stable(listed(settings, cwd))
        for one, other in zip(ours["runs"], theirs["runs"]):
            wrong = [key for key in other if one.get(key) != other[key]]
            check(not wrong, f"{what}: {one['config']['policy']} differs from {other['config']['policy']} in {wrong}: {one.get(wrong[0]) if wrong else ''}")
        check(digest(ours) == digest(theirs), f"{what}: {digest(ours)} is not the command line's {digest(theirs)}")

    def sound(self, what, axe):
        check(not self.browser.complaints, f"{what}: {self.browser.complaints[:3]}")
        strange = [url for url in self.browser.requests if not url.startswith((self.origin, "data:", "blob:", "about:"))]
        check(not strange, f"{what} asks for {strange}")
        wide = self.browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        check(wide <= 0, f"{what} is {wide} pixels too wide")
        if axe:
            self.browser.evaluate(axe + ";0")
            found = self.browser.evaluate(
                "axe.run({ iframes: false }).then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')))")
            check(not found, f"{what}: {found}")


def links(page, axe):
    """A link makes a view; the view has the command line's results."""
    for settings, what in ((SMALL, "a recorded trace"), (WORKLOAD, "a workload")):
        page.open(settings, width=360)
        page.done(what)
        page.equal(settings, what)
        page.sound(what, axe)
        shown = dict(urllib.parse.parse_qsl(page.browser.evaluate("location.hash.slice(1)")))
        check(shown == dict(settings), f"{what}: the address says {shown}")
        lead = page.browser.evaluate("document.getElementById('report').contentDocument.querySelector('.answer').textContent")
        answer = page.browser.evaluate("document.getElementById('answer').textContent")
        check(answer and lead.replace("\u00a0", " ") == answer, f"{what}: {answer!r} above a report that says {lead!r}")
        charts = page.browser.evaluate("document.getElementById('report').contentDocument.querySelectorAll('figure svg').length")
        check(charts > 5, f"{what}: {charts} charts")
        command = page.browser.evaluate("document.getElementById('command-is').textContent")
        printed = subprocess.run(["bash", "-c", f"{command} --json".replace("thermocline", f"'{THERMOCLINE}'", 1)], capture_output=True, text=True, check=False)
        check(printed.returncode == 0 and digest(json.loads(printed.stdout)) == digest(page.result()), f"{command}: {printed.stderr}")


def first(page):
    """The first answer of a first visit: it waits for no chart."""
    page.open()
    page.browser.evaluate("""(() => {
      const [answer, report] = ["answer", "report"].map((id) => document.getElementById(id));
      const now = () => performance.now() / 1000;
      const look = () => { if (answer.textContent) window.first ??= { seconds: now(), isDrawn: !report.hidden }; };
      new MutationObserver(look).observe(answer, { childList: true });
      window.begun = now();
      document.getElementById("run").click();
    })()""")
    page.done("a first visit")
    begun, answered, is_drawn, done = page.browser.evaluate("[begun, first.seconds, first.isDrawn, performance.now() / 1000]")
    check(not is_drawn, "the answer waits for the report")
    print(f"browser/playground.py in {page.browser.name}: ready {begun:.1f} s after the visit, answered after {answered:.1f} s, drawn after {done:.1f} s")


def recorded(page):
    """Each recorded trace gives the command line's results."""
    for trace in RECORDED:
        settings = [("trace", trace), *SMALL[1:-1], ("policies", "greedy,dac")]
        page.open(settings)
        page.done(trace)
        page.equal(settings, trace)


def watch(page, axe):
    """Two policies side by side: the figures of the comparison, played and sought by the keyboard; looking on changes no result."""
    browser = page.browser
    inside = "document.getElementById('replay').contentDocument"
    for looks in ({"width": 360, "dark": True}, {"width": 768, "still": True}, {"width": 1280}):
        page.open([*WORKLOAD[:-1], ("policies", "greedy,dac")], **looks)
        page.done("a comparison to watch")
        browser.evaluate("document.getElementById('watch').click()")
        page.wait("document.getElementById('state').textContent === 'Recorded.'", "two policies are recorded")
        page.wait(f"{inside}?.body?.dataset.ready === 'yes'", "the recording is shown")
        title = browser.evaluate(f"{inside}.title")
        check(title == "dac and greedy on hot-cold:90/10", f"the recording is called {title}")
        wide = browser.evaluate(f"{inside}.documentElement.scrollWidth - {inside}.defaultView.innerWidth")
        check(wide <= 0, f"the recording is {wide} pixels too wide at {looks}")
        page.sound("two policies side by side", axe)
    runs = {run["config"]["policy"]: run for run in page.result()["runs"]}
    shown = browser.evaluate(f"""[...{inside}.querySelectorAll('#runs [data-policy]')].map((it) => it.dataset.policy)""")
    cells = browser.evaluate(f"""[...{inside}.querySelectorAll('td[data-key="flash.pages_copied"]')].map((it) => Number(it.dataset.value))""")
    check(0 not in cells and cells == [runs[name]["flash"]["pages_copied"] for name in shown] and len(shown) == 2, f"{shown} copy {cells} pages beside the comparison's")
    place = f"Number({inside}.getElementById('time').value)"
    begin = browser.evaluate(place)
    browser.evaluate(f"{inside}.getElementById('play').focus()")

    def press_play():
        if browser.name == "Chromium":
            browser.press(" ")
        else:
            # BiDi sends keys to a page, not to the frame in it that has the focus.
            browser.evaluate(f"{inside}.getElementById('play').click()")

    press_play()
    page.wait(f"{place} > {begin}", "it plays")
    press_play()
    page.wait(f"{inside}.getElementById('play').textContent === 'Play'", "it rests")
    command = browser.evaluate(f"{inside}.getElementById('command').textContent")
    with tempfile.TemporaryDirectory(prefix="thermocline-playground.") as work:
        out = os.path.join(work, "watch.html")
        command = command.replace("thermocline", f"'{THERMOCLINE}'", 1)
        made = subprocess.run(["bash", "-c", f"{command} --output {out}"], capture_output=True, text=True, check=False)
        check(made.returncode == 0 and os.path.getsize(out) > 10000, f"{command}: {made.stderr}")


def watch_link(page):
    """A link to what is watched: other policies and another excerpt than the page would choose."""
    browser = page.browser
    excerpt = {"watch": "nftl,sep-bit", "watch-from": "0.25", "watch-blocks": "100"}
    settings = [*WORKLOAD, *excerpt.items()]
    page.open(settings)
    page.wait("document.getElementById('state').textContent === 'Recorded.'", "a link is followed")
    inside = "document.getElementById('replay').contentDocument"
    page.wait(f"{inside}?.body?.dataset.ready === 'yes'", "the recording of a link is shown")
    shown = browser.evaluate(f"""[{inside}.title, {inside}.getElementById('command').textContent]""")
    check(shown[0] == "nftl and sep-bit on hot-cold:90/10" and "--from 25% --blocks 100" in shown[1], f"a link shows {shown}")
    said = dict(urllib.parse.parse_qsl(browser.evaluate("location.hash.slice(1)")))
    check(said == dict(settings), f"the address of what is watched says {said}")


def versions(browser):
    """Two versions beside one another: a choice on each page, which stays on the page where the other version has it."""
    with tempfile.TemporaryDirectory(prefix="thermocline-site.") as site:
        for version in ("0.1.9", "0.10.0"):
            shutil.copytree(os.path.join(SITE, "latest"), os.path.join(site, version))
        os.remove(os.path.join(site, "0.1.9", "docs", "policies.html"))
        subprocess.run(["crates/web/site.sh", "--list", site], check=True)
        with open(os.path.join(site, "versions.json"), encoding="utf-8") as text:
            check(json.load(text) == ["0.10.0", "0.1.9"], "another list of versions")
        served = Served(site)
        page = Page(browser, served.port)
        browser.open(page.origin + "#" + urllib.parse.urlencode(SMALL))
        until(browser, "document.getElementById('state')?.textContent.startsWith('Done')", "the newest version")
        there = "[...(document.getElementById('versions')?.options ?? [])]"
        until(browser, f"{there}.length === 3", "a choice of versions")
        check(browser.evaluate("location.pathname") == "/latest/", "an address without a version leads elsewhere")
        choose = "((to) => { const it = document.getElementById('versions'); it.value = to; it.dispatchEvent(new Event('change')); })"
        browser.evaluate(f"{choose}('0.1.9')")
        until(browser, "location.pathname === '/0.1.9/' && document.getElementById('state')?.textContent.startsWith('Done')", "an older version")
        caches = browser.evaluate("navigator.serviceWorker.ready.then(() => caches.keys())")
        check(sorted(it.split()[1] for it in caches) == ["/0.1.9/", "/latest/"], f"kept without a network: {caches}")
        browser.open(page.origin + "0.10.0/docs/policies.html")
        for to, path in (("latest", "/latest/docs/policies.html"), ("0.1.9", "/0.1.9/")):
            until(browser, f"{there}.length === 3", "a choice of versions in the documentation")
            browser.evaluate(f"{choose}('{to}')")
            until(browser, f"location.pathname === '{path}' && document.readyState === 'complete'", f"{to} is at {path}")
        served.end()


def own(page, axe):
    """A policy of the reader's own: by a link, by the keyboard, by an example; what is wrong is said while it is typed."""
    browser = page.browser
    score = "min(valid, 64) / (invalid * age)"
    settings = [*SMALL[:-1], ("policies", f"cost-benefit(victim=score({score})),greedy,score(valid)")]
    page.open(settings, width=360)
    page.done("a policy of one's own")
    page.equal(settings, "a policy of one's own")
    command = browser.evaluate("document.getElementById('command-is').textContent")
    printed = subprocess.run(["bash", "-c", f"{command} --json".replace("thermocline", f"'{THERMOCLINE}'", 1)], capture_output=True, text=True, check=False)
    check(printed.returncode == 0 and digest(json.loads(printed.stdout)) == digest(page.result()), f"{command}: {printed.stderr}")
    said = browser.evaluate("[document.getElementById('score').value, document.getElementById('base').value, document.getElementById('own').value]")
    check(said == [score, "cost-benefit", "score(valid)"], f"a link to a score makes {said}")
    stream = "if(survivor, 0, if(interval < tau, 2, 1))"
    settings = [*SMALL[:-1], ("policies", f"cat(victim=score(valid), placement=stream({stream})),greedy")]
    page.open(settings, width=768)
    page.done("a stream of one's own")
    page.equal(settings, "a stream of one's own")
    said = browser.evaluate("[document.getElementById('score').value, document.getElementById('stream').value, document.getElementById('base').value]")
    check(said == ["valid", stream, "cat"], f"a link to a stream makes {said}")
    browser.evaluate("document.getElementById('stream').value = ''")
    says = "document.getElementById('score-says').textContent"
    browser.evaluate("(() => { const it = document.getElementById('score'); it.focus(); it.setSelectionRange(3, 3); })()")
    browser.type("x")
    page.wait(f"{says}.includes('expected one of valid, invalid')", "a wrong score is noticed")
    check("at column 1 of the expression" in browser.evaluate(says), browser.evaluate(says))
    page.sound("a wrong score", axe)
    browser.evaluate("[...document.querySelectorAll('#examples button')].find((it) => it.textContent === 'CAT').click()")
    page.wait(f"{says}.startsWith('Compared as cat(victim=score(')", "an example is sound")
    check(browser.evaluate("(document.getElementById('tick-all').click(), document.querySelectorAll('#policies input:checked').length)") > 20, "all are ticked")


def docs(page, axe):
    """The documentation: found by the playground's link, searched, by keyboard too, and nothing comes from elsewhere."""
    browser = page.browser
    page.open()
    start = browser.evaluate("document.querySelector('footer a').href")
    for address, looks in ((start, {}), (start.replace("index", "policies"), {"width": 360, "dark": True}), (start.replace("index", "papers/cat"), {"width": 360})):
        browser.look(looks.pop("width", 1000), **looks)
        browser.open(address)
        page.sound(address, axe)
    check(browser.evaluate("[...document.images].length") > 10, "a paper has figures")
    browser.press("/", text="/")
    check(browser.evaluate("document.activeElement.id") == "search", "/ leads to the search")
    browser.type("score expression")
    end = time.monotonic() + 20
    while not browser.evaluate("document.getElementById('found').children.length"):
        check(time.monotonic() < end, "nothing is found")
        time.sleep(0.05)
    browser.press("Enter")
    while "policies.html#a-score-of-your-own" not in browser.evaluate("location.href"):
        check(time.monotonic() < end, f"Enter leads to {browser.evaluate('location.href')}")
        time.sleep(0.05)


def file(page, work):
    """A file of one's own, packed, by the keyboard."""
    csv, packed = os.path.join(work, "mine.csv"), os.path.join(work, "mine.csv.gz")
    subprocess.run([THERMOCLINE, "trace", "convert", "--limit", "3000", "corpus/developer-ext4.tct", csv], check=True, capture_output=True)
    with open(csv, "rb") as rows, gzip.open(packed, "wb") as out:
        out.write(rows.read())
    page.open(dark=True)
    browser = page.browser
    browser.evaluate("(() => { const input = document.getElementById('input'); input.value = 'file'; input.dispatchEvent(new Event('input', { bubbles: true })); })()")
    browser.choose("file", packed)
    page.wait("document.getElementById('chosen').textContent.includes('mine.csv.gz')", "a file is chosen")
    browser.evaluate("document.getElementById('settle').focus()")
    for _ in range(60):
        browser.press("Tab")
        if browser.evaluate("document.activeElement.id") == "run":
            break
    check(browser.evaluate("document.activeElement.id") == "run", "no way by Tab to the button")
    browser.press("Enter")
    page.done("a file")
    policies = browser.evaluate("new URLSearchParams(location.hash.slice(1)).get('policies')")
    settings = [("trace", "mine.csv.gz"), ("ops", "-trim"), ("over-provisioning", "7%"), ("clock", "device"), ("policies", policies)]
    page.equal(settings, "a file", cwd=work)


def dropped(page, work):
    """A CSV file dropped on the page."""
    csv = os.path.join(work, "dropped.csv")
    subprocess.run([THERMOCLINE, "trace", "convert", "--limit", "2000", "corpus/sqlite-ext4.tct", csv], check=True, capture_output=True)
    with open(csv, encoding="utf-8") as rows:
        text = rows.read()
    page.open()
    page.browser.evaluate(f"""(() => {{
      const held = new DataTransfer();
      held.items.add(new File([{json.dumps(text)}], "dropped.csv"));
      document.body.dispatchEvent(new DragEvent("drop", {{ dataTransfer: held, bubbles: true, cancelable: true }}));
      document.getElementById("run").click();
    }})()""")
    page.done("a dropped file")
    policies = page.browser.evaluate("new URLSearchParams(location.hash.slice(1)).get('policies')")
    page.equal([("trace", "dropped.csv"), ("ops", "-trim"), ("over-provisioning", "7%"), ("clock", "device"), ("policies", policies)], "a dropped file", cwd=work)


def wrong(page):
    """What is wrong is said in words."""
    page.open()
    page.browser.evaluate("(() => { document.getElementById('more').value = 'queue-dept 4'; document.getElementById('run').click(); })()")
    page.wait("document.getElementById('state').textContent !== 'Running …' || true", "an error")
    end = time.monotonic() + 30
    while not (error := page.browser.evaluate("document.getElementById('error').textContent")):
        check(time.monotonic() < end, "no error is shown")
        time.sleep(0.05)
    check("did you mean --queue-depth?" in error, error)


def offline(page, served):
    """Without a network the page is there, and runs."""
    page.browser.evaluate("navigator.serviceWorker.ready.then(() => 0)")
    served.end()
    page.open(SMALL)
    page.done("without a network")


def speed(page):
    """Seconds of a run in one worker, and of the command line on one thread, alternating."""
    for policy in ("greedy", "dac", "thermocline"):
        settings = [*LARGE, ("policies", policy)]
        ratios = []
        for _ in range(3):
            page.open(settings)
            page.done(policy)
            here = float(page.browser.evaluate("document.getElementById('progress').tBodies[0].rows[0].cells[3].textContent"))
            begun = time.monotonic()
            result = listed(settings)
            whole = time.monotonic() - begun
            ratios.append((whole / here, here, whole, result["runs"][0]["perf"]["wall_s"]))
        ratios.sort()
        ratio, here, whole, wall = ratios[1]
        memory = page.browser.evaluate("document.getElementById('progress').tBodies[0].rows[0].dataset.memory")
        print(f"{policy:12} {ratio:.2f} of native speed ({here:.2f} s in the browser, {whole:.2f} s on one thread, {wall:.2f} s of them simulating); {int(memory) >> 20} MiB")


def main():
    if "--speed" in sys.argv:
        with Chromium() as browser:
            speed(Page(browser, Served().port))
        return
    axe = registry.axe()
    tests(Chromium, axe)
    if firefox.found():
        # The checker need not look at the same page twice.
        tests(firefox.Firefox, None)
    else:
        print("browser/playground.py: Firefox is not installed, so only Chromium is tested; Debian's package is firefox-esr", file=sys.stderr)


def tests(of, axe):
    served = Served()
    with tempfile.TemporaryDirectory(prefix="thermocline-playground.") as work, of() as browser:
        page = Page(browser, served.port)
        first(page)
        links(page, axe)
        recorded(page)
        watch(page, axe)
        watch_link(page)
        dropped(page, work)
        if of is not Chromium:
            print(f"ok      browser/playground.py in {of.name}: links, traces, workloads, two policies watched, a dropped file")
            return
        own(page, axe)
        docs(page, axe)
        file(page, work)
        page.sound("a file, in the dark", axe)
        wrong(page)
        versions(browser)
        offline(page, served)
    print(f"ok      browser/playground.py in {of.name}: links, traces, workloads, two policies watched, a score, dropped and packed files, errors, versions, no network")


main()
