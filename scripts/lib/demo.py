"""The demo: a real control plane with both programs and the server of progress, and TrainJobs with five stories."""

import signal

# Until there is something to clean up, Ctrl-C ends this process like any program.
signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse  # noqa: E402
import os  # noqa: E402
import pathlib  # noqa: E402
import shlex  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bed"))

import progress_deployment  # noqa: E402
from controlplane import ControlPlane  # noqa: E402
from deployment import Signalbox  # noqa: E402
from rest import Rest  # noqa: E402
from stories import STORIES, Scene, hang  # noqa: E402
from timeline import BOLD, RED, StoryFailed, paint  # noqa: E402


class Interrupted(BaseException):
    """Raised for Ctrl-C or SIGTERM. It is no Exception, so that handlers of failures do not catch it."""


class Signals:
    """Raises the first SIGINT or SIGTERM as Interrupted after listen(); only records it after hold()."""

    def __init__(self):
        self.received = None
        self._raises = True

    def listen(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def hold(self):
        """Stops raising Interrupted, for the clean-up."""
        self._raises = False

    def _on_signal(self, number, _):
        self.received = self.received or number
        if self._raises:
            self.hold()
            raise Interrupted


class Steps:
    """Prints each step and the time that it took."""

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


def tell(control_plane, signalbox, programs, options):
    """`programs`: gets what it starts and `signalbox` does not stop."""
    step = Steps()
    print(paint("Setting the scene", BOLD))
    step("start etcd, kube-apiserver, controller manager, scheduler, JobSet controller and four nodes",
         control_plane.start)
    step("install CRDs, RBAC and webhook configurations from manifests/", signalbox.install)
    step("start signalbox-webhook under its service account", lambda: signalbox.start_webhook(progress_deployment.DEADLINE_GATE))
    signalbox.configure_webhooks()
    step("install the runtimes from manifests/runtimes", signalbox.install_runtimes)
    progress = step("start signalbox-webhook --serve=progress under its service account",
                    lambda: progress_deployment.start(control_plane, options.binaries))
    programs.append(progress)
    step("start signalbox-reconciler under its service account", lambda: signalbox.start_reconciler(progress_deployment.DEADLINE_GATE))
    scene = Scene(control_plane, Rest(control_plane.kubeconfig), progress, options.binaries)
    step("submit a job that reports once and hangs: the last story follows it", lambda: hang(scene))
    print()
    for number, story in enumerate(STORIES, start=1):
        story(scene, number)
    print(paint(f"All five stories ended as they should, {step.total():.0f} s in all.", BOLD))
    what_next(control_plane, signalbox.binaries, options.keep)
    while options.keep:
        signal.pause()


def what_next(control_plane, binaries, keep):
    print("\nWhat to try next:")
    if keep:
        words = {"KUBECONFIG": control_plane.kubeconfig, "KUBECACHEDIR": control_plane.directory / "kubectl-cache"}
        exports = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in words.items())
        path = ":".join(shlex.quote(str(each)) for each in (control_plane.kubectl_path.parent, pathlib.Path(binaries).resolve()))
        print(f"""
  export {exports} PATH={path}:$PATH
  kubectl trainjob list
  kubectl trainjob explain runaway
  kubectl get trainjobs,jobsets,pods
  kubectl get clustertrainingruntime torch-distributed -o yaml
""")
    else:
        print("""
  scripts/demo --keep      the same, and leave it running for you to use with kubectl
  scripts/cluster up       an empty control plane
""")
    print("""What differs from a real cluster: nodes only pretend to run Pods. No image is pulled, no program runs, `kubectl logs` finds
nothing, and a Pod ends after a second unless its job says otherwise. The API server, the scheduler and JobSet are real.

Where to read on:
  docs/first-minutes-data-scientist.md, docs/first-minutes-platform.md, docs/first-minutes-on-call.md
  docs/tested.md           what was run on which versions, and how to try the rest with kind or k3s
  docs/README.md           all pages; scripts/site makes a website of them""", flush=True)
    if keep:
        print("\nEverything is running until you press Ctrl-C.", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running until Ctrl-C")
    parser.add_argument("--binaries", default=ROOT / "build" / "release" / "bin", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    control_plane = ControlPlane()
    signalbox = Signalbox(control_plane, options.binaries)
    signals = Signals()
    programs = []
    failure = None
    try:
        try:
            signals.listen()
            tell(control_plane, signalbox, programs, options)
        finally:
            signals.hold()
    except Interrupted:
        pass
    except StoryFailed as story:
        failure = str(story)
    except Exception as error:  # noqa: BLE001: for any failure, the user gets one line and the logs
        failure = f"{type(error).__name__}: {error}"
        if os.environ.get("SIGNALBOX_DEBUG"):
            traceback.print_exc()
    problems = signalbox.stop() + [problem for program in programs for problem in program.stop()]
    if signals.received:
        control_plane.keep_logs = False
    elif failure or problems:
        print(paint(f"\nThe demo failed: {failure or '; '.join(problems)}", BOLD, RED), file=sys.stderr)
        control_plane.keep_logs = True
    control_plane.stop()
    if signals.received:
        print("\nInterrupted; everything that the demo started has ended.", file=sys.stderr)
        return 128 + signals.received
    return 1 if failure or problems else 0


if __name__ == "__main__":
    sys.exit(main())
