"""Signalbox as Pods on the real nodes."""

import pathlib
import threading

from rest import ApiError

from .training import train_job

SYSTEM = "kubeflow-system"
DEPLOYMENTS = ("signalbox-webhook", "signalbox-reconciler", "signalbox-progress")


def processes_of(pod):
    """Returns the ids of the processes of a Pod, but for the one that holds its namespaces."""
    found = []
    for cgroup in pathlib.Path("/proc").glob("[0-9]*/cgroup"):
        try:
            if pod["metadata"]["uid"] in cgroup.read_text() and (cgroup.parent / "comm").read_text() != "pause\n":
                found.append(int(cgroup.parent.name))
        except OSError:
            pass  # it has ended
    return found


class Creations:
    """Asks for TrainJobs without a pause, until the context ends. Each passes the webhook, and none is stored."""

    def __init__(self, admin):
        self._admin, self._over = admin, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.refusals, self.count = [], 0

    def _run(self):
        while not self._over.wait(0.1):
            self.count += 1
            try:
                self._admin.create(train_job("asked", "plain", ["true"]), dry_run=True)
            except (ApiError, OSError) as error:
                self.refusals.append(str(error))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def ready_pods(admin, node=None):
    """Returns the names of our ready Pods, of one node or of both."""
    return {pod["metadata"]["name"] for pod in admin.list("pods", SYSTEM)
            if node in (None, pod["spec"].get("nodeName")) and not pod["metadata"].get("deletionTimestamp")
            and any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))}
