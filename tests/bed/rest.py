"""A small client of the API server for tests and the demo: JSON in, JSON out, errors as exceptions.

kubectl shows what users see. This client serves many requests per second, where starting a process would be slow.
"""

import base64
import contextlib
import http.client
import json
import ssl
import tempfile
import threading
import time
import urllib.parse

import yaml

GROUPS = {
    "trainjobs": "apis/trainer.kubeflow.org/v1alpha1",
    "trainingruntimes": "apis/trainer.kubeflow.org/v1alpha1",
    "clustertrainingruntimes": "apis/trainer.kubeflow.org/v1alpha1",
    "jobsets": "apis/jobset.x-k8s.io/v1alpha2",
    "jobs": "apis/batch/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "events": "apis/events.k8s.io/v1",
    "pods": "api/v1",
    "nodes": "api/v1",
    "configmaps": "api/v1",
    "serviceaccounts": "api/v1",
    "secrets": "api/v1",
    "services": "api/v1",
    "namespaces": "api/v1",
    "resourcequotas": "api/v1",
    "limitranges": "api/v1",
    "persistentvolumes": "api/v1",
    "persistentvolumeclaims": "api/v1",
    "podgroups": "apis/scheduling.x-k8s.io/v1alpha1",
    "poddisruptionbudgets": "apis/policy/v1",
    "networkpolicies": "apis/networking.k8s.io/v1",
    "priorityclasses": "apis/scheduling.k8s.io/v1",
    "workloads": "apis/kueue.x-k8s.io/v1beta2",
    "localqueues": "apis/kueue.x-k8s.io/v1beta2",
    "clusterqueues": "apis/kueue.x-k8s.io/v1beta2",
    "resourceflavors": "apis/kueue.x-k8s.io/v1beta2",
    "topologies": "apis/kueue.x-k8s.io/v1beta2",
    "workloadpriorityclasses": "apis/kueue.x-k8s.io/v1beta2",
    "admissionchecks": "apis/kueue.x-k8s.io/v1beta2",
}
CLUSTER_SCOPED = {"clustertrainingruntimes", "nodes", "namespaces", "persistentvolumes", "clusterqueues", "resourceflavors", "topologies",
                  "workloadpriorityclasses", "priorityclasses", "admissionchecks"}


class ApiError(Exception):
    """An answer of the API server that is not 2xx."""

    def __init__(self, code, status):
        self.code = code
        self.status = status if isinstance(status, dict) else {"message": str(status)}
        super().__init__(f"{code}: {self.status.get('message', '')}")


class Rest:
    """A client of one API server, with the credentials of a kubeconfig's current context. `namespace` applies if a call or an object
    names none; by default it is the context's, else "default". `impersonate`: writes are sent as that user, with all permissions."""

    def __init__(self, kubeconfig, namespace=None, impersonate=None):
        config = yaml.safe_load(open(kubeconfig, encoding="utf-8"))
        context = _named(config["contexts"], config["current-context"])["context"]
        self.namespace = namespace or context.get("namespace", "default")
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        self._address = urllib.parse.urlsplit(cluster["server"])
        self._tls = ssl.create_default_context(cafile=_file(cluster, "certificate-authority"))
        if "client-certificate" in user or "client-certificate-data" in user:
            self._tls.load_cert_chain(_file(user, "client-certificate"), _file(user, "client-key"))
        self._user = user
        self._headers = {"Impersonate-User": impersonate, "Impersonate-Group": "system:masters"} if impersonate else {}
        self._kept = threading.local()

    def _token(self):
        if "tokenFile" in self._user:
            return open(self._user["tokenFile"], encoding="utf-8").read().strip()
        return self._user.get("token")

    def connection(self):
        """Returns a new connection, for uses beyond request(). It needs a client certificate."""
        return http.client.HTTPSConnection(self._address.hostname, self._address.port, context=self._tls, timeout=30)

    def answer(self, method, resource, obj, dry_run=False):
        """Sends a request about the object. Returns (HTTP status, message, warnings). It needs a client certificate."""
        path = self.path(resource, None if method == "POST" else obj["metadata"]["name"]) + ("?dryRun=All" if dry_run else "")
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, None if method == "DELETE" else json.dumps(obj), {"Content-Type": "application/json"})
            response = connection.getresponse()
            warnings = [line.split(" ", 2)[2].strip('"') for line in response.headers.get_all("Warning", [])]
            return response.status, json.loads(response.read()).get("message", ""), warnings

    def request(self, method, path, body=None, content_type="application/json"):
        headers = {"Accept": "application/json", "Content-Type": content_type, **self._headers}
        if token := self._token():
            headers["Authorization"] = f"Bearer {token}"
        status, text = self._exchange(method, path, None if body is None else json.dumps(body), headers)
        try:
            answer = json.loads(text)
        except ValueError:
            answer = text
        if status >= 300:
            raise ApiError(status, answer)
        return answer

    def _exchange(self, method, path, body, headers):
        """Returns status and text, over this thread's connection: a handshake would take longer than most requests."""
        kept = getattr(self._kept, "connection", None)
        connection = self._kept.connection = kept or self.connection()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLError):
            self._drop()
            if not kept:
                raise
            # The server has closed it since the last request, perhaps because it was restarted.
            return self._exchange(method, path, body, headers)
        except BaseException:
            self._drop()
            raise

    def _drop(self):
        self._kept.connection.close()
        self._kept.connection = None

    def path(self, resource, name=None, namespace=None):
        return path_of(resource, namespace or self.namespace, name)

    def get(self, resource, name, namespace=None):
        """Returns the object, or None if it does not exist."""
        try:
            return self.request("GET", self.path(resource, name, namespace))
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def list(self, resource, namespace=None, selector=""):
        query = f"?labelSelector={urllib.parse.quote(selector)}" if selector else ""
        return self.request("GET", self.path(resource, namespace=namespace) + query)["items"]

    def create(self, obj, resource=None, dry_run=False):
        path = self.path(resource or obj["kind"].lower() + "s", namespace=obj["metadata"].get("namespace"))
        return self.request("POST", path + ("?dryRun=All" if dry_run else ""), obj)

    def patch(self, resource, name, change, namespace=None, subresource=""):
        path = self.path(resource, name, namespace) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, change, "application/merge-patch+json")

    def replace(self, resource, obj):
        meta = obj["metadata"]
        return self.request("PUT", self.path(resource, meta["name"], meta.get("namespace")), obj)

    def delete(self, resource, name, namespace=None, propagation="Background"):
        try:
            self.request("DELETE", self.path(resource, name, namespace), {"propagationPolicy": propagation})
        except ApiError as error:
            if error.code != 404:
                raise


def path_of(resource, namespace, name=None):
    scope = "" if resource in CLUSTER_SCOPED else f"namespaces/{namespace}/"
    return f"/{GROUPS[resource]}/{scope}{resource}" + (f"/{name}" if name else "")


patience = 1  # multiplies the timeouts of wait_for()


@contextlib.contextmanager
def more_patience():
    """For tests that run at the same time: they share the cores."""
    global patience
    patience *= 3
    try:
        yield
    finally:
        patience //= 3


def wait_for(what, probe, timeout=30, interval=0.1):
    """Calls probe() until it returns a true value, and returns that. `what` completes "waiting for ..."."""
    timeout *= patience
    deadline = time.monotonic() + timeout
    last = None
    while time.monotonic() < deadline:
        last = probe()
        if last:
            return last
        time.sleep(interval)
    raise AssertionError(f"after {timeout} s still waiting for {what}; last seen: {last!r}")


def wait_until_none(what, probe, timeout=30, interval=0.1):
    """Calls probe() until it returns something empty. `what` names its items, of which the error has those that were left."""
    timeout *= patience
    deadline = time.monotonic() + timeout
    while left := probe():
        if time.monotonic() >= deadline:
            raise AssertionError(f"after {timeout} s there are still {what}: {left!r}")
        time.sleep(interval)


def true_conditions(obj):
    """Returns {type: condition} of the conditions that are True."""
    conditions = (obj or {}).get("status", {}).get("conditions", [])
    return {c["type"]: c for c in conditions if c["status"] == "True"}


def conditions(obj):
    return {c["type"]: c for c in (obj or {}).get("status", {}).get("conditions", [])}


def _named(items, name):
    return next(item for item in items if item["name"] == name)


def _file(holder, field):
    if field in holder:
        return holder[field]
    if f"{field}-data" not in holder:
        return None
    file = tempfile.NamedTemporaryFile(delete=False, suffix=".pem")
    file.write(base64.b64decode(holder[f"{field}-data"]))
    file.close()
    return file.name
