# ===- browser.py - A browser that a test drives ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Chromium and Firefox without a window, over WebDriver BiDi.

Firefox speaks BiDi by itself; Debian's chromedriver speaks it for Chromium. Every message of
the console and every request is kept, so that a test can say there was none.
"""

import base64
import contextlib
import json
import re
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from websockets.sync.client import connect

SECONDS = 60  # after which a browser is stuck
WAITS = 1000  # of 20 ms, for a condition

# What a page may have to do with: itself, and what it has inside.
INSIDE = ("file:", "data:", "about:", "blob:")

KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowUp": "\ue013", "ArrowDown": "\ue015",
        "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Home": "\ue011", "End": "\ue010"}


def is_installed(name):
    return bool(shutil.which("chromedriver" if name == "chromium" else "firefox-esr"))


class Browser:
    """One window. Use as a context: the browser ends with it."""

    def __init__(self, name, width=1400, height=900):
        self.name = name
        self.size = {"width": width, "height": height}
        self.events = []
        self.messages = 0

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        start = self.start_chromium if self.name == "chromium" else self.start_firefox
        self.open_files = contextlib.ExitStack()
        self.socket = self.open_files.enter_context(connect(start(), max_size=None))
        if self.name == "firefox":
            self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("browsingContext.setViewport", context=self.context, viewport=self.size)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):  # it may be gone before it answers
            self.call("browser.close")
            self.open_files.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def spawn(self, command, said):
        """The first thing that matches `said` in what the command prints."""
        environment = {"HOME": self.folder.name, "PATH": "/usr/bin:/bin", "MOZ_HEADLESS": "1", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        for line in self.process.stdout:
            if found := re.search(said, line):
                return found[1]
        raise RuntimeError(f"{command[0]} has ended")

    def start_chromium(self):
        port = self.spawn(["chromedriver", "--port=0"], r"started successfully on port (\d+)")
        # What runs as root has no sandbox of Chromium's.
        options = ["--headless", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={self.folder.name}/chromium"]
        capabilities = {"alwaysMatch": {"webSocketUrl": True, "goog:chromeOptions": {"args": options}}}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/session", json.dumps({"capabilities": capabilities}).encode())
        local = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with local.open(request, timeout=SECONDS) as answer:
            return json.load(answer)["value"]["capabilities"]["webSocketUrl"]

    def start_firefox(self):
        profile = Path(self.folder.name) / "profile"
        profile.mkdir()
        command = ["firefox-esr", "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"]
        return self.spawn(command, r"BiDi listening on (ws://\S+)") + "/session"

    def call(self, method, **parameters):
        """What the browser answers; events that come before are kept."""
        self.messages += 1
        self.socket.send(json.dumps({"id": self.messages, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=SECONDS))
            if message.get("id") == self.messages:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
                return message["result"]
            if message["type"] == "event":
                self.events.append(message)

    def open(self, path, fragment=""):
        url = Path(path).resolve().as_uri() + fragment
        self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def run(self, script):
        """The value of an expression of JavaScript; promises are awaited."""
        result = self.call("script.evaluate", expression=f"(async () => JSON.stringify(await ({script}) ?? null))()", target={"context": self.context}, awaitPromise=True)
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])

    def wait(self, condition):
        """Until an expression of JavaScript is true."""
        assert self.run(f"(async () => {{ for (let i = 0; i < {WAITS}; ++i) {{ if ({condition}) return true; await new Promise((done) => setTimeout(done, 20)); }} return false; }})()"), condition

    def click(self, selector, text=None):
        """Clicks as a person does, at the middle of the first element, or of the one with this text."""
        self.point(selector, text, [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])

    def point(self, selector, text=None, actions=()):
        """Moves the pointer there."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})].filter((e) => {json.dumps(text)} === null || e.textContent.includes({json.dumps(text)}))[0]"
        # Scrolling may draw other lines, one of which is the first then.
        place = self.run(f"""(async () => {{
            for (let last = null, place = null, turn = 0; turn < {WAITS}; ++turn, last = place) {{
                const e = {found};
                if (!e) return null;
                e.scrollIntoView({{block: 'center', inline: 'nearest'}});
                await new Promise((done) => setTimeout(() => requestAnimationFrame(done), 20));
                const r = e.getBoundingClientRect();
                place = [r.x + Math.min(r.width, 300) / 2, r.y + r.height / 2];
                if (e.isConnected && e === {found} && String(place) === String(last)) return place;
            }}
        }})()""")
        assert place, f"nothing is {selector} with {text}"
        move = {"type": "pointerMove", "x": int(place[0]), "y": int(place[1])}
        self.call("input.performActions", context=self.context, actions=[{"type": "pointer", "id": "mouse", "actions": [move, *actions]}])

    def press(self, *keys):
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("input.performActions", context=self.context, actions=[{"type": "key", "id": "keys", "actions": actions}])

    def texts(self, selector):
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")

    def screenshot(self, path):
        data = self.call("browsingContext.captureScreenshot", context=self.context)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def complaints(self):
        """Messages of the console, and what was asked of anybody else."""
        self.call("session.status")  # what is on its way comes before the answer
        logged = [event["params"]["text"] for event in self.events if event["method"] == "log.entryAdded"]
        urls = [event["params"]["request"]["url"] for event in self.events if event["method"] == "network.beforeRequestSent"]
        return logged + [url for url in urls if not url.startswith(INSIDE)]
