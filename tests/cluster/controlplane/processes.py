"""Processes that one control plane started: these, by the ids that we kept, and no others are ever signalled."""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def free_ports(count):
    """Ports of loopback that were free a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class Process:
    """A program with its log file. `outlive`: go on after the process that started it has ended."""

    def __init__(self, name, arguments, log, environment=None, outlive=False):
        self.name = name
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as file:
            self._popen = subprocess.Popen(
                [str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=outlive, preexec_fn=None if outlive else _die_with_parent,
                env={**os.environ, **(environment or {})})
        self.pid = self._popen.pid

    def running(self):
        return self._popen.poll() is None

    def tail(self, lines=15):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def stop(processes, grace=10):
    """Ends them all: asks, then kills."""
    for process in processes:
        if process.running():
            process._popen.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + grace
    for process in processes:
        try:
            process._popen.wait(max(0.01, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process._popen.kill()
            process._popen.wait()


def stop_by_id(pids, grace=10):
    """The same for processes that another process started, such as those of `scripts/cluster up`. `pids` maps each id to
    the start time that was noted with it, so that an id that has been reused is left alone."""
    ours = [pid for pid, started in pids.items() if start_time(pid) == started]
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for pid in ours:
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + grace
        while ours and time.monotonic() < deadline:
            ours = [pid for pid in ours if start_time(pid) == pids[pid]]
            time.sleep(0.05)


def start_time(pid):
    """When the kernel started that process, in its own ticks; None if there is no such process."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
