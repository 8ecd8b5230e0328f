"""The JobSet controller: its CRD, RBAC and webhooks from its own module, with a process on loopback instead of a Service."""

import json
import shutil
import urllib.error
import urllib.request

import yaml

from .neighbour import call_process
from .ports import free_ports

_NAMESPACE = "jobset-system"
_ACCOUNT = "jobset-controller-manager"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_API = "/apis/jobset.x-k8s.io/v1alpha2"
_PROBE = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "probe", "namespace": "default"},
    "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.example.com/probe:1"}]}}}}}]},
}


class JobSet:
    """The controller of one control plane."""

    def __init__(self, plane):
        self._plane = plane
        self._config = plane.programs / "jobset-config"
        self._webhook, self._metrics, self._health = free_ports(3)

    def create_crd(self):
        """Comes first: for two seconds after a CRD is created, the API server delays creates of its objects."""
        for path in sorted((self._config / "crd" / "bases").glob("*.yaml")):
            self._plane.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _parse(path))

    def crd_is_served(self):
        """The controller must start later: if its CRD is not served yet, it tries again only after ten seconds."""
        return bool(self._plane.api.get(_API))

    def start(self):
        plane = self._plane
        _create_account(plane, _parse(self._config / "rbac" / "role.yaml"))
        settings = plane.directory / "jobset.yaml"
        settings.write_text(json.dumps({
            "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
            "kind": "Configuration",
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "webhook": {"port": self._webhook, "host": "127.0.0.1", "certDir": str(_make_certificate(plane))},
            "metrics": {"bindAddress": f"127.0.0.1:{self._metrics}"},
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health}"},
            "clientConnection": {"qps": 500, "burst": 500},
        }))
        plane.launch("jobset", "--config", settings, "--zap-log-level", "error",
                     environment={"KUBECONFIG": str(plane.service_account_kubeconfig(_NAMESPACE, _ACCOUNT))})
        for configuration in yaml.safe_load_all((self._config / "webhook" / "manifests.yaml").read_text()):
            _register_webhooks(plane, configuration, f"https://127.0.0.1:{self._webhook}")

    def ready(self):
        """Returns whether a JobSet can be created: the controller runs, and the API server reaches its webhooks."""
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self._health}/readyz", timeout=5).close()
        except (urllib.error.URLError, OSError):
            return False
        return self._plane.api.request("POST", f"{_API}/namespaces/default/jobsets?dryRun=All", _PROBE)[0] == 201


def _create_account(plane, role):
    """Creates the service account of the controller, with the module's cluster role and nothing else."""
    role["metadata"]["name"] = _ACCOUNT
    plane.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
    plane.api.create(f"/api/v1/namespaces/{_NAMESPACE}/serviceaccounts",
                     {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _ACCOUNT}})
    plane.api.create(f"{_RBAC}/clusterroles", role)
    plane.api.create(f"{_RBAC}/clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": _ACCOUNT},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "namespace": _NAMESPACE, "name": _ACCOUNT}],
    })


def _make_certificate(plane):
    """Returns a directory with the webhook's certificate, under the names that the controller expects."""
    directory = plane.directory / "jobset-certs"
    directory.mkdir(exist_ok=True)
    for source, name in zip(plane.authority.issue("jobset-webhook", "jobset", hosts=["127.0.0.1"]), ("tls.crt", "tls.key")):
        shutil.copy(source, directory / name)
    return directory


def _register_webhooks(plane, configuration, url):
    configuration["metadata"]["name"] = "jobset-" + configuration["metadata"]["name"]
    for hook in configuration["webhooks"]:
        call_process(hook, url, plane.ca_file)
        if "pods" in hook["rules"][0]["resources"]:
            # As in its own manifests: it is called for pods of JobSets only.
            hook["objectSelector"] = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
    plane.api.create(f"{_ADMISSION}/{configuration['kind'].lower()}s", configuration)


def _parse(path):
    """Reads a YAML file by libyaml: in pure Python the CRD takes a second."""
    return yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
