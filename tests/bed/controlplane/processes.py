"""Processes that one control plane or one test started: these, by the ids that we kept, and no others are ever
signalled."""

import ctypes
import os
import pathlib
import signal
import subprocess
import time

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_GRACE_SECONDS = 10


class Process:
    """A program with its log file, which it begins anew or, with `append`, continues. `outlive`: go on after the process
    that started it has ended; else the kernel ends it together with the thread that started it."""

    def __init__(self, name, arguments, log, environment=None, outlive=False, append=False):
        self.name = name
        self.log = pathlib.Path(log)
        if not append:
            self.log.write_bytes(b"")
        self._arguments = [str(a) for a in arguments]
        self._environment = {**os.environ, **(environment or {})}
        self._outlive = outlive
        self.start()

    def start(self):
        """Also once more after it has ended: with the same arguments, and its log goes on."""
        parent = os.getpid()
        with open(self.log, "ab") as file:
            # In a session of its own: Ctrl-C reaches only us, and we end the programs in their order.
            self._popen = subprocess.Popen(
                self._arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
                preexec_fn=lambda: _prepare(None if self._outlive else parent), env=self._environment)
        self.pid = self._popen.pid

    def running(self):
        return self.exit_status() is None

    def exit_status(self):
        """None as long as it runs; negative: the signal that ended it."""
        return self._popen.poll()

    def ask_to_end(self):
        if self.running():
            self._popen.send_signal(signal.SIGTERM)

    def wait(self, seconds):
        """Whether it ended within that time."""
        try:
            self._popen.wait(max(0.01, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self):
        self._popen.kill()
        self._popen.wait()

    def tail(self, lines=15):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


class ProcessEnded(RuntimeError):
    """A program ended although nobody asked it to."""

    def __init__(self, process):
        super().__init__(f"{process.name} ended by itself; the end of {process.log}:\n{process.tail()}")
        self.port_was_taken = "address already in use" in process.log.read_text(errors="replace")


def stop(processes, grace=_GRACE_SECONDS):
    """Ends them all: asks, then kills. First all but the first one, which is the database that the others need to end in
    order; if it is gone already, nothing is waited for."""
    if processes and not processes[0].running():
        grace = 0
    for group in (processes[1:], processes[:1]):
        for process in group:
            process.ask_to_end()
        deadline = time.monotonic() + grace
        for process in group:
            if not process.wait(deadline - time.monotonic()):
                process.kill()


def stop_by_id(pids, grace=_GRACE_SECONDS):
    """The same for processes that another process started, such as those of `scripts/cluster up`. `pids` maps each id to
    the start time that was noted with it, so that an id that has been reused is left alone."""
    everything = list(pids)
    if everything and everything[0] not in still_running(pids):
        grace = 0.1
    for group in (everything[1:], everything[:1]):
        for sign in (signal.SIGTERM, signal.SIGKILL):
            ours = still_running({pid: pids[pid] for pid in group})
            for pid in ours:
                os.kill(pid, sign)
            deadline = time.monotonic() + grace
            while still_running(ours) and time.monotonic() < deadline:
                time.sleep(0.05)


def still_running(pids):
    """Those of `pids` (id: start time) that are the processes that were noted."""
    return {pid: started for pid, started in pids.items() if start_time(pid) == started}


def start_time(pid):
    """When the kernel started that process, in its own ticks; None if there is no such process. Ids are reused; together
    with its start time an id names one process for ever."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def _prepare(parent):
    """In the new process, before its program: it does not outlive `parent` unless that is None."""
    if parent is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was faster than we were
            os._exit(1)
