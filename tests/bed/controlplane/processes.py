"""Processes of one control plane or one test. Only these are ever signalled, by the ids that were recorded when they
started."""

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
    """A program with its log file, which it truncates or, with `append`, continues. `outlive`: it continues after the process that
    started it has ended; else the kernel ends it together with the thread that started it."""

    def __init__(self, name, arguments, log, environment=None, outlive=False, append=False):
        self.name = name
        self.log = pathlib.Path(log)
        if not append:
            self.log.write_bytes(b"")
        self.arguments = [str(a) for a in arguments]
        self._environment = {**os.environ, **(environment or {})}
        self._outlive = outlive
        self.start()

    def start(self):
        """Starts the program. A later call starts it again with its `arguments`, and continues its log."""
        parent = os.getpid()
        with open(self.log, "ab") as file:
            # A signal that comes meanwhile and raises something would leave a process of which nobody knows.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
            try:
                # In a session of its own: Ctrl-C reaches only this process, which ends the programs in their order.
                self._popen = subprocess.Popen(
                    self.arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
                    preexec_fn=lambda: _prepare(None if self._outlive else parent, before), env=self._environment)
            except BaseException:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                raise
        self.pid = self._popen.pid
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)  # raises it
        except BaseException:
            self.ask_to_end()
            if not self.wait(_GRACE_SECONDS):
                self.kill()
            raise

    def running(self):
        return self.exit_status() is None

    def exit_status(self):
        """Returns None as long as it runs. A negative status is the signal that ended it."""
        return self._popen.poll()

    def ask_to_end(self):
        if self.running():
            self._popen.send_signal(signal.SIGTERM)

    def wait(self, seconds):
        """Returns whether it ended within that time."""
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
    """A program ended without being stopped."""

    def __init__(self, process):
        super().__init__(f"{process.name} ended by itself; the end of {process.log}:\n{process.tail()}")
        self.port_was_taken = "address already in use" in process.log.read_text(errors="replace")


def stop(processes, grace=_GRACE_SECONDS):
    """Ends them all, by SIGTERM and then SIGKILL. The first one, the database, ends last, because the others need it for a clean end.
    If it has ended already, the others are killed at once."""
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
    """Does the same for processes of another process, such as `scripts/cluster up`. `pids` maps each id to the start time that was
    recorded with it, so that an id that has been reused is left alone."""
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
    """Returns those of `pids` (id: start time) that still are the recorded processes."""
    return {pid: started for pid, started in pids.items() if start_time(pid) == started}


def start_time(pid):
    """Returns the start time of that process, in the kernel's ticks; None if there is no such process. Ids are reused, but an id and
    a start time together name one process for ever."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def _prepare(parent, blocked):
    """Runs in the new process before its program: ends it when `parent` ends, unless that is None, and blocks these signals only."""
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    if parent is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended already
            os._exit(1)
