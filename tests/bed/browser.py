"""A headless Chromium, driven over the pipe of its DevTools protocol. It resolves no name and so reaches this machine only."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time

OPTIONS = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
           "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


class PageGone(Exception):
    """The browser has gone to another page during a call."""


class Browser:
    """One page of a browser. Requests of the page and what it complains of are in `requested` and `complaints`."""

    def __enter__(self):
        self._home = tempfile.TemporaryDirectory(prefix="browser", ignore_cleanup_errors=True)
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        # Chromium reads commands at descriptor 3 and writes answers to descriptor 4.
        inner = f"exec 3<&{to_browser} 4>&{from_browser}; exec chromium \"$@\""
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(["bash", "-c", inner, "chromium", *OPTIONS, *sandbox, f"--user-data-dir={self._home.name}", "about:blank"],
                                         pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._session = b"", 0, None
        self.requested, self.complaints, self._loaded = [], [], False
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        os.close(self._to)
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._from)
        self._home.cleanup()

    def open(self, url):
        """Opens a page and returns when it and all that it embeds are loaded."""
        self._loaded = False
        error = self._call("Page.navigate", url=url).get("errorText")
        assert not error, f"{url}: {error}"
        self._until(lambda: self._loaded, f"loading {url}")

    def size(self, width, height):
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def value(self, script):
        """Returns the value of a JavaScript expression, after it has settled if it is a promise."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (script, answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_for(self, script, seconds=20):
        """Waits until the expression is true, as after a click, and returns its value."""
        end = time.monotonic() + seconds
        while not (value := self._value_of_page(script)):
            assert time.monotonic() < end, f"not within {seconds} s: {script}"
            self._receive(0.05)
        return value

    def click(self, script):
        """Evaluates an expression that clicks, which may lead to another page before there is an answer."""
        self._value_of_page(script)

    def _value_of_page(self, script):
        """Returns None if the page goes while the expression is evaluated."""
        try:
            return self.value(script)
        except PageGone:
            return None

    def type(self, text):
        """Types into the element that has the focus."""
        self._call("Input.insertText", text=text)

    def picture(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def _call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | ({"sessionId": self._session} if self._session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._until(None, method)
        if "navigated or closed" in answer.get("error", {}).get("message", ""):
            raise PageGone(method)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _until(self, done, what, seconds=60):
        """Handles messages until the last call is answered, or until `done`."""
        end = time.monotonic() + seconds
        while True:
            if done and done():
                return None
            assert time.monotonic() < end, f"{what} took more than {seconds} s"
            for message in self._receive(1):
                if done is None and message.get("id") == self._number:
                    return message

    def _receive(self, seconds):
        """Notes the events that arrive within that time, and returns all messages."""
        if select.select([self._from], [], [], seconds)[0]:
            got = os.read(self._from, 1 << 20)
            assert got, "the browser has ended"
            self._buffer += got
        *texts, self._buffer = self._buffer.split(b"\0")
        messages = [json.loads(text) for text in texts]
        for message in messages:
            self._note(message.get("method"), message.get("params", {}))
        return messages

    def _note(self, method, event):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requested.append(event["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(event["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(each.get("value", each.get("description"))) for each in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{event['entry']['text']} {event['entry'].get('url', '')}")
