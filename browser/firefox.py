"""Drives a headless Firefox by WebDriver BiDi over its own WebSocket: no driver, no library, nothing but Debian's firefox-esr."""

import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

from chromium import Fault

#: Keys as WebDriver names them.
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}
#: What a page in use may not do: ask Mozilla for anything.
PREFERENCES = {"app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
               "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False}


def found():
    """The program, if it is here."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Socket:
    """The client's end of a WebSocket (RFC 6455), for texts."""

    def __init__(self, port, path):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=180)
        key = base64.b64encode(os.urandom(16)).decode()
        head = (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n")
        self.stream.sendall(head.encode())
        self.file = self.stream.makefile("rb")
        status = self.file.readline()
        if b" 101 " not in status:
            raise Fault(f"the browser answers {status!r}")
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def send(self, text):
        payload, mask = text.encode(), os.urandom(4)
        size = len(payload)
        head = bytes([0x81]) + (bytes([0x80 | size]) if size < 126 else
                                bytes([0x80 | 126]) + struct.pack(">H", size) if size < 1 << 16 else bytes([0x80 | 127]) + struct.pack(">Q", size))
        repeated = mask * (size // 4 + 1)
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(repeated[:size], "big")
        self.stream.sendall(head + mask + masked.to_bytes(size, "big"))

    def receive(self):
        text = b""
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                raise Fault("the browser is gone")
            kind, size = head[0] & 15, head[1] & 127
            if size >= 126:
                size = int.from_bytes(self.file.read(2 if size == 126 else 8), "big")
            part = self.file.read(size)
            if kind == 8:
                raise Fault("the browser is gone")
            if kind in (0, 1):
                text += part
                if head[0] & 128:
                    return text.decode()

    def close(self):
        self.file.close()
        self.stream.close()


class Firefox:
    """One browser with one page, as `Chromium` is one: what the tests ask of either."""

    name = "Firefox"

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="thermocline-browser.")
        with open(os.path.join(self.folder, "user.js"), "w", encoding="utf-8") as out:
            out.writelines(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
        self.process = subprocess.Popen([found(), "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", self.folder],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": self.folder})
        port = None
        for line in self.process.stderr:
            if listening := re.search(r"WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)", line):
                port = int(listening[1])
                break
        if port is None:
            raise Fault("Firefox does not begin")
        # What it says meanwhile may not fill the pipe.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.socket, self.number = Socket(port, "/session"), 0
        self.requests, self.complaints = [], []
        self.call("session.new", capabilities={})
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "network.beforeRequestSent":
            self.requests.append(params["request"]["url"])
        elif method == "log.entryAdded" and params["level"] in ("error", "warn"):
            self.complaints.append(params["text"])

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") == self.number:
                if answer["type"] == "error":
                    raise Fault(f"{method}: {answer['message']}")
                return answer["result"]
            self.note(answer)

    def open(self, url):
        self.requests, self.complaints = [], []
        self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def remote(self, script):
        answer = self.call("script.evaluate", expression=script, target={"context": self.context}, awaitPromise=True)
        if answer["type"] == "exception":
            raise Fault(answer["exceptionDetails"]["text"])
        return answer["result"]

    def evaluate(self, script):
        """The value of an expression in the page; a promise is waited for."""
        return value(self.remote(script))

    def look(self, width, height=900, **_):
        """The size of the window; what its owner likes is the profile's."""
        self.call("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def choose(self, element, file):
        """A file, for an element with this id."""
        node = self.remote(f"document.getElementById('{element}')")
        self.call("input.setFiles", context=self.context, element={"sharedId": node["sharedId"]}, files=[file])

    def type(self, text):
        self.keys(text)

    def press(self, key, text=None):
        """A key, down and up: Tab, ArrowRight, Enter."""
        self.keys([KEYS.get(key, text or key)])

    def keys(self, all_of_them):
        actions = [{"type": kind, "value": key} for key in all_of_them for kind in ("keyDown", "keyUp")]
        self.call("input.performActions", context=self.context, actions=[{"type": "key", "id": "keys", "actions": actions}])


def value(remote):
    """What a page's value is here."""
    kind = remote["type"]
    if kind in ("null", "undefined"):
        return None
    if kind in ("array", "set"):
        return [value(one) for one in remote.get("value", [])]
    if kind in ("object", "map"):
        return {key: value(one) for key, one in remote.get("value", [])}
    if kind == "number" and isinstance(remote["value"], str):
        return float(remote["value"].replace("Infinity", "inf"))
    return remote.get("value")

