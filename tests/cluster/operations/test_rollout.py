"""Two replicas of the webhook behind a Service, while TrainJobs are created without a pause: certificates are rotated, Secrets are
deleted, replicas are restarted, and no call fails.

The Service is of type ExternalName and leads to a balancer on loopback, since there is no kube-proxy on the test bed. So the API
server calls the name of the Service, as in production."""

import base64
import json
import os
import pathlib
import subprocess
import threading

import pytest
import yaml

from balancer import Backend, Balancer
from deployment import NAMESPACE, ROOT, Program, remove_webhooks
from jobs import runtime, train_job
from rest import ApiError, Rest, wait_for

BINARY = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-webhook"
CERT_LIFETIME = 30  # seconds, the minimum: renewed every 20, during any test
SECRET, SERVICE = "signalbox-webhook-cert", "signalbox-webhook"
CONFIGURATIONS = [("validatingwebhookconfiguration", "validator.trainer.kubeflow.org"),
                  ("mutatingwebhookconfiguration", "defaulter.trainer.kubeflow.org")]


class Replicas:
    """Two processes of the webhook behind one balancer."""

    def __init__(self, plane, balancer, options):
        self.plane, self.balancer, self.options = plane, balancer, options
        self.programs = {}
        self.started = 0

    def start(self, name):
        self.started += 1
        program = Program(BINARY, self.plane.directory / f"{name}-{self.started}.log", [
            "--kubeconfig", self.plane.service_account_kubeconfig(NAMESPACE, "signalbox-webhook"),
            "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--shutdown-delay=3s", *self.options])
        self.programs[name] = program
        self.balancer.add(name, Backend(program.port_of("admission"), program.port_of("admin")))
        return program

    def restart(self, name):
        """Restarts like a Deployment: terminates the old process, and starts a new one."""
        old = self.programs[name]
        old.ask_to_end()
        wait_for("new connections to go elsewhere", lambda: name not in self.balancer.ready(), interval=0.02)
        assert old.wait(30) and old.exit_status() == 0, old.text()[-2000:]
        self.start(name)
        wait_for("it to be ready", lambda: name in self.balancer.ready(), timeout=60)

    def kill(self):
        for program in self.programs.values():
            program.kill()


class Load:
    """Creates TrainJobs while the block runs. Collects the failures."""

    def __init__(self, kubeconfig, threads=3):
        self.kubeconfig = kubeconfig
        self.failures, self.done = [], 0
        self.ended = [0] * threads  # calls, also failed ones, by thread
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(i,)) for i in range(threads)]

    def work(self, number):
        rest, count = Rest(self.kubeconfig), 0
        while not self.over.is_set():
            count += 1
            try:
                rest.create(train_job(f"load-{number}-{count}"), dry_run=True)
                self.done += 1
            except (ApiError, OSError) as error:
                self.failures.append(str(error))
            self.ended[number] += 1
            self.over.wait(0.02)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_for("the first calls", lambda: self.done > 10)
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def go_on(self, calls=50, failures_before=()):
        """Returns after that many more calls, if none of them failed."""
        until = self.done + calls
        wait_for("more calls", lambda: self.done >= until or self.failures != list(failures_before))
        assert self.failures == list(failures_before)

    def pass_pending(self):
        """Returns once the calls that were under way have ended, and each thread's next one."""
        before = list(self.ended)
        wait_for("pending calls", lambda: all(now >= then + 2 for now, then in zip(self.ended, before)))


@pytest.fixture(scope="module")
def balancer(plane):
    """Routes admission to the balancer, by a Service, until the tests of this file are over."""
    plane.kubectl("apply", "--server-side", "-k", str(ROOT / "manifests" / "overlays" / "local-processes"))
    plane.kubectl("apply", "--server-side", "-f", str(ROOT / "manifests" / "components" / "self-signed" / "rbac.yaml"))
    with Balancer() as balancer:
        plane.kubectl("apply", "-f", "-", input=json.dumps({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost"}}))
        for kind, name in CONFIGURATIONS:
            configuration = json.loads(plane.kubectl("get", kind, name, "-o", "json"))
            for webhook in configuration["webhooks"]:
                webhook["clientConfig"]["service"]["port"] = balancer.port
            plane.kubectl("replace", "-f", "-", input=json.dumps(configuration))
        yield balancer
        remove_webhooks(plane)


@pytest.fixture(scope="module")
def replicas(plane, balancer):
    """Both replicas, ready before each test."""
    both = Replicas(plane, balancer, ["--self-signed", f"--cert-secret={NAMESPACE}/{SECRET}", f"--service={NAMESPACE}/{SERVICE}",
                                      f"--cert-lifetime={CERT_LIFETIME}s",
                                      "--log-level=debug"])  # shows that no log level prints a key
    try:
        for name in ("left", "right"):
            both.start(name)
        wait_for("both replicas", lambda: balancer.ready() == {"left", "right"}, timeout=60)
        yield both
    finally:
        for name in both.programs:
            balancer.remove(name)
        both.kill()


@pytest.fixture
def rest(kubeconfig, replicas):
    """A client for the test's namespace, once the API server reaches the replicas. They have admitted the runtime of the TrainJobs."""
    client = Rest(kubeconfig)
    wait_for("the API server to reach them", lambda: created(client, runtime()))
    return client


def created(rest, obj):
    try:
        return rest.create(obj)
    except ApiError:
        return None


def stored(rest):
    secret = rest.get("secrets", SECRET, NAMESPACE)
    return base64.b64decode(secret["data"]["tls.crt"]) if secret else b""


def shown_by(port):
    talk = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}"], input=b"", capture_output=True)
    return talk.stdout[talk.stdout.find(b"-----BEGIN"):talk.stdout.find(b"-----END CERT")]


def wait_until_all_show_another_than(former, rest, replicas):
    """Returns the stored certificate, once it is another one and all replicas serve it."""
    wait_for("a new certificate", lambda: stored(rest) not in (b"", former), timeout=90)

    def all_show_it():
        first = stored(rest).partition(b"-----END CERT")[0]
        return first and all(shown_by(program.port_of("admission")) == first for program in replicas.programs.values())
    wait_for("both to serve it", all_show_it, timeout=60)
    return stored(rest)


def test_no_call_fails_while_a_certificate_is_renewed_and_replicas_restart(replicas, kubeconfig, rest):
    with Load(kubeconfig) as load:
        wait_until_all_show_another_than(stored(rest), rest, replicas)
        load.go_on()
        for name in ("left", "right"):
            replicas.restart(name)
            load.go_on()
    assert load.failures == []
    print(f"{load.done} creates, a rotation and two restarts, none failed")
    for program in replicas.programs.values():
        assert "PRIVATE KEY" not in program.text()


def test_no_call_fails_when_the_secret_is_deleted_or_emptied(plane, replicas, kubeconfig, rest):
    with Load(kubeconfig) as load:
        for harm in (["delete", "secret", SECRET], ["patch", "secret", SECRET, "-p", '{"data": {"tls.crt": "", "ca.crt": ""}}']):
            before = stored(rest)
            plane.kubectl(*harm, "-n", NAMESPACE)
            wait_until_all_show_another_than(before, rest, replicas)
            load.go_on()
    assert load.failures == []


def test_no_call_fails_when_an_older_secret_is_put_back(plane, replicas, kubeconfig, rest):
    with Load(kubeconfig) as load:
        older = rest.get("secrets", SECRET, NAMESPACE)["data"]
        before = stored(rest)
        plane.kubectl("delete", "secret", SECRET, "-n", NAMESPACE)
        renewed = wait_until_all_show_another_than(before, rest, replicas)
        plane.kubectl("patch", "secret", SECRET, "-n", NAMESPACE, "-p", json.dumps({"data": older}))
        wait_until_all_show_another_than(renewed, rest, replicas)
        load.go_on()
    assert load.failures == []


def test_the_loss_of_a_replica_fails_only_the_calls_that_were_sent_to_it(replicas, balancer, kubeconfig, rest):
    with Load(kubeconfig) as load:
        lost_before = balancer.lost
        replicas.programs["left"].kill()
        wait_for("the endpoints to follow", lambda: balancer.ready() == {"right"}, interval=0.02)
        # A failed call is a server error for its client, which may retry.
        load.pass_pending()
        failed = list(load.failures)
        assert all("failed calling webhook" in each for each in failed)
        # Only calls that were sent to it fail: those under way when it was lost, one for each thread, and as many for each connection
        # that the balancer gave it afterwards.
        connections = balancer.lost - lost_before
        assert len(failed) <= len(load.threads) * (1 + connections), failed
        load.go_on(failures_before=failed)
        replicas.start("left")
        wait_for("its successor", lambda: balancer.ready() == {"left", "right"}, timeout=60)
        load.go_on(failures_before=failed)
    print(f"{load.done} creates, {len(failed)} failed before the endpoints followed the loss, "
          f"which gave it {connections} more connections")


def test_the_role_allows_the_named_objects_only(plane, balancer):
    role = [doc for doc in yaml.safe_load_all((ROOT / "manifests/components/self-signed/rbac.yaml").read_text())
            if doc["kind"].endswith("Role")]
    assert all(rule["resourceNames"] for doc in role for rule in doc["rules"])
    mine = Rest(plane.service_account_kubeconfig(NAMESPACE, "signalbox-webhook"))
    for path in (f"/api/v1/namespaces/{NAMESPACE}/secrets", f"/api/v1/namespaces/{NAMESPACE}/secrets/another",
                 f"/api/v1/namespaces/default/secrets/{SECRET}",
                 "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"):
        with pytest.raises(ApiError) as refused:
            mine.request("GET", path)
        assert refused.value.code == 403
    with pytest.raises(ApiError) as refused:
        mine.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "another", "namespace": NAMESPACE}})
    assert refused.value.code == 403
