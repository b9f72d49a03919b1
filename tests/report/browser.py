"""Chromium without a window, spoken to over a pipe in its own protocol."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = next((found for name in NAMES if (found := shutil.which(name))), None)


class Seen(NamedTuple):
    """What a page did when it was opened."""

    complaints: list[str]  # errors and warnings on the console, exceptions
    requests: list[str]  # of anything but the page itself and data URIs
    scroll_width: int
    width: int
    broken_images: list[str]
    outside: list[str]  # elements that reach over the right edge and are not in a box that scrolls
    background: str


class Browser:
    """One page of a running Chromium."""

    def __init__(self, to: int, back: int):
        self._to, self._back = os.fdopen(to, "wb", 0), os.fdopen(back, "rb", 0)
        self._number, self._session, self._heard = 0, None, b""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """Ask, and wait for the answer; what happens meanwhile is kept in `events`."""
        self._number += 1
        said = {"id": self._number, "method": method, "params": params}
        if self._session:
            said["sessionId"] = self._session
        self._to.write(json.dumps(said).encode() + b"\0")
        while (heard := self._hear()).get("id") != self._number:
            self.events.append(heard)
        assert "error" not in heard, (method, heard)
        return heard["result"]

    def _hear(self) -> dict[str, Any]:
        while b"\0" not in self._heard:
            said = os.read(self._back.fileno(), 1 << 20)
            assert said, "the browser went away"
            self._heard += said
        message, _, self._heard = self._heard.partition(b"\0")
        return json.loads(message)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get(
            "value"
        )

    def open(self, page: Path, width: int, *, dark: bool = False, unfold: bool = True) -> Seen:
        """Load a page at a width, in light or dark, with everything unfolded."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.events = []
        self.call("Page.navigate", url=page.absolute().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._hear())
        if unfold:
            self.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        return Seen(
            complaints=[_complaint(e) for e in self.events if _complaint(e)],
            requests=[u for e in self.events if (u := _request(e)) and u != page.as_uri()],
            scroll_width=self.run("document.documentElement.scrollWidth"),
            width=self.run("document.documentElement.clientWidth"),
            broken_images=self.run(
                "[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.alt)"
            ),
            outside=self.run(_OUTSIDE),
            background=self.run("getComputedStyle(document.body).backgroundColor"),
        )

    def screenshot(self) -> bytes:
        """All of the page as a PNG, to be looked at."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def print(self) -> bytes:
        """The page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])


_OUTSIDE = """
[...document.querySelectorAll('body *')].filter(e => !e.closest('.table, pre, svg'))
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map(e => e.outerHTML.slice(0, 80))
"""


def _complaint(event: dict[str, Any]) -> str:
    method, params = event.get("method"), event.get("params", {})
    if method == "Runtime.exceptionThrown" or method == "Page.javascriptDialogOpening":
        return json.dumps(params)
    if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
        return json.dumps(params["args"])
    return json.dumps(params["entry"]) if method == "Log.entryAdded" else ""


def _request(event: dict[str, Any]) -> str:
    if event.get("method") != "Network.requestWillBeSent":
        return ""
    url = event["params"]["request"]["url"]
    return "" if url.startswith("data:") else url


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A Chromium of our own, with its files in `folder`; ended by its process id."""
    assert PROGRAM
    (to_read, to_write), (back_read, back_write) = os.pipe(), os.pipe()
    # Chromium reads commands from descriptor 3 and answers on 4; high numbers do not collide.
    given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_read, back_write)]
    arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--hide-scrollbars",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder}",
    ]
    script = f'exec "$@" 3</dev/fd/{given[0]} 4>/dev/fd/{given[1]}'
    process = subprocess.Popen(
        ["sh", "-c", script, "sh", PROGRAM, *arguments],
        pass_fds=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for fd in (to_read, back_write, *given):
        os.close(fd)
    page = None
    try:
        page = Browser(to_write, back_read)
        yield page
    finally:
        process.terminate()
        process.wait(20)
        if page:
            page._to.close()
            page._back.close()
