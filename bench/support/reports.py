"""Pods of TrainJobs that report, and the API server that stands in for the real one: bench/progress measures the server between them."""

import base64
import collections
import json
import socketserver
import threading
import time

JOB_BYTES = 5 * 1024


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def path_of(number):
    return f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/bench/trainjobs/job-{number}/status"


def token(number, pod):
    """As an API server issues it, but for the signature."""
    now = int(time.time())
    claims = {"iss": "https://kubernetes.default.svc.cluster.local", "aud": [path_of(number).removeprefix("/apis/")], "iat": now,
              "nbf": now, "exp": now + 3600, "jti": "0f8d3c7e-2f55-4b7a-8f0b-5e2f4f2a9f01", "kubernetes.io": {
                  "namespace": "bench", "node": {"name": "node-0", "uid": "7c0e8f1a-5b0e-4a63-9f3e-3c7f6b1f9a10"},
                  "pod": {"name": pod, "uid": f"uid-{pod}"},
                  "serviceaccount": {"name": "default", "uid": "9a0e8f1a-5b0e-4a63-9f3e-3c7f6b1f9a10"}},
              "sub": "system:serviceaccount:bench:default"}
    header = base64url(b'{"alg":"RS256","kid":"aWxvdmVzaWduYWxib3hiZW5jaG1hcmtzYW5kdG9rZW5z"}')
    return f"{header}.{base64url(json.dumps(claims).encode())}.{'c' * 342}"


class ApiServer:
    """Stands in for the real one: TokenReviews, TrainJobs with their JobSets and Pods, and applies to a status, which it counts.
    Tokens of Pods whose name begins with "pod-" are good."""

    def __init__(self):
        self.versions = collections.defaultdict(lambda: 1)
        self.writes = []  # (when, job, bytes)
        self.reviews = []
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            """Of HTTP as much as one client speaks: http.server takes five times as long."""

            def handle(self):
                while line := self.rfile.readline():
                    method, target, _ = line.split(b" ", 2)
                    length = 0
                    while (header := self.rfile.readline()) not in (b"\r\n", b""):
                        if header[:15].lower() == b"content-length:":
                            length = int(header[15:])
                    body = self.rfile.read(length)
                    status, answer = outer.answer(method, target.decode().partition("?")[0], body)
                    self.wfile.write(b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
                        status, len(answer), answer))

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True
            request_queue_size = 512

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method, path, body):
        parts = path.split("/")
        if parts[-1] == "tokenreviews":
            return 201, self.review(json.loads(body))
        if method == b"PATCH":
            job = parts[-2]
            self.versions[job] += 1
            answer = self.train_job(job)
            self.writes.append((time.monotonic(), job, len(answer)))
            return 200, answer
        kind, name = (parts[-2], parts[-1]) if len(parts) > 3 else ("", "")
        if kind == "trainjobs":
            return 200, self.train_job(name)
        if kind == "jobsets":
            return 200, json.dumps({"metadata": {"name": name, "uid": f"set-{name}", "ownerReferences": [
                {"kind": "TrainJob", "uid": f"uid-{name}", "controller": True}]}}).encode()
        if kind == "pods":
            job = "job-" + name.rpartition("-")[2]
            return 200, json.dumps({"metadata": {
                "name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-01-15T10:00:00Z",
                "labels": {"jobset.sigs.k8s.io/jobset-uid": f"set-{job}"},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "uid": "j", "controller": True}]}}).encode()
        return 404, b'{"kind":"Status","code":404,"reason":"NotFound"}'

    def train_job(self, name):
        text = json.dumps({"metadata": {"name": name, "namespace": "bench", "uid": f"uid-{name}",
                                        "resourceVersion": str(self.versions[name])}, "spec": {"note": ""}})
        return text.replace('"note": ""', f'"note": "{"x" * (JOB_BYTES - len(text))}"').encode()

    def review(self, asked):
        self.reviews.append(time.monotonic())
        claims = asked["spec"]["token"].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        pod = claims["kubernetes.io"]["pod"]
        status = {"authenticated": False}
        if pod["name"].startswith("pod-"):
            status = {"authenticated": True, "audiences": asked["spec"]["audiences"], "user": {
                "username": claims["sub"], "extra": {"authentication.kubernetes.io/pod-name": [pod["name"]],
                                                     "authentication.kubernetes.io/pod-uid": [pod["uid"]]}}}
        return json.dumps({"status": status}).encode()


def most_in(window, times_and_sizes):
    """The most that a sum over any window reaches."""
    most = total = first = 0
    for when, size in times_and_sizes:
        total += size
        while times_and_sizes[first][0] <= when - window:
            total -= times_and_sizes[first][1]
            first += 1
        most = max(most, total)
    return most
