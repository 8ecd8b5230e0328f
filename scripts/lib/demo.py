"""The demo: TrainJobs on a real control plane with both programs and the server of progress. Five stories play on nodes that pretend to run
Pods, then two on real nodes, which are prepared meanwhile."""

import signal

# Until there is something to clean up, Ctrl-C ends this process like any program.
signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse  # noqa: E402
import contextlib  # noqa: E402
import os  # noqa: E402
import pathlib  # noqa: E402
import shlex  # noqa: E402
import sys  # noqa: E402
import traceback  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bed"))

from controlplane import ControlPlane  # noqa: E402
from controlplane.binaries import cache_directory  # noqa: E402
from node import capabilities  # noqa: E402
from node.cluster import RealCluster  # noqa: E402
from preparation import Preparation  # noqa: E402
from real_stories import REAL_STORIES  # noqa: E402
from stages import Stage, Steps  # noqa: E402
from stories import STORIES, hang  # noqa: E402
from timeline import BOLD, RED, StoryFailed, paint  # noqa: E402


class Interrupted(BaseException):
    """Raised for Ctrl-C or SIGTERM. It is no Exception, so that handlers of failures do not catch it."""


class Signals:
    """Notes the first SIGINT or SIGTERM, and raises it as Interrupted inside raised(), except inside noted()."""

    def __init__(self):
        self.received = None
        self._raises = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    @contextlib.contextmanager
    def raised(self):
        with self._raising(True):
            yield

    @contextlib.contextmanager
    def noted(self):
        """For steps that must not be left half done."""
        with self._raising(False):
            yield

    @contextlib.contextmanager
    def _raising(self, raises):
        before = self._raises
        self._raises = raises
        try:
            self._raise()
            yield
        finally:
            self._raises = before
        self._raise()

    def _raise(self):
        if self._raises and self.received:
            self._raises = False
            raise Interrupted

    def _on_signal(self, number, _):
        self.received = self.received or number
        self._raise()


class Demo:
    """What runs, from the first step to stop()."""

    def __init__(self, options, signals):
        self._options = options
        self._signals = signals
        self._step = Steps()
        self._stages = []
        self._preparation = None

    def tell(self):
        """Tells all stories."""
        with self._signals.noted():
            lacking = capabilities.missing()
            if not lacking:
                self._preparation = Preparation()
        stage = None if self._options.only_real else self._tell_of_pretence()
        if not lacking:
            stage = self._tell_of_real_nodes(stage)
        print(paint(f"All {'seven' if not lacking else 'five'} stories ended as they should, {self._step.total():.0f} s in all.", BOLD))
        if lacking:
            print(what_is_left(lacking))
        what_next(stage.control_plane, self._options, real=not lacking)
        while self._options.keep:
            signal.pause()

    def _tell_of_pretence(self):
        print(paint("Setting the scene: nodes that pretend to run Pods", BOLD))
        stage = self._add(ControlPlane)
        scene = stage.set_for_pretence(self._step)
        self._step("submit a job that reports once and hangs: the fifth story follows it", lambda: hang(scene))
        print()
        for number, story in enumerate(STORIES, start=1):
            story(scene, number)
        return stage

    def _tell_of_real_nodes(self, before):
        print(paint("Setting the scene: two nodes that run Pods", BOLD))
        with self._signals.noted():
            problems = before.stop() if before else []
        if problems:
            raise StoryFailed("; ".join(problems))
        self._preparation.wait()
        stage = self._add(RealCluster)
        scene = stage.set_for_real(self._step)
        print()
        for number, story in enumerate(REAL_STORIES, start=len(STORIES) + 1):
            story(scene, number)
        return stage

    def _add(self, make_control_plane):
        with self._signals.noted():
            self._stages.append(Stage(make_control_plane(), self._options.binaries))
        return self._stages[-1]

    def stop(self, failed):
        """Ends everything that runs. Returns the problems of the ends of programs."""
        if self._preparation:
            self._preparation.stop()
        return [problem for stage in reversed(self._stages) for problem in stage.stop(bool(self._signals.received), failed)]


def what_is_left(lacking):
    if os.geteuid():
        # Its cache is the same, so that root does not build everything again.
        return f"Two more stories train on real nodes: sudo env SIGNALBOX_CACHE={shlex.quote(str(cache_directory()))} scripts/demo"
    return f"Two more stories need nodes that run Pods, which this machine cannot: {'; '.join(lacking)}"


def what_next(control_plane, options, real):
    print("\nWhat to try next:")
    if options.keep:
        kubeconfig = control_plane.kubeconfig_outside() if real else control_plane.kubeconfig
        words = {"KUBECONFIG": kubeconfig, "KUBECACHEDIR": control_plane.directory / "kubectl-cache"}
        exports = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in words.items())
        path = ":".join(shlex.quote(str(each)) for each in (control_plane.kubectl_path.parent, options.binaries.resolve()))
        commands = ("kubectl trainjob logs train", "kubectl trainjob explain hungry") if real else ("kubectl trainjob explain runaway",)
        print("\n".join(["", *(f"  {line}" for line in (
            f"export {exports} PATH={path}:$PATH", "kubectl trainjob list", *commands, "kubectl get trainjobs,jobsets,pods",
            "kubectl get clustertrainingruntime torch-distributed -o yaml")), ""]))
    else:
        print("""
  scripts/demo --keep      the same, and leave it running for you to use with kubectl
  scripts/cluster up       an empty control plane
""")
    print("What differs from a real cluster: " + (REAL_DIFFERENCES if real else DIFFERENCES) + """

Where to read on:
  docs/first-minutes-data-scientist.md, docs/first-minutes-platform.md, docs/first-minutes-on-call.md
  docs/tested.md           what was run on which versions, and how to try the rest with kind or k3s
  docs/README.md           all pages; scripts/site makes a website of them""", flush=True)
    if options.keep:
        print(f"\n{'The real nodes are' if real else 'Everything is'} running until you press Ctrl-C.", flush=True)


DIFFERENCES = """nodes only pretend to run Pods. No image is pulled, no program runs, `kubectl logs` finds
nothing, and a Pod ends after a second unless its job says otherwise. The API server, the scheduler and JobSet are real."""
REAL_DIFFERENCES = """in the first five stories, nodes only pretended to run Pods. In the last two,
both nodes are this machine. They have one image and pull none, and Signalbox runs beside them, not in Pods."""


def main():
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the last nodes running until Ctrl-C")
    parser.add_argument("--binaries", default=ROOT / "build" / "release" / "bin", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--only-real", action="store_true", help=argparse.SUPPRESS)  # for tests
    options = parser.parse_args()
    signals = Signals()
    demo = Demo(options, signals)
    failure = None
    try:
        with signals.raised():
            demo.tell()
    except Interrupted:
        pass
    except StoryFailed as story:
        failure = str(story)
    except Exception as error:  # noqa: BLE001: for any failure, the user gets one line and the logs
        failure = f"{type(error).__name__}: {error}"
        if os.environ.get("SIGNALBOX_DEBUG"):
            traceback.print_exc()
    problems = demo.stop(failed=failure)
    if signals.received:
        print("\nInterrupted; everything that the demo started has ended.", file=sys.stderr)
        return 128 + signals.received
    if failure or problems:
        print(paint(f"\nThe demo failed: {failure or '; '.join(problems)}", BOLD, RED), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
