"""The JobSet controller: its CRD and webhooks from its own module, pointed at our process."""

import base64
import json

import yaml

from .processes import free_ports

NAMESPACE = "jobset-system"
PROBE = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "probe", "namespace": "default"},
    "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.example.com/probe:1"}]}}}}}]},
}


def start(plane):
    """Installs and starts it. Needs a running API server."""
    config = plane._binaries / "jobset-config"
    webhook, metrics, health = free_ports(3)
    cert, key = plane._authority.issue("jobset-webhook", "jobset", hosts=["127.0.0.1"])
    cert_dir = plane.directory / "jobset-certs"
    cert_dir.mkdir()
    (cert_dir / "tls.crt").write_bytes(cert.read_bytes())
    (cert_dir / "tls.key").write_bytes(key.read_bytes())

    crds = [yaml.safe_load(path.read_text()) for path in sorted((config / "crd" / "bases").glob("*.yaml"))]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    _apply(plane, [namespace, *crds])

    settings = plane.directory / "jobset.yaml"
    settings.write_text(json.dumps({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"port": webhook, "host": "127.0.0.1", "certDir": str(cert_dir)},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "clientConnection": {"qps": 500, "burst": 500},
    }))
    plane._run("jobset", "--config", settings, "--zap-log-level", "error",
               environment={"KUBECONFIG": str(plane._client("jobset", "jobset-controller", "system:masters"))})

    bundle = base64.b64encode(plane._authority.cert.read_bytes()).decode()
    configurations = list(yaml.safe_load_all((config / "webhook" / "manifests.yaml").read_text()))
    for configuration in configurations:
        configuration["metadata"]["name"] = "jobset-" + configuration["metadata"]["name"]
        for hook in configuration["webhooks"]:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{webhook}{path}", "caBundle": bundle}
            if "pod" in hook["name"]:
                # As its own manifests do it: only pods of JobSets concern it.
                hook["objectSelector"] = {
                    "matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
    _apply(plane, configurations)


def answers(plane):
    """Whether a JobSet could be created now: its CRD is served and its webhooks answer."""
    return "probe" in plane.kubectl("create", "--dry-run=server", "-o", "name", "-f", "-", input=json.dumps(PROBE),
                                    check=False)


def _apply(plane, objects):
    plane.kubectl("apply", "--server-side", "-f", "-",
                  input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
