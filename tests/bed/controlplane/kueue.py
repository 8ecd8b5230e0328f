"""Kueue's manager with its CRDs, RBAC and webhooks, as in its release, and the kinds that it manages here."""

import json
import shutil

from .releases import build_kueue
from .certificates import Authority
from .neighbour import Neighbour

NAMESPACE = "kueue-system"
# Kueue's webhooks select namespaces with this label only, because other tests share the control plane.
LABEL = {"signalbox.test/kueue": "yes"}
# The frameworks of its release whose kinds this control plane has.
FRAMEWORKS = ["batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob", "pod"]
_GROUPS = {"batch", "jobset.x-k8s.io", "trainer.kubeflow.org", "kueue.x-k8s.io", ""}
_SECRET = "kueue-webhook-server-cert"
_HOST = "kueue-webhook-service.kueue-system.svc"


class Kueue(Neighbour):
    """start() and stop() after install(). frameworks: the enabled ones of FRAMEWORKS."""

    def __init__(self, plane, frameworks=FRAMEWORKS, **settings):
        programs = build_kueue()
        super().__init__(plane, programs / "kueue", programs / "kueue-config" / "default", NAMESPACE, "kueue-controller-manager")
        self._settings = {"integrations": {"frameworks": frameworks}, **settings}
        # Kueue manages its certificates itself. It adopts these if the CA has this name and such a key, and all are valid for months.
        self._authority = Authority(plane.directory / "kueue" / "certs", "kueue-ca", days=3650, hosts=["kueue-ca"], rsa=True)

    def certificate_authority(self):
        return self._authority.cert

    def adapt(self, obj):
        if "webhooks" in obj:
            obj["webhooks"] = [hook for hook in obj["webhooks"] if hook["rules"][0]["apiGroups"][0] in _GROUPS]
            for hook in obj["webhooks"]:
                hook["namespaceSelector"] = {"matchLabels": LABEL}
        return obj

    def install(self):
        super().install()
        files = dict(zip(("tls.crt", "tls.key"), self._authority.issue("webhook", "kueue-webhook", hosts=["127.0.0.1", _HOST])))
        for name, file in files.items():
            shutil.copy(file, self.directory / name)  # as a kubelet mounts the Secret
        files |= {"ca.crt": self._authority.cert, "ca.key": self._authority.key}
        self._create([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": _SECRET, "namespace": NAMESPACE},
                       "stringData": {name: file.read_text() for name, file in files.items()}}])

    def arguments(self):
        settings = self.directory / "config.json"
        settings.write_text(json.dumps({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health_port}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"port": self.webhook_port, "host": "127.0.0.1", "certDir": str(self.directory)},
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"qps": 500, "burst": 500},
            # The default since Kueue 0.19, off before; less patience with Pods that were ready, and another try soon.
            "waitForPodsReady": {"timeout": "30m", "recoveryTimeout": "12s", "requeuingStrategy": {"backoffBaseSeconds": 1}},
            # As its release sets it for other kinds. By default it reconciles one TrainJob at a time.
            "controller": {"groupKindConcurrency": {kind: 5 for kind in (
                "TrainJob.trainer.kubeflow.org", "JobSet.jobset.x-k8s.io", "Job.batch", "Pod", "Workload.kueue.x-k8s.io")}},
            # Kueue's own API server would listen on all addresses.
            "featureGates": {"VisibilityOnDemand": False},
            **self._settings}))
        return ["--config", settings, "--zap-log-level", "2"]
