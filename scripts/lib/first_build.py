"""Builds the programs that the demo needs: Signalbox's and the control plane's, side by side. Prints progress and the estimated time
left. Runs Signalbox's programs without a cluster as soon as they are built."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bed"))

from jobs import train_job  # noqa: E402
from timeline import BOLD, DIM, paint  # noqa: E402

PROGRAMS = ROOT / "build" / "release" / "bin"
REPORT_SECONDS = 10
# The share of each of the control plane's programs in the whole build, in the order of their builds. The first ones compile packages
# that the later ones share.
SHARES = {"etcd": 0.12, "kwok": 0.18, "jobset": 0.1, "kubectl": 0.12, "kube-scheduler": 0.16, "kube-controller-manager": 0.22, "kube-apiserver": 0.1}
PACKAGES = 600  # roughly, in each program


class Build:
    """A command that runs, and the share of its work that its output reports as done."""

    def __init__(self, name, command, share, nice=0):
        self.name, self.share, self.done, self.began = name, share, 0.0, time.monotonic()
        self._lines = []
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                         env={**os.environ, "NINJA_STATUS": "[%f/%t] "}, start_new_session=True,
                                         preexec_fn=lambda: os.nice(nice))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._lines = [*self._lines[-40:], line]
            self.done = max(self.done, min(1.0, self.share(line) or 0.0))

    def stop(self):
        """Interrupts the command and the processes that it has started, like Ctrl-C."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            self._process.wait()

    def ended(self):
        if self._process.poll() is None:
            return False
        self._reader.join()
        if self._process.returncode:
            sys.exit(f"scripts/demo: building {self.name} failed:\n{''.join(self._lines)}")
        self.done = 1.0
        return True


def share_of_files(line):
    found = re.match(r"\[(\d+)/(\d+)\]", line)
    return int(found[1]) / int(found[2]) if found else None


def share_of_packages(line):
    """Reads lines such as [2/7] kwok: 15 s, 66 packages"""
    found = re.match(r"\[\d+/\d+\] ([\w-]+): (?:done|\d+ s, (\d+) packages)", line)
    if not found or found[1] not in SHARES:
        return None
    before = sum(list(SHARES.values())[:list(SHARES).index(found[1])])
    return before + SHARES[found[1]] * (min(int(found[2]) / PACKAGES, 1) if found[2] else 1)


def left(build):
    """Returns the estimated seconds left from the work done so far; None while there is too little of it for an estimate."""
    spent = time.monotonic() - build.began
    return spent * (1 - build.done) / build.done if build.done > 0.03 else None


def progress(builds):
    parts = ", ".join(f"{build.name} {100 * build.done:.0f} %" for build in builds)
    known = [left(build) for build in builds if build.done < 1]
    if None in known:
        return parts
    seconds = max(known, default=0)
    return parts + (f"; about {round(seconds / 60)} minutes left" if seconds > 90 else "; about a minute left" if seconds > 20 else "")


def show_programs_at_work():
    """Prints results of the programs that need no cluster: admission verdicts on the demo's TrainJobs, and the objects of one of them."""
    good = train_job("mnist", "torch-distributed", seconds=3, nodes=4, activeDeadlineSeconds=600)
    bad = train_job("mistaken", "torch-distributed", nodes=4)
    bad["spec"]["trainer"]["env"] = [{"name": "PET_NNODES", "value": "4"}]
    print(paint("\nSignalbox's programs are built. Their results for the demo's TrainJobs until the control plane is compiled:", BOLD))
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(ROOT / "manifests" / "runtimes" / "torch-distributed.yaml", directory)
        for job in (good, bad):
            name = job["metadata"]["name"]
            (pathlib.Path(directory) / f"{name}.json").write_text(json.dumps(job))
            print(indented(output_of(directory, f"kubectl trainjob check -f {name}.json -f torch-distributed.yaml")))
        print(paint("  (torchrun's own variables are set by the runtime's plugin: a value of the user's would contradict them)", DIM))
        rendered = output_of(directory, "kubectl trainjob render -o json -f mnist.json -f torch-distributed.yaml")
    print(indented("\n".join(outline(rendered))))
    print(paint("  (the API server gets the JobSet; the ConfigMap keeps the runtime as it is now, so that later edits do not reach the job)\n",
                DIM), flush=True)


def output_of(directory, command):
    print(paint(f"  $ {command}", DIM))
    _, _, *arguments = command.split()
    done = subprocess.run([PROGRAMS / "kubectl-trainjob", *arguments], cwd=directory, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def indented(text):
    return textwrap.indent(text.rstrip("\n"), "  ")


def outline(rendered):
    """Yields the kind and name of each object, and for a JobSet its Pods with image and environment."""
    found = json.loads(rendered)
    for obj in found["items"] if "items" in found else [found]:
        yield f"{obj['kind']} {obj['metadata']['name']}"
        for job in obj.get("spec", {}).get("replicatedJobs", []) if obj["kind"] == "JobSet" else []:
            job_spec = job["template"]["spec"]
            container = job_spec["template"]["spec"]["containers"][0]
            env = ", ".join(f"{each['name']}={each['value']}" for each in container.get("env", []) if "value" in each)
            yield f"  {job_spec.get('completions', 1)} Pods of {job['name']}: {container['image']}, {env}"


def main():
    there = (PROGRAMS / "signalbox-reconciler").exists()
    if not is_configured():
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    ours = Build("our programs", ["cmake", "--build", "--preset", "release", "-j", str(os.cpu_count()), "--target",
                                  "signalbox-webhook", "signalbox-reconciler", "kubectl-trainjob"], share_of_files)
    # Signalbox's programs are ready first, so that there is something to show.
    plane = Build("the control plane's", [ROOT / "scripts" / "cluster", "build"], share_of_packages, nice=5)
    try:
        follow(ours, plane, shown=there)
    finally:
        ours.stop()
        plane.stop()


def is_configured():
    """Returns whether CMake need not run. The build runs it again for all changes but those of its presets. Files that `sudo scripts/demo`
    writes here without need would be in the way of a user's next build."""
    build = ROOT / "build" / "release" / "build.ninja"
    return build.exists() and build.stat().st_mtime > (ROOT / "CMakePresets.json").stat().st_mtime


def follow(ours, plane, shown):
    reported = time.monotonic() - REPORT_SECONDS / 2
    while not (ours.ended() & plane.ended()):
        if ours.done == 1 and not shown:
            shown = True
            show_programs_at_work()
        if time.monotonic() - reported >= REPORT_SECONDS:
            reported = time.monotonic()
            print(f"Building: {progress([ours, plane])}", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
