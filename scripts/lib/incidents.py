"""The incidents of scripts/pictures: what breaks, for how long, and which panels of the dashboard show it."""

import base64
import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bed"))

from jobs import runtime, train_job  # noqa: E402
from rest import ApiError, Rest  # noqa: E402

TENANT = "team-a"
FLOOD = 600
FAILURES = (ApiError, OSError, http.client.HTTPException)


class World:
    """A cluster with a tenant that creates a short TrainJob each second."""

    def __init__(self, cluster, signalbox):
        self.cluster = cluster
        self.signalbox = signalbox
        self.rest = Rest(cluster.kubeconfig, TENANT)
        for name in (TENANT, "team-b"):
            self.rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.rest.create(runtime("short"))

    def submit_until(self, stop):
        number = 0
        while not stop.wait(1):
            number += 1
            with contextlib.suppress(*FAILURES):
                self.rest.create(train_job(f"job-{number}", "short", seconds=2))


@contextlib.contextmanager
def api_server_away(world):
    world.cluster.stop_api_server()
    yield
    world.cluster.start_api_server()


@contextlib.contextmanager
def wrong_ca(world):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([ROOT / "certs" / "make-development-certificates", "--out", directory, "--ip", "127.0.0.1"],
                       check=True, capture_output=True)
        other = base64.b64encode((pathlib.Path(directory) / "ca.crt").read_bytes()).decode()
    _change_webhooks(world, "-l=app.kubernetes.io/part-of=signalbox", lambda config: config.update(caBundle=other))
    yield
    world.signalbox.configure_webhooks()


@contextlib.contextmanager
def tenant_flood(world):
    flood = Rest(world.cluster.kubeconfig, "team-b")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: flood.create(train_job(f"flood-{number}", "short", suspend=True)), range(FLOOD)))
    yield


@contextlib.contextmanager
def quota_exhausted(world):
    used = len(world.rest.list("jobsets"))
    world.cluster.kubectl("-n", TENANT, "create", "quota", "few", f"--hard=count/jobsets.jobset.x-k8s.io={used}")
    yield
    world.cluster.kubectl("-n", TENANT, "delete", "quota", "few")


@contextlib.contextmanager
def job_set_webhook_down(world):
    """As without a Pod behind its Service: connections are refused."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    before = {}

    def move(config):
        scheme, _, path = config["url"].partition("://")
        before[path.partition("/")[2]] = config["url"]
        config["url"] = f"{scheme}://127.0.0.1:{port}/{path.partition('/')[2]}"
    names = ["jobset-mutating-webhook-configuration", "jobset-validating-webhook-configuration"]
    for kind, name in zip(("mutatingwebhookconfigurations", "validatingwebhookconfigurations"), names):
        _change_webhooks(world, name, move, kind)
    yield
    for kind, name in zip(("mutatingwebhookconfigurations", "validatingwebhookconfigurations"), names):
        _change_webhooks(world, name, lambda config: config.update(url=before[config["url"].split("/", 3)[3]]), kind)


def _change_webhooks(world, which, change, kinds="mutatingwebhookconfigurations,validatingwebhookconfigurations"):
    found = json.loads(world.cluster.kubectl("get", kinds, which, "-o", "json"))
    for configuration in found.get("items", [found]):
        for webhook in configuration["webhooks"]:
            change(webhook["clientConfig"])
        configuration["metadata"].pop("managedFields", None)
        world.cluster.kubectl("replace", "-f", "-", input=json.dumps(configuration))


@dataclasses.dataclass
class Incident:
    title: str
    inject: typing.Callable
    seconds: int
    panels: tuple


INCIDENTS = {
    "api-server-away": Incident("The API server is away", api_server_away, 140, (
        "Programs that work", "Answers other than 2xx per second", "Watches opened anew per minute", "Work queue")),
    "wrong-ca": Incident("The webhook configurations have another CA", wrong_ca, 45, (
        "Reviews per second", "TrainJobs by state", "Certificate ends in", "Programs that work")),
    "quota-exhausted": Incident("A namespace has used up its quota of JobSets", quota_exhausted, 45, (
        "TrainJobs by state", "Answers other than 2xx per second", "Requeues per second", "Reconciles per second")),
    "jobset-webhook-down": Incident("JobSet's webhook does not answer", job_set_webhook_down, 45, (
        "TrainJobs by state", "Answers other than 2xx per second", "Requeues per second", "From creation to the JobSet")),
    "tenant-flood": Incident(f"A tenant creates {FLOOD} TrainJobs at once", tenant_flood, 20, (
        "TrainJobs by state", "Work queue", "From creation to the JobSet", "Reconciles per second")),
}
