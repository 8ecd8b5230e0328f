"""scripts/demo's stories with the programs under test."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from controlplane.binaries import cache_directory
from controlplane.processes import start_time
from node import cgroups
from rest import wait_for
from running_demo import COMMAND


def test_the_demo_finishes_its_seven_stories_in_time_and_says_how_to_go_on(demo, tmp_path):
    # The documented time is four minutes. Beside other tests it gets more.
    wait_for("the end of its stories", lambda: demo.process.poll() is not None or "Ctrl-C" in demo.text(), timeout=600)
    assert demo.process.poll() is None, demo.text()
    assert demo.text().count("✓") == 7
    for said in ("Complete (AllJobsCompleted)", "Failed (DeadlineExceeded)", "Suspended (Suspended)", "TrainJob  gone",
                 "progress  100 %, loss 0.25, step 4", "Progress  25%", "1m, then Fail: ", "Failed (ProgressDeadlineExceeded)",
                 "rank 0 of 2 on train-node-0-0", "rank 1: the loss fell", "step 29 loss ", "holds 100 MiB", "OOMKilled, exit code 137",
                 "two nodes trained one model", "They have one image and pull none", "docs/first-minutes-data-scientist.md"):
        assert said in demo.text()
    # Every printed command works, in a shell that knows nothing of the demo.
    commands = re.search(r"What to try next:\n\n((?:  .+\n)+)", demo.text())[1]
    tried = subprocess.run(["bash", "-ec", commands], capture_output=True, text=True, timeout=60,
                           env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert tried.returncode == 0, tried.stderr
    for seen in ("NAME", "hungry", "step 29 loss ", "State     failed ", "jobset.jobset.x-k8s.io/", "kind: ClusterTrainingRuntime"):
        assert seen in tried.stdout
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(120) == 128 + signal.SIGINT


def descendants(process):
    """Returns {id: name} of the running processes that the process has started, and that these have started."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = stat.read_text().partition(" (")
        except OSError:
            continue
        name, _, fields = rest.rpartition(") ")
        parents[int(pid)] = (int(fields.split()[1]), name)
    found, waiting = {}, {process.pid}
    while waiting := {pid for pid, (parent, _) in parents.items() if parent in waiting}:
        found |= {pid: parents[pid][1] for pid in waiting}
    return found


def left_of_nodes(started):
    """Returns cgroups and data of nodes of which one of these processes is the keeper."""
    names = {f"signalbox-node-{pid}-{since}" for pid, since in started.items()}
    return names & {*cgroups.names(), *(path.name for path in (cache_directory() / "nodes").glob("*"))}


ONLY_REAL = "--only-real"
SIGNALBOX = {"etcd", "signalbox-webho", "signalbox-recon"}  # the kernel cuts names
# moment: the programs that run then, what has been printed, and options of the demo
MOMENTS = {
    "while the real nodes are prepared": ({"cluster"}, "", []),
    "while the control plane starts": ({"etcd", "kube-apiserver"}, "", []),
    "in the middle of a story": (SIGNALBOX, "JobSet    running", []),
    "while the network of real nodes is made": ({"sleep"}, "", [ONLY_REAL]),
    "while real nodes start": ({"etcd", "containerd"}, "", [ONLY_REAL]),
    "while a program trains": ({"torchrun"}, "", [ONLY_REAL]),
    "while a program fails": (SIGNALBOX, "TrainJob hungry", [ONLY_REAL]),
}


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda sign: sign.name)
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path, sign, moment):
    state = tmp_path / "state"
    state.mkdir()
    programs, printed, options = MOMENTS[moment]
    with open(tmp_path / "out", "w+") as out, open(tmp_path / "errors", "w+") as errors:
        demo = subprocess.Popen([*COMMAND, *options], stdout=out, stderr=errors, start_new_session=True,
                                env={**os.environ, "TMPDIR": str(state)})
        try:
            wait_for(moment, lambda: demo.poll() is not None or programs <= set(descendants(demo).values())
                     and printed in (tmp_path / "out").read_text(), timeout=300)
            assert demo.poll() is None, (tmp_path / "errors").read_text()
            started = {pid: since for pid in descendants(demo) if (since := start_time(pid))}
            os.killpg(demo.pid, sign)  # like a terminal
            demo.wait(120)
        finally:
            demo.kill()
    wait_for("all that it started to end", lambda: all(start_time(pid) != since for pid, since in started.items()), timeout=60)
    assert not left_of_nodes(started)
    if sign == signal.SIGKILL:
        return
    assert demo.returncode == 128 + sign
    assert (tmp_path / "errors").read_text().split("\n") == [
        "", "Interrupted; everything that the demo started has ended.", ""]
    assert not list(state.iterdir())
