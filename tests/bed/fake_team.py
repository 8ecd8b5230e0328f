"""A namespace with TrainJobs, served by a scripted API server: for tests of `kubectl trainjob` without a control plane."""

import json
import urllib.parse

from scripted_api_server import ScriptedApiServer

GROUP = "/apis/trainer.kubeflow.org/v1alpha1"
JOBS = f"{GROUP}/namespaces/team/trainjobs"
PODS = "/api/v1/namespaces/team/pods"
EVENTS = "/api/v1/namespaces/team/events"
CREATED = "2026-01-15T10:00:00Z"
TTL = 10 ** 9  # seconds


def condition(kind, status="True", reason="R", message="", time=CREATED):
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time}


def train_job(name, *conditions, jobs=(), progress=None, labels=None, **spec):
    """Returns a TrainJob as the API server has it. It began with the runtime of Team."""
    status = {"conditions": list(conditions), "jobsStatus": list(jobs), "runPolicy": {"ttlSecondsAfterFinished": TTL},
              **({"trainerStatus": progress} if progress else {})}
    return {"metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": CREATED,
                         "labels": labels or {}},
            "spec": {"runtimeRef": {"name": "torch"}, **spec}, "status": status}


def running(name, ready=True, **rest):
    return train_job(name, condition("Created"), jobs=[{"name": "node", "active": 1, "ready": int(ready)}], **rest)


def ended(name, kind="Complete", time="2026-01-15T11:00:00Z", **rest):
    return train_job(name, condition("Created"), condition(kind, time=time, reason="AllJobsCompleted" if kind == "Complete" else "FailedJobs",
                                                           message="first failed job: node-0"), **rest)


def pod(name, index, job="node", container="node", state="running", train_job="night", phase="Running", restarts=0, last=None, node=None, conditions=()):
    """state: a name, or the whole state of its container. last: the state of the container before it."""
    return {"metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}", "creationTimestamp": CREATED, "labels": {
        "jobset.sigs.k8s.io/jobset-name": train_job, "jobset.sigs.k8s.io/replicatedjob-name": job,
        "batch.kubernetes.io/job-name": f"{train_job}-{job}-0", "batch.kubernetes.io/job-completion-index": str(index)}},
        "spec": {"containers": [{"name": container}], **({"nodeName": node} if node else {})},
        "status": {"phase": phase, "conditions": list(conditions), "containerStatuses": [
            {"name": container, "ready": "running" in state, "restartCount": restarts, "state": state if isinstance(state, dict) else {state: {}},
             **({"lastState": last} if last else {})}]}}


class Team(ScriptedApiServer):
    """Has `objects`: lists by path, and answers GET, PATCH and DELETE of their items; lists come in pages of two. `logs`: by name of a
    Pod. `refusals`: by method and path, a code with a message. `asked` has each method and path with its query."""

    def __init__(self, *train_jobs, **options):
        runtime = {"metadata": {"name": "torch"}, "spec": {"ttlSecondsAfterFinished": TTL, "mlPolicy": {"numNodes": 1}}}
        self.objects = {JOBS: list(train_jobs), f"{GROUP}/clustertrainingruntimes": [runtime], f"{GROUP}/namespaces/team/trainingruntimes": [],
                        "/apis/batch/v1/namespaces/team/jobs": [], PODS: [], EVENTS: []}
        self.logs = {}
        self.refusals = {}
        self.asked = []
        self.bodies = []
        super().__init__(**options)

    def answer(self, request, url, body):
        self.asked.append(f"{request.command} {url.path}" + (f"?{urllib.parse.unquote(url.query)}" if url.query else ""))
        query = dict(urllib.parse.parse_qsl(url.query))
        if refusal := self.refusals.get((request.command, url.path)):
            self.refuse(request, *refusal)
        elif url.path.endswith("/log"):
            self.send_text(request, self.logs.get(urllib.parse.unquote(url.path.split("/")[-2]), ""), query)
        elif url.path in self.objects:
            self.send_page(request, self.objects[url.path], query)
        else:
            self.send_object(request, url.path, body)

    def send_page(self, request, objects, query):
        start = int(query.get("continue", 0))
        more = {"continue": str(start + 2)} if len(objects) > start + 2 else {}
        self.send(request, 200, {"metadata": {"resourceVersion": "5", **more}, "items": objects[start:start + 2]})

    def send_object(self, request, path, body):
        collection, _, name = urllib.parse.unquote(path).rpartition("/")
        found = next((each for each in self.objects.get(collection, ()) if each["metadata"]["name"] == name), None)
        if not found:
            self.refuse(request, 404, f'trainjobs.trainer.kubeflow.org "{name}" not found' if collection == JOBS else "404 page not found")
            return
        if request.command != "GET":
            self.bodies.append(json.loads(body))
        if request.command == "PATCH":
            found["spec"].update(self.bodies[-1]["spec"])
        if request.command == "DELETE":
            self.objects[collection].remove(found)
        self.send(request, 200, found)

    def send_text(self, request, text, query):
        if "tailLines" in query:
            text = "".join(text.splitlines(keepends=True)[-int(query["tailLines"]):])
        request.send_response(200)
        request.send_header("Content-Type", "text/plain")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text.encode())

    def refuse(self, request, code, message):
        reason = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound"}[code]
        self.send(request, code, {"kind": "Status", "code": code, "reason": reason, "message": message})
