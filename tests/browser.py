"""Drives a headless Chromium through its own debugging protocol, over a pipe: nothing to install besides the browser.

Commands go to the browser's file descriptor 3 and answers come from 4, JSON texts ended by a zero byte.
"""

import base64
import fcntl
import itertools
import json
import os
import queue
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

PATIENCE = 300.0
"""Seconds until a thing that should have happened on the page counts as missing."""

KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "Space": (32, " "),
    "ArrowUp": (38, ""),
    "ArrowDown": (40, ""),
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
}


def chromium() -> str | None:
    """Where the browser is: DITHER_CHROMIUM, or Debian's."""
    return os.environ.get("DITHER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One browser process; ``page()`` opens a fresh profile's tab."""

    def __init__(self, binary: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="dither-page-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        given = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
        command = [
            binary,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-default-apps",
            "--hide-scrollbars",
            "--mute-audio",
            "--force-device-scale-factor=1",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile}",
            "about:blank",
        ]

        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{given[0]} 4>&{given[1]}', "browser", *command],
            pass_fds=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_read, to_write, *given):
            os.close(end)
        self._numbers = itertools.count(1)
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._tabs: dict[str, Tab] = {}
        self._writing = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command and its answer."""
        number = next(self._numbers)
        self._answers[number] = queue.Queue()
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        with self._writing:
            os.write(self._write, json.dumps(message).encode() + b"\0")
        try:
            answer = self._answers[number].get(timeout=PATIENCE)
        except queue.Empty:
            raise TimeoutError(f"the browser did not answer {method}") from None
        finally:
            del self._answers[number]
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _listen(self) -> None:
        rest = b""
        while piece := os.read(self._read, 1 << 20):
            *whole, rest = (rest + piece).split(b"\0")
            for one in whole:
                message = json.loads(one)
                if "id" in message:
                    if message["id"] in self._answers:
                        self._answers[message["id"]].put(message)
                elif message.get("sessionId") in self._tabs:
                    self._tabs[message["sessionId"]].note(message["method"], message["params"])

    def tab(self, *, width: int = 1200, height: int = 900, dark: bool = False) -> "Tab":
        """A tab with no memory of other tabs."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        made = self._tabs[session] = Tab(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            made.send(f"{domain}.enable")
        made.resize(width, height)
        made.send(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ],
        )
        return made

    def close(self) -> None:
        """End the browser and forget its profile."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)


class Tab:
    """One page: what a person does to it, and what it complained about."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.complaints: list[str] = []
        """Console errors, uncaught exceptions, refusals of the content security policy."""
        self.refusals: list[str] = []
        """What the browser itself says about requests that the server refused, which it does for every one."""
        self.held: list[dict[str, Any]] = []
        """Requests that were stopped on their way, by ``hold``."""
        self.requests: list[str] = []
        """The address of everything that the page asked the network for."""

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol to this tab."""
        return self._browser.send(method, self._session, **params)

    def note(self, method: str, params: dict[str, Any]) -> None:
        """Something that happened by itself."""
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"].get("exception", {}).get("description", params)))
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning", "assert"}:
            self.complaints.append(str([one.get("value") for one in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
            by_server = params["entry"]["source"] == "network" and "/v1/" in params["entry"].get("url", "")
            kept = self.refusals if by_server else self.complaints
            kept.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Fetch.requestPaused":
            self.held.append(params)

    def resize(self, width: int, height: int) -> None:
        """The window's size in CSS pixels; below 500 it is a phone."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def run(self, script: str) -> Any:
        """The value of an expression on the page."""
        # The page's own policy binds what is evaluated here too.
        answer = self.send(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            allowUnsafeEvalBlockedByCSP=False,
        )
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def until(self, script: str, what: str | None = None) -> Any:
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if value := self.run(script):
                return value
            time.sleep(0.03)
        text = self.run("document.body.innerText")
        raise AssertionError(f"never happened: {what or script}\n--- the page shows\n{text}\n--- {self.complaints}")

    def see(self, text: str, within: str = "body") -> None:
        """Wait until a text can be read on the page."""
        inside = f"document.querySelector({json.dumps(within)})?.innerText ?? ''"
        self.until(f"({inside}).includes({json.dumps(text)})", f"{text!r} in {within}")

    def go(self, address: str) -> None:
        """Open an address."""
        self.send("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def click(self, selector: str) -> None:
        """Press the mouse on the middle of the first element that matches and can be seen."""
        here = json.dumps(selector)
        visible = f"[...document.querySelectorAll({here})].find(one => one.checkVisibility() && !one.disabled)"
        self.until(f"!!{visible}", f"{selector} to click")
        self.run(f"{visible}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.run(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({visible}.getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def click_text(self, text: str, selector: str = "button, a, summary, label") -> None:
        """Press the mouse on what bears this text."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})]"
        exact = f"{found}.find(one => one.checkVisibility() && one.innerText.trim() === {json.dumps(text)})"
        self.until(f"!!({exact})", f"{text!r} to click")
        self.run(
            "document.querySelectorAll('[data-wanted]').forEach(one => delete one.dataset.wanted);"
            f"({exact}).dataset.wanted = ''"
        )
        self.click("[data-wanted]")

    def fill(self, selector: str, text: str) -> None:
        """Replace what stands in a field by typing."""
        self.click(selector)
        self.run(f"document.querySelector({json.dumps(selector)}).select?.()")
        self.send("Input.insertText", text=text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a select, as the browser's own list does."""
        here = json.dumps(selector)
        offered = f"[...(document.querySelector({here})?.options ?? [])].map(one => one.value)"
        self.until(f"{offered}.includes({json.dumps(value)})", f"{value!r} in {selector}")
        self.run(
            f"(one => {{ one.value = {json.dumps(value)}; one.dispatchEvent(new Event('input', {{bubbles: true}}));"
            f" one.dispatchEvent(new Event('change', {{bubbles: true}})) }})(document.querySelector({here}))"
        )

    def key(self, name: str, *, shift: bool = False) -> None:
        """Press a key."""
        code, text = KEYS[name]
        key = " " if name == "Space" else name
        common = {"key": key, "code": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Type into whatever has the focus."""
        self.send("Input.insertText", text=text)

    def tab_to(self, selector: str, most: int = 80) -> None:
        """Press Tab until an element has the focus; its focus must be visible."""
        for _ in range(most):
            if self.run(f"document.activeElement.matches({json.dumps(selector)})"):
                ring = self.run(
                    "(({outlineStyle, outlineWidth}) => [outlineStyle, outlineWidth])"
                    "(getComputedStyle(document.activeElement.closest('.check') ?? document.activeElement))"
                )
                if ring[0] == "none" or not re.match(r"[1-9]", ring[1]):
                    raise AssertionError(f"the focus on {selector} cannot be seen: {ring}")
                return
            self.key("Tab")
        raise AssertionError(f"{selector} cannot be reached with the Tab key")

    def lose_answer(self, pattern: str) -> None:
        """Let the next request to an address reach the server, and lose what it answers."""
        self.held.clear()
        self.send("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": "Response"}])

    def lost(self) -> None:
        """Wait until that has happened; later answers arrive again."""
        end = time.monotonic() + PATIENCE
        while not self.held and time.monotonic() < end:
            time.sleep(0.02)
        self.send("Fetch.failRequest", requestId=self.held[0]["requestId"], errorReason="ConnectionReset")
        self.send("Fetch.disable")

    def save_downloads(self, folder: Path) -> None:
        """Let files that the page makes be saved."""
        self.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def downloaded(self, file: Path) -> str:
        """The text of a saved file, once it is there."""
        end = time.monotonic() + PATIENCE
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.02)
        return file.read_text(encoding="utf-8")

    def picture(self, path: Path, *, whole: bool = True) -> Path:
        """Save a picture of the page."""
        # The page's own animations (focus, live regions) settle within a frame or two.
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        params: dict[str, Any] = {"format": "png"}
        if whole:
            self.run("scrollTo(0, 0)")
            width, height = self.run("[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]")
            params |= {
                "captureBeyondViewport": True,
                "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
            }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", **params)["data"]))
        return path

    def close(self) -> None:
        """Close the tab."""
        self._browser.send("Target.closeTarget", targetId=self._target)
