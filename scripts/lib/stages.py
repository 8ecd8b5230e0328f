"""Where the demo's stories play: a control plane with Signalbox, first with nodes that pretend, then with real ones."""

import time

import progress_deployment
from deployment import Signalbox
from node.training import adapt_runtimes
from rest import Rest
from stories import Scene


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


class Stage:
    """A control plane, Signalbox's programs beside it, and the scene for stories."""

    def __init__(self, control_plane, binaries):
        self.control_plane = control_plane
        self._signalbox = Signalbox(control_plane, binaries)
        self._programs = []  # what it starts and Signalbox does not stop
        self._binaries = binaries

    def set_for_pretence(self, step):
        """Returns the scene of the stories on nodes that pretend."""
        step("start etcd, kube-apiserver, controller manager, scheduler, JobSet controller and four nodes", self.control_plane.start)
        self._start_webhook(step, progress_deployment.DEADLINE_GATE)
        step("install the runtimes from manifests/runtimes", self._signalbox.install_runtimes)
        progress = step("start signalbox-webhook --serve=progress under its service account",
                        lambda: progress_deployment.start(self.control_plane, self._binaries))
        self._programs.append(progress)
        self._start_reconciler(step, progress_deployment.DEADLINE_GATE)
        return self._scene(progress)

    def set_for_real(self, step):
        """Returns the scene of the stories on real nodes."""
        step("start a second control plane, and two nodes with kubelet, kube-proxy and containerd each", self.control_plane.start)
        self._start_webhook(step)
        scene = self._scene(progress=None)
        step("install the runtimes, with an image that the nodes have", lambda: self._install_runtimes(scene.rest))
        self._start_reconciler(step)
        return scene

    def stop(self, interrupted=False, failed=False):
        """Ends everything. Returns the problems of the ends of programs. Logs are kept after a problem or a failure. A second call does
        nothing."""
        problems = self._signalbox.stop() + [problem for program in self._programs for problem in program.stop()]
        self.control_plane.keep_logs = not interrupted and bool(failed or problems)
        self.control_plane.stop()
        return problems

    def _start_webhook(self, step, *options):
        step("install CRDs, RBAC and webhook configurations from manifests/", self._signalbox.install)
        step("start signalbox-webhook under its service account", lambda: self._signalbox.start_webhook(*options))
        self._signalbox.configure_webhooks()

    def _start_reconciler(self, step, *options):
        step("start signalbox-reconciler under its service account", lambda: self._signalbox.start_reconciler(*options))

    def _install_runtimes(self, rest):
        self._signalbox.install_runtimes()
        adapt_runtimes(rest, ("plain", "torch-distributed"))

    def _scene(self, progress):
        return Scene(self.control_plane, Rest(self.control_plane.kubeconfig), progress, self._binaries)
