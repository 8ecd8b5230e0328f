"""signalbox-webhook as a process, with certificates, a small API server, and a client."""

import contextlib
import functools
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import urllib.parse

from controlplane.ports import free_ports
from rest import wait_for
from scripted_api_server import ScriptedApiServer

BINARY = str(pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-webhook")
GROUP = "/apis/trainer.kubeflow.org/v1alpha1"
TRAIN_JOB_PATH = "/validate-trainer-kubeflow-org-v1alpha1-trainjob"
MUTATE_PATH = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob"
RUNTIME_PATH = "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime"


def make_certificate(directory, name="tls", days=1):
    """Makes a self-signed certificate for 127.0.0.1, expired if `days` is negative. Returns the files of the certificate and its key."""
    cert, key, request = (directory / f"{name}.{kind}" for kind in ("crt", "key", "csr"))
    subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                    f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(request)],
                   check=True, capture_output=True)
    subprocess.run(["openssl", "x509", "-req", "-in", str(request), "-signkey", str(key), "-days", str(days),
                    "-copy_extensions", "copy", "-out", str(cert)], check=True, capture_output=True)
    return cert, key


@functools.cache
def first_certificate():
    """Returns the texts of the certificate and the key that each Webhook starts with. They are made once, since OpenSSL is slow."""
    with tempfile.TemporaryDirectory() as directory:
        return [file.read_text() for file in make_certificate(pathlib.Path(directory))]


def write_kubeconfig(directory, port):
    path = directory / "kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}]}))
    return path


def free_port():
    """Returns a free port that no outgoing connection takes meanwhile."""
    port, = free_ports(1)
    return port


class ApiServer(ScriptedApiServer):
    """The part of an API server that the webhook uses: watches that never change, and GETs."""

    def __init__(self, port=0, **options):
        super().__init__(port, **options)
        self.objects = {}  # by path; GET returns them, watches do not
        self.installed = True  # whether the CRDs are installed
        self.delay = 0.0  # seconds before a GET is answered; release() ends them early
        self.error_status = None  # the status of every GET, if set
        self.gets = []
        self._released = threading.Event()

    def __exit__(self, *_):
        self.release()
        super().__exit__(*_)

    def release(self):
        """Answers waiting requests, and later ones at once."""
        self.delay = 0.0
        released, self._released = self._released, threading.Event()
        released.set()

    def hold(self, seconds):
        """For answer() of a derived class: waits that many seconds, or until release()."""
        self._released.wait(seconds)

    def answer(self, request, url, body):
        if not self.installed:
            return self.send(request, 404, {"kind": "Status", "code": 404, "reason": "NotFound",
                                            "message": "the server could not find the requested resource"})
        if "watch" in urllib.parse.parse_qs(url.query):
            return self.watch(request)
        self.gets.append(url.path)
        self.hold(self.delay)
        if self.error_status:
            return self.send(request, self.error_status, {"kind": "Status", "code": self.error_status, "message": "no luck"})
        found = self.objects.get(url.path)
        if found:
            return self.send(request, 200, found)
        return self.send(request, 404, {"kind": "Status", "code": 404, "reason": "NotFound",
                                        "message": f"{url.path} not found"})


class Webhook:
    """A running signalbox-webhook. A context manager that ends the process if the test has not."""

    def __init__(self, directory, api_port, *options, binary=BINARY):
        self.cert, self.key = directory / "tls.crt", directory / "tls.key"
        for file, text in zip((self.cert, self.key), first_certificate()):
            file.write_text(text)
        self._log = directory / "webhook.log"
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [binary, "--kubeconfig", str(write_kubeconfig(directory, api_port)), "--listen", "127.0.0.1:0",
                 "--admin-listen", "127.0.0.1:0", "--tls-cert", str(self.cert), "--tls-key", str(self.key),
                 "--shutdown-delay=0s", *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        try:
            self.port = self._port_of("admission")
            self.admin_port = self._port_of("admin")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def log(self):
        """Returns the lines of its log as objects."""
        lines = self._log.read_text().splitlines()
        assert all(line.startswith("{") for line in lines), lines
        return [json.loads(line) for line in lines]

    def logged(self, message):
        return [line for line in self.log() if line["msg"] == message]

    def _port_of(self, what):
        def look():
            assert self.process.poll() is None, self._log.read_text()
            for line in self.logged("listening"):
                if line["what"] == what:
                    return int(line["address"].rpartition(":")[2])
            return None
        return wait_for(f"the port of {what}", look, interval=0.02)

    def admin(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def wait_until_ready(self):
        wait_for("readiness", lambda: self.admin("/readyz")[0] == 200, interval=0.02)

    def metric(self, series):
        for line in self.admin("/metrics")[1].splitlines():
            if line.startswith(series + " "):
                return float(line.rsplit(" ", 1)[1])
        return None

    def tls(self, client=None):
        context = ssl.create_default_context(cafile=self.cert)
        if client:
            context.load_cert_chain(*client)
        return context

    def connect(self, client=None, address="127.0.0.1"):
        """Returns a connection for several requests, from that address; the caller closes it."""
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=40, context=self.tls(client), source_address=(address, 0))

    def socket(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=40)
        return self.tls().wrap_socket(plain, server_hostname="127.0.0.1")

    def post(self, path, body, headers=None, connection=None):
        """Returns status, headers and body; the body as an object if it is JSON."""
        mine = connection or self.connect()
        try:
            text = body if isinstance(body, (bytes, str)) else json.dumps(body)
            mine.request("POST", path, text, {"Content-Type": "application/json", **(headers or {})})
            return read_answer(mine.getresponse())
        finally:
            if not connection:
                mine.close()

    def end(self, number=signal.SIGTERM, timeout=20):
        """Sends a signal. Returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout)


def read_answer(answer):
    body = answer.read().decode()
    if answer.headers.get("Content-Type") == "application/json":
        body = json.loads(body)
    return answer.status, answer.headers, body


def review(obj, operation="CREATE", old=None, **changes):
    subject = obj or old
    group, _, version = subject["apiVersion"].rpartition("/")
    request = {"uid": "1f0b2c3d", "kind": {"group": group, "version": version, "kind": subject["kind"]},
               "name": subject["metadata"]["name"], "operation": operation, "object": obj, "oldObject": old}
    if "namespace" in subject["metadata"]:
        request["namespace"] = subject["metadata"]["namespace"]
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**request, **changes}}


def train_job(runtime="plain"):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": "job", "namespace": "ns", "uid": "job-uid"},
            "spec": {"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime",
                                    "name": runtime}, "suspend": False}}


def runtime(name="plain", replicas=1):
    job = {"name": "node", "replicas": replicas, "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "registry.example.com/base:1"}]}}}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
            "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
            "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [job]}}}}
