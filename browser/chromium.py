"""Drives a headless Chromium over its own pipe: no driver, no library, nothing but Debian's chromium."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


class Fault(Exception):
    """What the page or the browser says went wrong."""


class Chromium:
    """One browser with one page. It records what the page asks for and what it complains of."""

    name = "Chromium"

    def __init__(self, program="chromium"):
        self.folder = tempfile.mkdtemp(prefix="thermocline-browser.")
        to_browser, self.out = os.pipe()
        self.incoming, from_browser = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
                 "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank"]

        def pipes():
            # The browser reads what it is told from 3 and answers on 4; neither may lie in the other's way.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen([program, *flags], preexec_fn=pipes, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session = b"", 0, None
        self.requests, self.complaints, self.loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.incoming)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        while b"\0" not in self.buffer:
            part = os.read(self.incoming, 1 << 20)
            if not part:
                raise Fault("the browser is gone")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Fault(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def open(self, url):
        self.requests, self.complaints, self.loaded = [], [], False
        self.call("Page.navigate", url=url)
        end = time.monotonic() + 30
        while not self.loaded:
            if time.monotonic() > end:
                raise Fault(f"{url} does not load")
            self.note(self.message())
        # The event may be the empty page's, late.
        is_early = "document.readyState !== 'complete'"
        if url != "about:blank":
            is_early += " || location.href === 'about:blank'"
        while self.evaluate(is_early):
            if time.monotonic() > end:
                raise Fault(f"{url} does not load")
            time.sleep(0.02)

    def evaluate(self, script):
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Fault(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def look(self, width, height=900, dark=False, scripts=True, still=False, media=""):
        """The size of the window and the taste of its owner."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        tastes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce" if still else "no-preference"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": name, "value": value} for name, value in tastes.items()])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def choose(self, element, file):
        """A file, for an element with this id."""
        node = self.call("Runtime.evaluate", expression=f"document.getElementById('{element}')")["result"]["objectId"]
        self.call("DOM.setFileInputFiles", files=[file], objectId=node)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key, code=0, text=None):
        """A key, down and up: Tab, ArrowRight, Enter."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32}
        event = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code or codes.get(key, 0)}
        if key in ("Enter", " "):
            text = "\r" if key == "Enter" else " "
        self.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def screenshot(self, file, bottom=None, whole=True):
        """The page as PNG: all of it, down to so many pixels, or what the window shows."""
        if whole:
            self.call("Emulation.setScrollbarsHidden", hidden=True)
            width, height = self.evaluate("[innerWidth, document.documentElement.scrollHeight]")
            clip = {"clip": {"x": 0, "y": 0, "width": width, "height": bottom or height, "scale": 1}}
        else:
            clip = {}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)
        with open(file, "wb") as out:
            out.write(base64.b64decode(shot["data"]))
