"""Kubeflow Trainer's controller manager in Signalbox's place, to run the same tests with it."""

import json
import os
import shutil

from .binaries import build_trainer
from .neighbour import Neighbour

NAMESPACE = "kubeflow-system"


class Trainer(Neighbour):
    """start() and stop() after install()."""

    def __init__(self, plane):
        programs = build_trainer()
        super().__init__(plane, programs / "trainer", plane.directory / "trainer" / "overlay", NAMESPACE, "kubeflow-trainer-controller-manager")
        self._base = programs / "trainer-config"

    def install(self):
        overlay = self.directory / "overlay"
        overlay.mkdir(parents=True)
        base = os.path.relpath(self._base, overlay)
        (overlay / "namespace.json").write_text(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
        (overlay / "kustomization.yaml").write_text(json.dumps({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": NAMESPACE,
            "resources": ["namespace.json", *(f"{base}/{part}" for part in ("crds", "rbac", "webhook"))]}))
        super().install()
        # controller-runtime's default directory.
        certificates = self.directory / "k8s-webhook-server" / "serving-certs"
        certificates.mkdir(parents=True)
        for source, name in zip(self._plane.authority.issue("trainer-webhook", "trainer", hosts=["127.0.0.1"]), ("tls.crt", "tls.key")):
            shutil.copy(source, certificates / name)

    def settings(self):
        """Returns the manager's Configuration."""
        return {
            "apiVersion": "config.trainer.kubeflow.org/v1alpha1", "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health_port}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"port": self.webhook_port, "host": "127.0.0.1"},
            "leaderElection": {"leaderElect": False},
            "certManagement": {"enable": False}}

    def arguments(self):
        file = self.directory / "config.json"
        file.write_text(json.dumps(self.settings()))
        return ["--config", file]
