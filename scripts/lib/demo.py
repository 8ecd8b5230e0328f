"""The demo: a real control plane, both programs on it, and four TrainJobs to watch."""

import argparse
import os
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cluster"), str(ROOT / "tests" / "support" / "python")]

from controlplane import ControlPlane  # noqa: E402
from deployment import Signalbox  # noqa: E402
from rest import Rest  # noqa: E402
from stories import STORIES  # noqa: E402
from timeline import BOLD, DIM, RED, StoryFailed, paint  # noqa: E402


class Steps:
    """Says what is being done, and how long it took."""

    def __init__(self):
        self._began = time.monotonic()

    def __call__(self, text, action):
        print(f"  {text} ...", end=" ", flush=True)
        started = time.monotonic()
        result = action()
        print(f"{time.monotonic() - started:.1f} s", flush=True)
        return result

    def total(self):
        return time.monotonic() - self._began


def tell(control_plane, binaries, keep):
    step = Steps()
    print(paint("Setting the scene", BOLD))
    step("start etcd, kube-apiserver, controller manager, scheduler, JobSet controller and four nodes",
         control_plane.start)
    signalbox = Signalbox(control_plane, binaries)
    step("install CRDs, RBAC and webhook configurations from manifests/", signalbox.install)
    step("start signalbox-webhook under its service account", signalbox.start_webhook)
    signalbox.configure_webhooks()
    step("install the runtimes from manifests/runtimes", signalbox.install_runtimes)
    step("start signalbox-reconciler under its service account", signalbox.start_reconciler)
    print()
    ended_well = False
    try:
        rest = Rest(control_plane.kubeconfig)
        for number, story in enumerate(STORIES, start=1):
            story(rest, number)
        ended_well = True
        print(paint(f"All four stories ended as they should, {step.total():.0f} s in all.", BOLD))
        what_next(control_plane, keep)
        if keep:
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    finally:
        problems = [p for program in (signalbox.reconciler, signalbox.webhook) if program for p in program.stop()]
    if ended_well and problems:
        raise StoryFailed("; ".join(problems))


def what_next(control_plane, keep):
    print("\nWhat to try next:")
    if keep:
        kubectl = control_plane.kubectl_path
        print(f"""
  export KUBECONFIG={control_plane.kubeconfig}
  {kubectl} get trainjobs,jobsets,pods
  {kubectl} describe trainjob runaway
  {kubectl} get clustertrainingruntime torch-distributed -o yaml

Everything is running until you press Ctrl-C.""", flush=True)
    else:
        print("""
  scripts/demo --keep      the same, and leave it running for you to use with kubectl
  scripts/cluster up       an empty control plane
  README.md                what works, and what does not yet
""", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running until Ctrl-C")
    parser.add_argument("--binaries", default=ROOT / "build" / "release" / "bin", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keep:
        # Before any thread or child exists, so that sigwait gets them.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    control_plane = ControlPlane()
    try:
        tell(control_plane, options.binaries, options.keep)
        return 0
    except StoryFailed as failure:
        control_plane.keep_logs = True
        print(paint(f"\nThe demo failed: {failure}", BOLD, RED), file=sys.stderr)
    except Exception as failure:  # noqa: BLE001: whatever it is, the user gets one line and the logs
        control_plane.keep_logs = True
        print(paint(f"\nThe demo failed: {type(failure).__name__}: {failure}", BOLD, RED), file=sys.stderr)
        if os.environ.get("SIGNALBOX_DEBUG"):
            raise
    finally:
        control_plane.stop()
    print(paint(f"Logs: {control_plane.directory}", DIM), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
