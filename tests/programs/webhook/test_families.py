"""All programs, with the arguments of their Deployments and the configuration of a Pod, on machines without IPv4, without IPv6, and with
both: probes, metrics and requests reach them by every address that a Pod can have, and they reach the API server."""

import contextlib
import http.client
import json
import shlex
import ssl
import subprocess

import pytest
import yaml

from controlplane.processes import Process
from families import LOOPBACK, on, own_network
from paths import ROOT
from rest import wait_for
from webhook_program import BINARY, TRAIN_JOB_PATH, ApiServer, read_answer, review, train_job

FILES = {"webhook": "base/webhook-deployment.yaml", "reconciler": "base/reconciler-deployment.yaml",
         "progress": "components/progress/deployment.yaml"}
# A Pod's files, in a file system that only this program sees.
IN_POD = """
mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount && cd /run/secrets/kubernetes.io/serviceaccount
cp {certificates}/ca.crt . && echo token > token && echo kubeflow-system > namespace && exec {command}
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    out = tmp_path_factory.mktemp("families") / "certs"
    subprocess.run([ROOT / "certs" / "make-development-certificates", "--out", out, *(
        word for address in LOOPBACK.values() for word in ("--ip", address))], check=True, capture_output=True)
    return out


def arguments(program, certificates):
    """Returns those of the Deployment, with certificates of ours."""
    container, = yaml.safe_load((ROOT / "manifests" / FILES[program]).read_text())["spec"]["template"]["spec"]["containers"]
    given = [each for each in container["args"] if "-tls-" not in each and "-cert-" not in each and "-service=" not in each]
    given += ["--shutdown-delay=0s"] if program != "reconciler" else []
    prefix = {"webhook": ["--tls-"], "progress": ["--progress-tls-"], "reconciler": []}[program]
    return [*given, *(f"{each}{kind}={certificates}/tls.{file}" for each in prefix for kind, file in (("cert", "crt"), ("key", "key")))]


def ask(address, port, method, path, body=None, tls=None):
    made = http.client.HTTPSConnection(address, port, timeout=5, context=tls) if tls else http.client.HTTPConnection(address, port, timeout=5)
    with contextlib.closing(made) as connection:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        return read_answer(connection.getresponse())


def answers(*question, **options):
    with contextlib.suppress(OSError):
        return ask(*question, **options)[0] == 200
    return False


@pytest.mark.parametrize("program, families", [("webhook", ["IPv6"]), ("reconciler", ["IPv6"]), ("progress", ["IPv6"]),
                                               ("webhook", ["IPv4"]), ("webhook", ["IPv4", "IPv6"])],
                         ids=lambda value: value if isinstance(value, str) else " and ".join(value))
def test_a_program_answers_by_every_address_and_reaches_the_api_server(certificates, tmp_path, program, families):
    addresses = [LOOPBACK[family] for family in families]
    binary = BINARY.replace("signalbox-webhook", "signalbox-reconciler") if program == "reconciler" else BINARY
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_server.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    tls = ssl.create_default_context(cafile=certificates / "ca.crt")
    with own_network(*families), ApiServer(host=addresses[0], tls=of_server) as api:
        command = shlex.join(map(str, on(families, binary, *arguments(program, certificates))))
        running = Process(program, ["unshare", "--mount", "sh", "-c", IN_POD.format(certificates=certificates, command=command)],
                          tmp_path / "log", {"KUBERNETES_SERVICE_HOST": addresses[0], "KUBERNETES_SERVICE_PORT": str(api.port)})
        try:
            for address in addresses:
                wait_for(f"readiness at {address}", lambda: answers(address, 8080, "GET", "/readyz") or (
                    not running.running() and pytest.fail(running.tail())))
                assert answers(address, 8080, "GET", "/healthz") and answers(address, 8080, "GET", "/metrics")
                if program == "webhook":
                    status, _, answer = ask(address, 9443, "POST", TRAIN_JOB_PATH, json.dumps(review(train_job())), tls=tls)
                    assert status == 200 and "must be created before the TrainJob" in str(answer["response"])
                if program == "progress":
                    assert ask(address, 10443, "GET", "/", tls=tls)[0] == 404
            assert api.gets or program == "progress"
            running.ask_to_end()
            assert running.wait(30) and running.exit_status() == 0, running.tail()
        finally:
            running.kill()
