"""signalbox-webhook --serve=progress as a process, an API server of a few lines, and reports."""

import base64
import contextlib
import http.client
import json
import ssl
import subprocess
import time

from scripted_api_server import ScriptedApiServer
from webhook_program import BINARY, make_certificate, read_answer, wait_for, write_kubeconfig

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SECRET = "/api/v1/namespaces/ns/secrets/cert"
NAME = "progress.ns.svc"  # of the Service


def path_of(job):
    return f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/{job}/status"


def token_of(job, pod="pod-1", lasts=3600):
    def part(data):
        return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")
    claims = {"aud": [path_of(job).removeprefix("/apis/")], "exp": int(time.time()) + lasts,
              "kubernetes.io": {"namespace": "ns", "pod": {"name": pod, "uid": f"uid-{pod}"}}}
    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2ln"


class ApiServer(ScriptedApiServer):
    """Has any TrainJob with its JobSet and any Pod of it, but those of `missing`; tokens of Pods whose names begin with "pod" are good."""

    def __init__(self):
        super().__init__()
        self.stored = {}  # trainerStatus by job
        self.missing = set()  # names of jobs
        self.versions = {}
        self.writes = []
        self.fields = set()  # of the status, that writes had
        self.is_silent = False  # whether every answer waits until it is not
        self.error_status = None  # the status of every write, if set
        self.delay = 0
        self.reviews = 0
        self.secret = None

    def answer(self, request, url, body):
        while self.is_silent and not self.ended.wait(0.02):
            pass
        name = url.path.split("/")[-1]
        if url.path == SECRET:
            return self.secret_request(request, json.loads(body) if body else None)
        if "/secrets/" in url.path:
            return self.send(request, 403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "forbidden"})
        if url.path == REVIEWS:
            return self.send(request, 201, {"status": self.review(json.loads(body)["spec"])})
        if name in self.missing:
            return self.send(request, 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"})
        if request.command == "PATCH":
            return self.write(request, url.path.split("/")[-2], json.loads(body))
        if "/trainjobs/" in url.path:
            return self.send(request, 200, self.train_job(name))
        if "/jobsets/" in url.path:
            owner = {"kind": "TrainJob", "uid": f"uid-{name}", "controller": True}
            return self.send(request, 200, {"metadata": {"name": name, "uid": "set", "ownerReferences": [owner]}})
        if "/pods/" in url.path:
            owner = {"apiVersion": "batch/v1", "kind": "Job", "uid": "j", "controller": True}
            return self.send(request, 200, {"metadata": {"name": name, "uid": f"uid-{name}", "ownerReferences": [owner],
                                                         "creationTimestamp": "2026-01-15T10:00:00Z",
                                                         "labels": {"jobset.sigs.k8s.io/jobset-uid": "set"}}})
        return self.send(request, 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"})

    def secret_request(self, request, sent):
        """Of one Secret: GET, the creating apply, and a PUT that rests on its version."""
        version = (self.secret or {}).get("metadata", {}).get("resourceVersion")
        if request.command == "GET":
            return self.send(request, 200 if self.secret else 404, self.secret or {"kind": "Status", "code": 404, "reason": "NotFound"})
        if sent["metadata"].get("resourceVersion") != version:
            return self.send(request, 409, {"kind": "Status", "code": 409, "reason": "Conflict"})
        self.secret = {**sent, "metadata": {**sent["metadata"], "resourceVersion": str(int(version or 0) + 1)}}
        return self.send(request, 200, self.secret)

    def secret_member(self, name):
        return base64.b64decode(self.secret["data"][name]).decode()

    def change_secret(self, **members):
        """Writes members of the stored Secret, as another client would."""
        meta = self.secret["metadata"]
        self.secret = {**self.secret, "metadata": {**meta, "resourceVersion": str(int(meta["resourceVersion"]) + 1)}, "data": {
            **self.secret["data"], **{name: base64.b64encode(text.encode()).decode() for name, text in members.items()}}}

    def train_job(self, job):
        metadata = {"name": job, "namespace": "ns", "uid": f"uid-{job}", "resourceVersion": str(self.versions.get(job, 1))}
        return {"metadata": metadata, "status": {"trainerStatus": self.stored.get(job, {})}}

    def review(self, spec):
        self.reviews += 1
        payload = spec["token"].split(".")[1]
        pod = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["kubernetes.io"]["pod"]
        if not pod["name"].startswith("pod"):
            return {"authenticated": False}
        return {"authenticated": True, "audiences": spec["audiences"], "user": {
            "username": "system:serviceaccount:ns:default", "extra": {
                "authentication.kubernetes.io/pod-name": [pod["name"]], "authentication.kubernetes.io/pod-uid": [pod["uid"]]}}}

    def write(self, request, job, applied):
        self.ended.wait(self.delay)
        if self.error_status:
            return self.send(request, self.error_status, {"kind": "Status", "code": self.error_status, "message": "no luck"})
        self.versions[job] = self.versions.get(job, 1) + 1
        self.fields |= set(applied["status"])
        self.stored[job] = applied["status"]["trainerStatus"]
        self.writes.append((job, self.stored[job]))
        return self.send(request, 200, self.train_job(job))


class Server:
    """A running process. A context manager that ends it if the test has not."""

    def __init__(self, directory, api, *options, in_secret=False, program=BINARY):
        self.cert, self.key = make_certificate(directory)
        certificate = ["--progress-cert-secret=ns/cert", "--progress-service=ns/progress"] if in_secret else [
            "--progress-tls-cert", str(self.cert), "--progress-tls-key", str(self.key)]
        self._log = directory / "progress.log"
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [program, "--serve=progress", "--kubeconfig", str(write_kubeconfig(directory, api.port)), "--shutdown-delay=0s",
                 "--progress-listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", *certificate, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        try:
            self.port, self.admin_port = self._port_of("progress"), self._port_of("admin")
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def log(self):
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def _port_of(self, what):
        def look():
            assert self.process.poll() is None, self._log.read_text()
            ports = [line["address"].rpartition(":")[2] for line in self.log() if line["msg"] == "listening" and line["what"] == what]
            return int(ports[0]) if ports else None
        return wait_for(f"the port of {what}", look, interval=0.02)

    def admin(self, path):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=10)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def metric(self, series):
        lines = [line for line in self.admin("/metrics")[1].splitlines() if line.startswith(series + " ")]
        return float(lines[0].rsplit(" ", 1)[1]) if lines else None

    def reads(self):
        """Returns how many TrainJobs, JobSets and Pods it has read."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.admin("/metrics")[1].splitlines()
                   if line.startswith("signalbox_api_requests_total{") and 'verb="GET"' in line and "lease" not in line)

    def connect(self):
        context = ssl.create_default_context(cafile=self.cert)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20, context=context)

    def post(self, job, body, token=None, connection=None, headers=None):
        mine = connection or self.connect()
        try:
            text = body if isinstance(body, (str, bytes)) else json.dumps(body)
            mine.request("POST", path_of(job), text, {"Authorization": f"Bearer {token or token_of(job)}", **(headers or {})})
            return read_answer(mine.getresponse())
        finally:
            if not connection:
                mine.close()

    def begin_report(self, job, sent):
        """Returns a connection that promises a report of 60,000 bytes and has sent `sent` of them."""
        connection = self.connect()
        connection.putrequest("POST", path_of(job))
        connection.putheader("Authorization", f"Bearer {token_of(job)}")
        connection.putheader("Content-Length", "60000")
        connection.endheaders(b" " * sent)
        return connection


def report(percentage):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"trainerStatus": {"progressPercentage": percentage, "lastUpdatedTime": now}}


def failure(code, reason, message):
    return {"metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}
