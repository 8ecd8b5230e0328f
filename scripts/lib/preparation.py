"""Makes what the real nodes need, in the background: their programs, their images, and the store that they start from."""

import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORT_SECONDS = 15
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Preparation:
    """`scripts/cluster build --real` as a process. It takes minutes once, and a second or two later."""

    def __init__(self):
        self._began = time.monotonic()
        self._output = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen([ROOT / "scripts" / "cluster", "build", "--real"], stdin=subprocess.DEVNULL, stdout=self._output,
                                         stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_behind_the_demo)

    def wait(self):
        """Waits for its end, and prints now and then what it does. Raises with its output if it failed."""
        said = None
        while self._process.poll() is None:
            if said is None or time.monotonic() - said >= REPORT_SECONDS:
                said = time.monotonic()
                print(f"  prepare the real nodes, once; {said - self._began:.0f} s so far: {self._lines()[-1]}", flush=True)
            time.sleep(0.1)
        if self._process.returncode:
            raise RuntimeError("\n".join(["the real nodes cannot be prepared:", *self._lines()[-15:]]))

    def stop(self):
        """Interrupts it, with the compilers and servers that it has started. A second call does nothing."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            self._process.wait()

    def _lines(self):
        return os.pread(self._output.fileno(), 1 << 20, 0).decode(errors="replace").splitlines() or ["it has just begun"]


def _behind_the_demo():
    # The stories that play meanwhile come first. When the demo is killed, this ends its compilers by itself.
    os.nice(10)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
