"""Secrets are never logged, and the tests would detect it if they were."""

import base64
import json

import pytest

from jobs import train_job
from rest import wait_for
from secret_watch import SecretWatch, held_by

FRAMEWORKS = {"deepspeed-distributed": "id_rsa", "flux-distributed": "curve.cert"}


def event(obj, **reference):
    return json.dumps({"objectRef": {"resource": "secrets", "namespace": "ns", "name": "s", **reference}, "responseObject": obj})


PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAABlwAA\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize("held, logged", [
    (event({"data": {"password": base64.b64encode(b"correct horse").decode()}}), "it was correct horse"),
    (event({"data": {"password": base64.b64encode(b"correct horse").decode()}}), base64.b64encode(b"correct horse").decode()),
    (event({"stringData": {"password": "correct horse"}}), '{"error":"no such user: correct horse"}'),
    (event({"items": [{"data": {"password": base64.b64encode(b"correct horse").decode()}}]}), "correct horse"),
    (event({"data": {"id": base64.b64encode(PEM.encode()).decode()}}), PEM.split("\n")[1]),
    (event({"data": {"curve": base64.b64encode(b'curve\n  secret-key = "p7:Z]*<5v)w=8jXm@J3$1=q{%hQ"\n').decode()}}),
     "p7:Z]*<5v)w=8jXm@J3$1=q{%hQ"),
    (event({"status": {"token": "eyJhbGciOiJSUzI1NiJ9.e30.sig"}}, subresource="token"), "Bearer eyJhbGciOiJSUzI1NiJ9.e30.sig"),
], ids=["a value", "a value as it is sent", "a value before it is stored", "a value of a list", "a line of a private key",
        "a CURVE key", "a token"])
def test_a_secret_in_a_log_is_found(tmp_path, held, logged):
    (tmp_path / "audit.log").write_text(held + "\n")
    log = tmp_path / "reconciler.log"

    class Plane:
        directory = tmp_path
    for text, count in (("nothing of it\n", 0), (f"before {logged} after\n", 1)):
        log.write_text(text)
        watch = SecretWatch({log})
        watch.ended(Plane)
        assert min(len(watch.found), 1) == count, text


def test_a_private_key_of_the_test_bed_in_a_log_is_found(tmp_path):
    (tmp_path / "tls.key").write_text(PEM)
    log = tmp_path / "webhook.log"
    log.write_text(PEM.replace("\n", "\\n"))

    class Plane:
        directory = tmp_path
    watch = SecretWatch({log})
    watch.ended(Plane)
    assert len(watch.found) == 1


@pytest.mark.together
@pytest.mark.parametrize("runtime", FRAMEWORKS)
def test_generated_keys_are_searched_for_even_after_they_are_deleted(signalbox, rest, cluster, runtime):
    name = runtime.split("-")[0]
    rest.create(train_job(name, runtime, nodes=2))
    wait_for("its JobSet", lambda: rest.get("jobsets", name))
    made = [what for _, what in held_by(cluster.directory) if f"{rest.namespace}/{name}" in what]
    assert made
    assert '"level":"debug"' in signalbox.webhook.text()
    rest.delete("trainjobs", name)
    assert {what for _, what in held_by(cluster.directory)} >= set(made)


def test_secrets_of_users_and_tokens_of_programs_are_searched_for(signalbox, rest, cluster):
    rest.request("POST", rest.path("secrets"), {
        "metadata": {"name": "planted"}, "stringData": {"password": "planted-by-the-test"}})
    held = dict(held_by(cluster.directory))
    assert held["planted-by-the-test"] == f"password of Secret {rest.namespace}/planted"
    assert any(what == "a token" for what in held.values())
    for name in ("reconciler", "webhook"):
        token, = (path.read_text().strip() for path in cluster.directory.glob(f"*signalbox-{name}.token"))
        assert token in held


@pytest.mark.together
def test_values_of_a_conflicting_secret_are_not_logged(signalbox, rest, cluster):
    rest.request("POST", rest.path("secrets"), {
        "metadata": {"name": "taken-mpi-ssh-auth"}, "stringData": {"password": "planted-in-the-way"}})
    rest.create(train_job("taken", "deepspeed-distributed", nodes=2))
    # The reconciler has read it, and logged the conflict.
    wait_for("a log line about it", lambda: "taken-mpi-ssh-auth" in signalbox.reconciler.text())
    assert dict(held_by(cluster.directory))["planted-in-the-way"] == f"password of Secret {rest.namespace}/taken-mpi-ssh-auth"
    assert "planted-in-the-way" not in signalbox.reconciler.text()
