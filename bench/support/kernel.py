"""The kernel's figures of a process."""

import os
import pathlib
import subprocess
import time

_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK_SECONDS = 0.25


def cpu_seconds(pid):
    """Returns the user and system time of a process in seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident(pid, what="VmRSS"):
    """Returns the resident memory in MiB; its peak so far with "VmHWM"; with "RssAnon" without pages of files, which the kernel can drop."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields[what].split()[0]) / 1024


def forget_peak(pid):
    """Lets the peak of the resident memory begin anew, of a process of this user."""
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def wait_until_quiet(what, cpu, cores, seconds, limit):
    """Returns when what cpu() counts has grown by less than that many cores for so many seconds; fails after `limit` seconds."""
    began = since = time.monotonic()
    used = cpu()
    while time.monotonic() - since < seconds:
        time.sleep(_LOOK_SECONDS)
        now, at = cpu(), time.monotonic()
        if now - used <= cores * seconds:
            continue
        if at - began > limit:
            raise AssertionError(f"after {limit} s {what} is not quiet: {now - used:.2f} s of CPU time in the last {at - since:.1f} s, "
                                 f"more than {cores * seconds:.2f} s")
        used, since = now, at


def age(pid):
    """Returns the seconds since the process was started."""
    started = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]) / _TICKS
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def pin(pid, cores):
    """Keeps all threads of a process on these cores, such as "0-1"."""
    subprocess.run(["taskset", "-a", "-p", "-c", cores, str(pid)], check=True, capture_output=True)


def machine():
    """Returns a line about the machine and what else it does."""
    model = next((line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown processor")
    loads = "/".join(f"{load:.1f}" for load in os.getloadavg())
    return f"{os.cpu_count()} cores of {model}, load {loads} (1/5/15 minutes)"
