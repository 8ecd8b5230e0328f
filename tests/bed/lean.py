"""etcd and the API server alone, with Signalbox's CRDs and roles, for tests that need neither pods nor admission. The test plays
the JobSet controller."""

from controlplane import ControlPlane
from controlplane.jobset import JobSet
from controlplane.kubeconfig import write_kubeconfig
from deployment import NAMESPACE, ROOT

_MANIFESTS = ROOT / "manifests"


class LeanPlane(ControlPlane):
    """A context manager, ready for the reconciler."""

    def __init__(self, api_server_options=()):
        super().__init__(lean=True, api_server_options=api_server_options)

    def start(self):
        super().start()
        JobSet(self).create_crd()
        apply = ("apply", "--server-side", "-n", NAMESPACE)
        self.kubectl(*apply, "-f", _MANIFESTS / "base" / "namespace.yaml")
        for part in ("crds", "rbac"):
            self.kubectl(*apply, "-k", _MANIFESTS / "base" / part)
        self.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        return self

    def reconciler_kubeconfig(self, url=None):
        """Returns a kubeconfig of the reconciler's service account; `url` is the address of a proxy in between."""
        path = self.service_account_kubeconfig(NAMESPACE, "signalbox-reconciler")
        if url:
            token = path.with_suffix(".token")
            path = path.with_name("behind-a-proxy.kubeconfig")
            write_kubeconfig(path, url, self.ca_file, {"tokenFile": str(token)})
        return path


def finished(kind="Completed", reason="AllJobsCompleted"):
    """Returns the status of a finished JobSet. Kind Failed is for a JobSet that failed by no fault of its own."""
    ended = {"succeeded": 1} if kind == "Completed" else {"failed": 1}
    return {"status": {
        "terminalState": kind,
        "conditions": [{"type": kind, "status": "True", "reason": reason, "message": f"jobset {kind.lower()}",
                        "lastTransitionTime": "2026-01-15T10:00:00Z"}],
        "replicatedJobsStatus": [{"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0, **ended}],
    }}
