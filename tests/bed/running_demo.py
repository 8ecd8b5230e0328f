"""scripts/demo as a process, with the programs under test."""

import os
import signal
import subprocess

from paths import ROOT

COMMAND = ["/usr/bin/python3", "-B", ROOT / "scripts" / "lib" / "demo.py", "--binaries", os.environ["SIGNALBOX_BIN_DIR"]]


class Demo:
    """A running demo that stays after its stories. A context manager."""

    def __init__(self, directory):
        self._out, self._errors = directory / "out", directory / "errors"
        with open(self._out, "w") as out, open(self._errors, "w") as errors:
            self.process = subprocess.Popen([*COMMAND, "--keep"], stdout=out, stderr=errors)

    def text(self):
        return self._out.read_text() + self._errors.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(120)
        finally:
            self.process.kill()
