"""Messages of hostile clients, and honest clients beside them."""

import contextlib
import http.client
import json
import socket
import threading
import time

import yaml
from webhook_program import MUTATE_PATH, RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, read_answer, review, runtime, train_job

LIMIT = 7 * 1024 * 1024  # bytes of a body
HONEST_TIMEOUT = 10  # seconds, the API server's timeout
HONEST_LATENCY = 2  # seconds, of the slowest honest call on a busy machine; less than 1 where nothing else runs
HONEST_ADDRESS = "127.0.0.2"  # of honest clients; hostile ones have 127.0.0.1
PAUSE = 0.005  # seconds between honest calls
DENIED, ALLOWED = False, True
CONFIG_MAP = 1_000_000  # bytes that a ConfigMap can hold


class KnowsRuntimes(ApiServer):
    """Serves `runtimes` to watches of their kinds and to reads."""

    def __init__(self, *runtimes):
        super().__init__()
        self.runtimes = runtimes
        for one in runtimes:
            namespace = one["metadata"].get("namespace")
            place = f"/namespaces/{namespace}" if namespace else ""
            self.objects[f"/apis/{one['apiVersion']}{place}/{one['kind'].lower()}s/{one['metadata']['name']}"] = one

    def answer(self, request, url, body):
        if "watch" in url.query:
            return self.watch(request, [one for one in self.runtimes if url.path.endswith(f"/{one['kind'].lower()}s")])
        return super().answer(request, url, body)


class Honest:
    """The part of the API server that these tests need: a connection that stays open, and new ones."""

    def __init__(self, webhook):
        self.webhook = webhook
        self.kept = webhook.connect(address=HONEST_ADDRESS)
        self.answered = 0
        self.slowest = 0.0  # seconds

    def call(self):
        uid = f"honest-{self.answered}"
        once = self.answered % 5 == 4
        connection = self.webhook.connect(address=HONEST_ADDRESS) if once else self.kept
        connection.timeout = HONEST_TIMEOUT
        began = time.monotonic()
        status, _, body = self.webhook.post(TRAIN_JOB_PATH, review(train_job(), uid=uid), connection=connection)
        assert status == 200 and body["response"] == {"uid": uid, "allowed": True}, body
        self.slowest = max(self.slowest, time.monotonic() - began)
        if once:
            connection.close()
        self.answered += 1


@contextlib.contextmanager
def honest_calls(webhook, at_least=5, within=HONEST_LATENCY):
    """Makes calls while the block runs, and checks that each got its answer, and in that time."""
    honest, over, failures = Honest(webhook), threading.Event(), []
    honest.call()

    def work():
        try:
            while not over.is_set() or honest.answered < at_least:
                honest.call()
                over.wait(PAUSE)
        except BaseException as failure:  # includes failed assertions
            failures.append(failure)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield honest
    finally:
        over.set()
        thread.join()
        honest.kept.close()
    assert failures == [] and honest.answered >= at_least
    assert honest.slowest < within
    assert webhook.process.poll() is None


def head(path=RUNTIME_PATH, *lines, method="POST"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: webhook", "Content-Type: application/json", *lines]).encode() + b"\r\n\r\n"


def sized(body, path=RUNTIME_PATH):
    body = body if isinstance(body, bytes) else body.encode()
    return head(path, f"Content-Length: {len(body)}") + body


def connect_with_little_room(webhook):
    """Returns a connection with small kernel buffers, so that unread data stays in the webhook."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(5)
    plain.connect(("127.0.0.1", webhook.port))
    return webhook.tls().wrap_socket(plain, server_hostname="127.0.0.1")


def say(connection, data):
    """Sends as much as the other side accepts; it may close the connection meanwhile."""
    with contextlib.suppress(OSError):
        connection.sendall(data)


def answer_to(connection):
    """Returns status and body of one answer; 0 if the connection ended without one."""
    answer = http.client.HTTPResponse(connection)
    try:
        answer.begin()
        status, _, body = read_answer(answer)
        return status, body
    except (OSError, http.client.HTTPException):
        return 0, None


def rest_of(connection):
    data = b""
    with contextlib.suppress(OSError):
        while piece := connection.recv(65536):
            data += piece
    return data


def namespaced(made, namespace="ns"):
    """Returns the runtime as a TrainingRuntime."""
    return {**made, "kind": "TrainingRuntime", "metadata": {**made["metadata"], "namespace": namespace}}


SNAPSHOT_PATH = "/api/v1/namespaces/ns/configmaps/job-runtime-snapshot"


def snapshot(text):
    """Returns a ConfigMap that a tenant could create with any text, for the TrainJob of update_by_snapshot()."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"runtime": text}, "metadata": {
        "name": "job-runtime-snapshot", "namespace": "ns", "ownerReferences": [{
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "job", "uid": "job-uid", "controller": True}]}}


def update_by_snapshot():
    """Returns a review that is validated against the snapshot."""
    old = train_job("gone")
    old["status"] = {"jobsStatus": [{"name": "node"}]}
    new = json.loads(json.dumps(old))
    new["spec"]["trainer"] = {"image": "registry.example.com/train:2"}
    return review(new, "UPDATE", old)


def large_runtime(name="large", **more):
    made = runtime(name)
    container = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    container.update(more)
    return made


def variables(size):
    return [{"name": f"NAME_{i}", "value": "value"} for i in range(size // 40)]


BLOCK = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata:\n  name: gone\n"
SNAPSHOTS = {
    "open lists": BLOCK + "spec: " + "[" * CONFIG_MAP,
    "open maps": BLOCK + "spec: " + "{" * CONFIG_MAP,
    "a list in brackets": BLOCK + "spec: [" + "a," * (CONFIG_MAP // 2),
    "a list in lines": BLOCK + "spec:\n" + "- a\n" * (CONFIG_MAP // 5),
    "nested lists": BLOCK + "spec:\n" + ("- " * 250 + "a\n") * (CONFIG_MAP // 502),
    # The most levels that are parsed.
    "some nested lists": BLOCK + "spec:\n" + ("- " * 250 + "a\n") * 99,
    "a shorter list in brackets": BLOCK + "spec: [" + "a," * 99_000 + "]",
    "empty lines": BLOCK + "\n" * 99_000,
    "a long text": BLOCK + "spec: |\n" + "  x x x x x x x x x x x x x x x x x x x\n" * (CONFIG_MAP // 42) + "  x",
    "a quoted text": BLOCK + 'spec: "' + "x " * (CONFIG_MAP // 2) + '"',
    "variables": yaml.safe_dump(large_runtime("gone", env=variables(CONFIG_MAP * 7 // 10))),
    "variables as JSON": json.dumps(large_runtime("gone", env=variables(CONFIG_MAP))),
    "small values as JSON": json.dumps(large_runtime("gone", args=[""] * (CONFIG_MAP // 5))),
}


def job_text(spec="", metadata=""):
    """Returns a review of a TrainJob with raw text inserted."""
    text = json.dumps(review(train_job()))
    text = text.replace('"suspend": false', '"suspend": false' + spec)
    return text.replace('"uid": "job-uid"', '"uid": "job-uid"' + metadata)


def deep(levels, opening, closing, leaf="1"):
    return opening * levels + leaf + closing * levels


def many_patches(size):
    patch = json.dumps({"manager": "acme.io/%07d", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}}]}}}})
    return ', "runtimePatches": [' + ",".join(patch % i for i in range(size // len(patch))) + "]"


def one_patch(pod_spec):
    return ', "runtimePatches": [{"manager": "acme.io/x", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [' \
        '{"name": "node", "template": {"spec": {"template": {"spec": %s}}}}]}}}}]' % pod_spec


MOST = 128  # variables, mounts, volumes


class Wide:
    """A runtime with lists and maps of `width` members, at the top of a Pod and as deep as there are merge keys. Its reviews patch the end
    of these lists in reverse order, as much as the schema admits, so that every item must be found and moved."""

    def __init__(self, width):
        self.width = width
        backwards = range(width - 1, -1, -1)[:MOST]
        self.volumes = [{"name": f"v{i}", "emptyDir": {"medium": "Memory"}} for i in backwards]
        self.side = {"name": "side", "env": [{"name": f"E{i}", "value": "w"} for i in backwards],
                     "volumeMounts": [{"name": f"v{i}", "mountPath": f"/v{i}", "readOnly": True} for i in backwards]}
        self.selector = {f"k{i}": "w" for i in backwards}

    def runtime(self):
        made = runtime("wide")
        pod = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        pod["volumes"] = [{"name": f"v{i}", "emptyDir": {}} for i in range(self.width)]
        pod["nodeSelector"] = {f"k{i}": "v" for i in range(self.width)}
        pod["containers"].append({"name": "side", "image": "registry.example.com/side:1",
                                  "env": [{"name": f"E{i}", "value": "v"} for i in range(self.width)],
                                  "volumeMounts": [{"name": f"v{i}", "mountPath": f"/v{i}"} for i in range(self.width)]})
        return made

    def patched(self, patches, pod_spec):
        job = train_job("wide")
        job["spec"]["runtimePatches"] = [
            {"manager": f"acme.io/x{i}", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
                {"name": "node", "template": {"spec": {"template": {"spec": pod_spec}}}}]}}}} for i in range(patches)]
        return sized(json.dumps(review(job), separators=(",", ":")), TRAIN_JOB_PATH)

    def messages(self):
        mounts = self.side["volumeMounts"]
        return {
            "wide and deep merges": (self.patched(16, {
                "volumes": self.volumes, "containers": [self.side], "nodeSelector": self.selector}), ALLOWED),
            "a wide merge that fails at its end": (self.patched(1, {"volumes": [*self.volumes[1:], {"emptyDir": {}}]}),
                                                   f"volumes[{MOST - 1}]: needs a name, which it is merged by"),
            "a deep merge that fails at its end": (
                self.patched(1, {"containers": [{**self.side, "volumeMounts": [*mounts[1:], {"name": "v"}]}]}),
                f"volumeMounts[{MOST - 1}]: needs a mountPath, which it is merged by"),
            "merges without number into a wide one": (self.patched(4_000, {"volumes": self.volumes[:1]}),
                                                      "spec.runtimePatches: Invalid value: null: must have at most 16 items"),
        }


def one_job_again(annotations, tolerations, times):
    """Returns patches that name one job that often, each adding to already large lists. The second patch is Kueue's, whose tolerations
    are added to the existing ones. An update that leaves them unchanged is merged."""
    def named(annotations, tolerations):
        pod = {"spec": {"tolerations": tolerations}}
        return {"name": "node", "template": {"metadata": {"annotations": annotations}, "spec": {"template": pod}}}

    def patch(manager, items):
        return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": items}}}}

    job = train_job()
    large = named({f"m{i}": "" for i in range(annotations)}, [{"key": f"{i}"} for i in range(tolerations)])
    again = [named({f"a{i:07}": "x"}, [{"key": "x"}]) for i in range(times, 0, -1)]
    job["spec"]["runtimePatches"] = [patch("acme.io/x", [large]), patch("kueue.x-k8s.io/manager", again)]
    older = {**job, "spec": {**job["spec"], "trainer": {"image": "older"}}}
    return {
        "one job again and again": (sized(json.dumps(review(job)), TRAIN_JOB_PATH), "must have at most 1024 entries"),
        "the same that was so before": (sized(json.dumps(review(job, "UPDATE", older)), TRAIN_JOB_PATH),
                                        "repeats the name of an item that is too large to be merged twice"),
    }


def many_small_patches(size):
    return {
        "a list of patches as long as fits": (sized(job_text(many_patches(size)), TRAIN_JOB_PATH), None),
        "the same at the mutating webhook": (sized(job_text(many_patches(size)), MUTATE_PATH), ALLOWED),
    }


def many_values(number):
    return {
        "many small values": (sized(job_text(metadata=', "x": [' + "0," * number + "0]"), TRAIN_JOB_PATH), None),
        "many small members": (sized(job_text(metadata=', "x": {' + '"":0,' * (number // 2) + '"a": 0}'), TRAIN_JOB_PATH), None),
    }


def send_and_check(webhook, name, data, want):
    """Sends a message and checks the answer. `want` is a status, or for 200 a verdict or a part of its message; None = 200 or 400."""
    with webhook.socket() as connection:
        say(connection, data)
        status, body = answer_to(connection)
    if want in (ALLOWED, DENIED):
        assert status == 200 and body["response"]["allowed"] is want, (name, status, body)
    elif isinstance(want, str):
        assert status == 200 and want in body["response"]["status"]["message"], (name, status, body)
    elif want:
        assert status == want, name
    else:
        assert status in (200, 400), name
    # The answer quotes nothing of the message but the wrong part.
    assert len(json.dumps(body)) < 100_000 or want is ALLOWED, name
