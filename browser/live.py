#!/usr/bin/env python3
"""The dashboard under load, a replay and `top` in a real browser and as text.

    browser/live.py             the tests (half a minute)
    browser/live.py --cost      IOPS with viewers beside IOPS without, in one run
    browser/live.py --pictures  the pictures of docs/pictures

THERMOCLINE names the binary, otherwise that of `make build`. What is skipped goes to THERMOCLINE_SKIPPED.
Names of exports and traces here are hostile: markup and control characters have to show as text.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import registry
from chromium import Chromium

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
THERMOCLINE = os.path.abspath(os.environ.get("THERMOCLINE", TARGET / "release/thermocline"))
EVIL = "<u>\x1b[31mchip"
WIDTHS = (360, 1000, 2560)


def skip(why):
    print(f"live.py: skipped: {why}")
    if path := os.environ.get("THERMOCLINE_SKIPPED"):
        with open(path, "a", encoding="utf-8") as skipped:
            skipped.write(f"browser/live.py: {why}\n")


def tool(*arguments):
    return subprocess.run([THERMOCLINE, *arguments], check=True, capture_output=True, text=True, cwd=ROOT).stdout


class Served:
    """A chip in memory with a dashboard."""

    def __init__(self, folder, browser=None, name=EVIL, capacity="256MiB", dashboard=True, device="slc-generic", shape=()):
        self.browser = browser
        self.socket, self.control = f"{folder}/nbd.sock", f"{folder}/ctl.sock"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        shown = ["--dashboard", str(self.port)] if dashboard else []
        self.process = subprocess.Popen(
            [THERMOCLINE, "serve", f"{name}=ram:", "--device", device, "--capacity", capacity, "--unix", self.socket,
             "--control", self.control, "--log", "error", *shown, *shape])
        end = time.monotonic() + 60
        while not os.path.exists(self.control) or not os.path.exists(self.socket):
            assert time.monotonic() < end and self.process.poll() is None, "the server does not start"
            time.sleep(0.02)
        # A machine with much to do may take a while from one socket to the next.
        while dashboard:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except ConnectionRefusedError:
                assert time.monotonic() < end and self.process.poll() is None, "the dashboard does not start"
                time.sleep(0.02)
        time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.browser:
            # Before the server goes: its page would complain that it cannot be reached, and the next page would be blamed.
            self.browser.open("about:blank")
        self.process.terminate()
        self.process.wait(30)

    def fio(self, seconds):
        # One process: it ends when it is told to.
        return subprocess.Popen(
            ["fio", "--thread", "--name=load", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={self.socket}", "--rw=randwrite",
             "--bs=4k", "--iodepth=16", "--time_based", f"--runtime={seconds}", "--norandommap", "--randrepeat=0",
             "--random_distribution=zipf:1.1", "--output-format=json"], stdout=subprocess.PIPE, text=True)

    def fill(self):
        """Writes every page once."""
        subprocess.run(
            ["fio", "--thread", "--name=fill", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={self.socket}", "--rw=write",
             "--bs=256k", "--iodepth=16", "--size=100%"], check=True, stdout=subprocess.DEVNULL)

    def stat(self):
        return json.loads(tool("ctl", self.control, "--json", "stat"))

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) * 1024


def figure(of, path):
    for key in path.split("."):
        of = of[key]
    return of


def wait(browser, expression, seconds=60):
    end = time.monotonic() + seconds
    while not (value := browser.evaluate(expression)):
        assert time.monotonic() < end, f"never true: {expression}"
        time.sleep(0.05)
    return value


def check_page(browser, origin, checker):
    """What every page must keep to: nothing from elsewhere, no complaint, no scrolling sideways, accessible."""
    assert not browser.complaints, browser.complaints
    foreign = [url for url in browser.requests if not url.startswith((origin, "data:"))]
    assert not foreign, foreign
    assert browser.evaluate("document.querySelectorAll('main u, main img, header u, header img').length") == 0
    shown = browser.evaluate("document.body.innerText")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", shown), "control characters"
    for width in WIDTHS:
        browser.look(width)
        time.sleep(0.3)
        wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{wide} pixels too wide at {width}"
    browser.look(1000)
    if checker:
        # Its script is no part of the page: the page's own policy would refuse it.
        browser.evaluate(f"{checker};0")
        for dark in (False, True):
            browser.look(1000, dark=dark)
            time.sleep(0.2)
            found = browser.evaluate("axe.run().then((it) => it.violations.map((v) => [v.id, v.nodes[0].html, v.nodes[0].failureSummary]))")
            assert not found, found
    browser.look(1000)


def pauses_of(browser, place, pictures):
    """The seconds between so many changes of a part of the page, shortest first.

    It waits for changes and not for a time: a busy machine takes longer, but draws no faster.
    """
    return browser.evaluate(f"""new Promise((done) => {{ const at = []; const seen = new MutationObserver(() => {{
        at.push(performance.now() / 1000);
        if (at.length > {pictures}) {{ seen.disconnect(); done(at.slice(1).map((it, i) => it - at[i]).sort((a, b) => a - b)); }} }});
        seen.observe(document.querySelector({json.dumps(place)}), {{ childList: true, subtree: true, characterData: true }}); }})""")


def tab_to(browser, wanted):
    for _ in range(60):
        browser.press("Tab")
        if browser.evaluate(f"document.activeElement.matches({json.dumps(wanted)})"):
            return
    raise AssertionError(f"the keyboard does not reach {wanted}")


def dashboard(browser, folder, checker):
    with Served(folder, browser) as server:
        load = server.fio(600)
        browser.look(1000)
        browser.open(server.url)
        wait(browser, "Number(document.querySelector('[data-key=\"since_mount.host_pages_written\"]')?.dataset.value) > 1000")
        # Who wants little motion sees a picture a second, everyone else several.
        browser.look(1000, still=True)
        still = pauses_of(browser, "#tiles", 3)
        browser.look(1000)
        moving = pauses_of(browser, "#tiles", 12)
        assert sum(still) > 1.8 > sum(moving[:3]), (still, moving)
        connections = browser.evaluate("document.querySelector('[data-key=\"clients.connections\"]').dataset.value")
        assert connections == "1", connections
        # By keyboard alone.
        tab_to(browser, "#mode")
        tab_to(browser, "#map")
        for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
            browser.press(key)
        assert wait(browser, "document.getElementById('sentence').textContent").startswith("Block ")
        pages = wait(browser, "document.querySelectorAll('#pages i').length")
        # On a busy machine the chip is full late.
        wait(browser, "Number(document.querySelector('[data-key=\"since_mount.flash_blocks_erased\"]')?.dataset.value) > 0", 300)
        load.terminate()
        load.wait()
        # The page at rest says what the server says.
        at_rest(browser, server)
        stat = server.stat()
        assert pages == stat["exported_bytes"] // stat["page_size"] // stat["logical_pages"] * pages
        read = browser.evaluate("Object.fromEntries([...document.querySelectorAll('[data-key]')].map((it) => [it.dataset.key, it.dataset.value]))")
        for key in [key for key in read if key.startswith("since_mount") or key == "free_blocks"]:
            assert abs(float(read[key]) / (figure(stat, key) or 1) - bool(figure(stat, key))) < 1e-12, (key, read[key], figure(stat, key))
        assert stat["since_mount"]["flash_blocks_erased"] > 0
        assert "\ufffd[31mchip" in browser.evaluate("document.getElementById('what').textContent")
        block = json.loads(browser.evaluate("fetch('block?block=1').then((it) => it.text())"))
        assert len(block["pages"]) == pages
        check_page(browser, server.url, checker)
        top = tool("top", server.control, "--once")
        assert "write amplification since mount" in top and not re.search(r"[\x00-\x09\x0b-\x1f]", top), top
        with socket.create_connection(("127.0.0.1", server.port)) as rebound:
            rebound.sendall(b"GET /events HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            answer = rebound.makefile("rb").readline()
            assert answer.startswith(b"HTTP/1.1 421 "), answer
        viewers(server)


def at_rest(browser, server):
    """Until the page shows the last state of a chip that nobody writes to."""
    for key in ("host_pages_written", "flash_blocks_erased"):
        shown = f"Number(document.querySelector('[data-key=\"since_mount.{key}\"]').dataset.value)"
        wait(browser, f"{shown} === {server.stat()['since_mount'][key]}")


def viewers(server):
    """Fifty look on, one of them never reads: the others get frames, and memory stays."""
    before = server.memory()
    load = server.fio(600)
    crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    for one in crowd:
        one.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        one.setblocking(False)
    taken = [0] * 50
    least, end = time.monotonic() + 3, time.monotonic() + 60
    while time.monotonic() < least or (min(taken[1:]) < 6 and time.monotonic() < end):
        for i, one in enumerate(crowd[1:], 1):
            try:
                taken[i] += one.recv(1 << 20).count(b"data: ")
            except BlockingIOError:
                pass
        time.sleep(0.02)
    grown = server.memory() - before
    load.terminate()
    load.wait()
    for one in crowd:
        one.close()
    assert min(taken[1:]) >= 6, taken
    assert grown < 64 << 20, f"{grown >> 20} MiB more with fifty viewers"
    print(f"live.py: fifty viewers: {grown / 2**20:.1f} MiB more, {min(taken[1:])} frames or more each")


def others(browser, folder, _checker):
    """The layers without page mapping: blocks, pages of a block and figures are there all the same."""
    for policy in ("in-place", "nftl"):
        with Served(folder, browser, name=policy, capacity="32MiB", shape=("--policy", policy)) as server:
            # All of it, so that every block that holds data is used however slow the machine is.
            server.fill()
            browser.open(server.url)
            wait(browser, "Number(document.querySelector('[data-key=\"since_mount.host_pages_written\"]')?.dataset.value) > 0")
            browser.evaluate("document.getElementById('map').focus()")
            browser.press("ArrowRight")
            sentence = wait(browser, "document.getElementById('sentence').textContent")
            at_rest(browser, server)
            assert re.search(r"Block 0: (full|open), .*pages valid, erased", sentence), sentence
            stat = server.stat()
            read = browser.evaluate("document.querySelector('[data-key=\"since_mount.flash_blocks_erased\"]').dataset.value")
            assert int(read) == stat["since_mount"]["flash_blocks_erased"], (policy, read)
            assert not browser.complaints, browser.complaints


def large(browser, folder, _checker):
    """A hundred thousand blocks, all on the map."""
    with Served(folder, browser, name="large", capacity="800MiB", shape=("--page-size", "512", "--block-size", "8KiB")) as server:
        load = server.fio(3)
        time.sleep(1)
        browser.look(1000)
        browser.open(server.url)
        canvas = "document.getElementById('map')"
        wait(browser, f"{canvas}?.width > 300")
        for mode in ("stream", "erases", "age", "pages"):
            browser.evaluate(f"(() => {{ const it = document.getElementById('mode'); it.value = '{mode}'; it.dispatchEvent(new Event('change')); }})()")
            time.sleep(0.5)
        load.wait()
        stat = server.stat()
        assert stat["blocks"] > 100_000, stat["blocks"]
        browser.evaluate(f"{canvas}.focus()")
        # The first key chooses the first block.
        browser.press("End")
        browser.press("End")
        wait(browser, f"document.getElementById('sentence').textContent.startsWith('Block {stat['blocks'] - 1:,}:')")
        at_rest(browser, server)
        assert not browser.complaints, browser.complaints


def replay(browser, folder, checker):
    trace = f"{folder}/<img src=x onerror=alert(1)>.tct"
    shutil.copy(ROOT / "corpus/sqlite-ext4.tct", trace)
    options = ["--trace", trace, "--ops=-trim", "--over-provisioning", "7%", "--clock", "device"]
    page = f"{folder}/replay.html"
    tool("watch", *options, "--policies", "greedy,dac", "--output", page)
    results = json.loads(tool("compare", *options, "--policies", "greedy,dac", "--no-oracle", "--json"))["runs"]
    browser.open(f"file://{page}")
    wait(browser, "document.body.dataset.ready")
    whole = browser.evaluate("[...document.querySelectorAll('#whole tbody tr')].map((row) => [...row.querySelectorAll('[data-key]')].map((it) => [it.dataset.key, it.dataset.value]))")
    for row in whole:
        for (key, value), result in zip(row, results):
            assert float(value) == figure(result, key), (key, value, figure(result, key))
    # By keyboard: to the buttons, a cleaning on, a cleaning back.
    now = "document.getElementById('time').value"
    start = browser.evaluate(now)
    tab_to(browser, "#next")
    browser.press("Enter")
    first = browser.evaluate(now)
    browser.press("Enter")
    assert int(browser.evaluate(now)) > int(first) > int(start)
    tab_to(browser, "#runs canvas")
    browser.press("ArrowRight")
    browser.press(",")
    assert browser.evaluate(now) == first
    assert "Block 0" in browser.evaluate("document.querySelector('#runs').innerText")
    browser.press(" ")
    wait(browser, f"Number({now}) > {first}")
    browser.press(" ")
    browser.look(1000, still=True)
    browser.press(" ")
    still = pauses_of(browser, "#answer", 3)
    browser.press(" ")
    assert sum(still) > 1.8, f"pauses of {still} s in a replay for one who wants little motion"
    browser.look(1000)
    # At each cleaning the victim costs no more than those it beat, by the policy's own score.
    browser.evaluate("(() => { const t = document.getElementById('time'); t.value = t.max; t.dispatchEvent(new Event('input')); })()")
    tables = browser.evaluate("[...document.querySelectorAll('.victim table')].map((it) => [...it.querySelectorAll('tbody tr')].map((row) => Number(row.lastChild.textContent)))")
    assert len(tables) == 2 and all(len(scores) > 1 and scores[0] <= min(scores[1:]) for scores in tables), tables
    assert "copied" in browser.evaluate("document.getElementById('answer').textContent")
    check_page(browser, f"file://{page}", checker)
    # A whole run in a page ends where the simulator does.
    small = ["--workload", "hot-cold:90/10", "--capacity", "16MiB", "--bytes", "32MiB"]
    tool("watch", *small, "--policies", "greedy,dac", "--from", "0%", "--blocks", "100000", "--output", page)
    results = json.loads(tool("compare", *small, "--policies", "greedy,dac", "--no-oracle", "--json"))["runs"]
    browser.open(f"file://{page}")
    wait(browser, "document.body.dataset.ready")
    browser.evaluate("(() => { const t = document.getElementById('time'); t.value = t.max; t.dispatchEvent(new Event('input')); })()")
    for key, path in (("write_amplification", "write_amplification"), ("erases", "flash.blocks_erased")):
        read = browser.evaluate(f"[...document.querySelectorAll('#runs [data-key={key}]')].map((it) => Number(it.dataset.value))")
        assert read == [figure(result, path) for result in results], (key, read)
    # Policies of part of the blocks beat those they looked at; one that draws says that it has no scores.
    tool("watch", *small, "--policies", "windowed-greedy,d-choices,random,in-place", "--output", page)
    browser.open(f"file://{page}")
    wait(browser, "document.body.dataset.ready")
    browser.evaluate("(() => { const t = document.getElementById('time'); t.value = t.max; t.dispatchEvent(new Event('input')); })()")
    tables = browser.evaluate("[...document.querySelectorAll('.victim')].map((it) => [...it.querySelectorAll('tbody tr')].map((row) => Number(row.lastChild.textContent)))")
    assert all(len(scores) > 1 and scores[0] <= min(scores[1:]) for scores in tables[:2]), tables
    said = browser.evaluate("[...document.querySelectorAll('.victim')].map((it) => it.innerText)")
    assert "no scores" in said[2] and "without scores" in said[3] and not browser.complaints, (said, browser.complaints)


def cost(folder):
    """IOPS with a viewer and without, by turns; the median of the ratios of neighbours."""
    with Served(folder, name="chip", capacity="4GiB", device="slc-generic") as server:
        # Every page of the chip is used before anything is measured: the first use of memory is slow.
        server.fill()
        server.fill()
        server.fio(8).communicate()

        def iops(viewed):
            readers = [subprocess.Popen(["curl", "-sN", "-o", "/dev/null", f"{server.url}events"]) for _ in range(viewed)]
            said = server.fio(4).communicate()[0]
            done = json.loads(said[said.index("{"):])
            for reader in readers:
                reader.terminate()
                reader.wait()
            return done["jobs"][0]["write"]["iops"]

        ratios = []
        for turn in range(8):
            pair = [iops(1), iops(0)] if turn % 2 else [iops(0), iops(1)][::-1]
            ratios.append(pair[0] / pair[1])
            print(f"live.py: {pair[0]:,.0f} IOPS with the stream open, {pair[1]:,.0f} without: {ratios[-1]:.3f}")
        print(f"live.py: {statistics.median(ratios):.3f} of the IOPS, median of {len(ratios)} pairs, {server.stat()['blocks']:,} blocks")


def pictures(browser, folder):
    out = ROOT / "docs/pictures"
    with Served(folder, browser, name="chip") as server:
        load = server.fio(9)
        time.sleep(1)
        browser.look(1100, 700)
        browser.open(server.url)
        time.sleep(7)
        browser.screenshot(out / "dashboard.png", whole=False)
        load.wait()
    page = f"{folder}/replay.html"
    tool("watch", "--trace", "corpus/sqlite-ext4.tct", "--ops=-trim", "--over-provisioning", "7%", "--policies",
         "greedy,dac", "--output", page)
    browser.look(1100, 1150)
    browser.open(f"file://{page}")
    wait(browser, "document.body.dataset.ready")
    browser.evaluate("""(() => { const t = document.getElementById('time'); t.value = (+t.min + +t.max) / 2;
        t.dispatchEvent(new Event('input')); document.getElementById('next').click();
        const mode = document.getElementById('mode'); mode.value = 'stream'; mode.dispatchEvent(new Event('change')); })()""")
    time.sleep(0.5)
    browser.screenshot(out / "replay.png", whole=False)


def main():
    with tempfile.TemporaryDirectory(prefix="thermocline-live.") as folder:
        if "--cost" in sys.argv:
            return cost(folder)
        with Chromium() as browser:
            if "--pictures" in sys.argv:
                return pictures(browser, folder)
            checker = registry.axe()
            if checker is None:
                skip("no accessibility checker: the npm registry cannot be reached")
            began = time.monotonic()
            for part in (dashboard, others, large, replay):
                part(browser, folder, checker)
                print(f"live.py: {part.__name__} passed after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
