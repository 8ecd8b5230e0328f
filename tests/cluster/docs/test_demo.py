"""scripts/demo's stories with the programs under test."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from controlplane.processes import start_time
from rest import wait_for
from running_demo import COMMAND


def test_the_demo_finishes_its_five_stories_in_time_and_says_how_to_go_on(demo, tmp_path):
    # The documented time is two and a half minutes. Sanitized programs beside other tests get more.
    wait_for("the end of its stories", lambda: demo.process.poll() is not None or "Ctrl-C" in demo.text(), timeout=400)
    assert demo.process.poll() is None, demo.text()
    assert demo.text().count("✓") == 5
    for said in ("Complete (AllJobsCompleted)", "Failed (DeadlineExceeded)", "Suspended (Suspended)", "TrainJob  gone",
                 "progress  100 %, loss 0.25, step 4", "Progress  25%", "1m, then Fail: ", "Failed (ProgressDeadlineExceeded)",
                 "No image is pulled", "docs/first-minutes-data-scientist.md"):
        assert said in demo.text()
    # Every printed command works, in a shell that knows nothing of the demo.
    commands = re.search(r"What to try next:\n\n((?:  .+\n)+)", demo.text())[1]
    tried = subprocess.run(["bash", "-ec", commands], capture_output=True, text=True, timeout=60,
                           env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert tried.returncode == 0, tried.stderr
    for seen in ("NAME", "runaway", "State     failed ", "jobset.jobset.x-k8s.io/", "kind: ClusterTrainingRuntime"):
        assert seen in tried.stdout
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(60) == 128 + signal.SIGINT


def children(process):
    """Returns the running child processes."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = stat.read_text().partition(" (")[2].rpartition(") ")
        except OSError:
            continue
        if int(fields.split()[1]) == process.pid:
            found[int(stat.parent.name)] = name
    return found


@pytest.mark.long
@pytest.mark.parametrize("moment,programs", [
    ("while the control plane starts", {"etcd", "kube-apiserver"}),
    ("in the middle of a story", {"etcd", "signalbox-webho", "signalbox-recon"}),  # the kernel cuts names
])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda sign: sign.name)
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path, sign, moment, programs):
    with open(tmp_path / "out", "w+") as out, open(tmp_path / "errors", "w+") as errors:
        (tmp_path / "state").mkdir()
        demo = subprocess.Popen(COMMAND, stdout=out, stderr=errors, start_new_session=True,
                                env={**os.environ, "TMPDIR": str(tmp_path / "state")})
        try:
            wait_for(moment, lambda: programs <= set(children(demo).values()) and demo.poll() is None
                     and ("story" not in moment or "JobSet    running" in (tmp_path / "out").read_text()), timeout=120)
            started = {pid: since for pid in children(demo) if (since := start_time(pid))}
            os.killpg(demo.pid, sign)  # like a terminal
            demo.wait(60)
        finally:
            demo.kill()
    wait_for("all that it started to end", lambda: all(start_time(pid) != since for pid, since in started.items()))
    if sign == signal.SIGKILL:
        return
    assert demo.returncode == 128 + sign
    assert (tmp_path / "errors").read_text().split("\n") == [
        "", "Interrupted; everything that the demo started has ended.", ""]
    assert not list((tmp_path / "state").iterdir())
