"""The webhook's /metrics. Tests change each series."""

import collections
import contextlib
import json
import re
import socket
import ssl

import pytest
from webhook_program import MUTATE_PATH, RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, Webhook, review, runtime, train_job, wait_for


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def place(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("webhook")
    with ApiServer() as api, Webhook(directory, api.port, f"--threads={request.param}", "--header-timeout=500ms") as webhook:
        webhook.wait_until_ready()
        yield api, webhook


@pytest.fixture
def webhook(place):
    return place[1]


def requests(webhook, path, verdict, code):
    return webhook.metric(f'signalbox_admission_requests_total{{code="{code}",path="{path}",verdict="{verdict}"}}') or 0


def rejections(webhook, path=RUNTIME_PATH):
    """Returns rejections by rule; later ones are the difference of two results."""
    pattern = re.compile(r'signalbox_admission_rejections_total\{path="([^"]+)",rule="([^"]+)"\} (\d+)')
    return collections.Counter({rule: int(count) for where, rule, count in pattern.findall(webhook.admin("/metrics")[1]) if where == path})


def test_requests_are_counted_by_path_verdict_and_code(webhook):
    stamped = train_job()
    stamped["spec"]["runtimePatches"] = [{"manager": "acme.io/team"}]
    calls = [
        (RUNTIME_PATH, review(runtime()), "allowed", 200), (MUTATE_PATH, review(stamped), "patched", 200),
        (RUNTIME_PATH, review(runtime(replicas=2)), "denied", 422), (TRAIN_JOB_PATH, review(runtime()), "denied", 400),
        (TRAIN_JOB_PATH, "[", "none", 400), (MUTATE_PATH, "{}", "none", 400),
    ]
    for path, body, verdict, code in calls:
        before = requests(webhook, path, verdict, code)
        webhook.post(path, body)
        assert requests(webhook, path, verdict, code) == before + 1
    before = [requests(webhook, path, "none", code) for path, code in ((RUNTIME_PATH, 415), ("other", 404), ("other", 413))]
    webhook.post(RUNTIME_PATH, "{}", {"Content-Type": "text/plain"})
    assert requests(webhook, RUNTIME_PATH, "none", 415) == before[0] + 1
    webhook.post("/other", "{}")
    assert requests(webhook, "other", "none", 404) == before[1] + 1
    webhook.post(RUNTIME_PATH, "[" + "0," * 600_000 + "0]")
    assert requests(webhook, "other", "none", 413) == before[2] + 1


def test_durations_of_requests_are_counted_in_buckets(webhook):
    series = f'signalbox_admission_duration_seconds_{{}}{{{{path="{RUNTIME_PATH}"{{}}}}}}'

    def durations():
        # The time of the handler alone, without the connection's.
        names = [("count", ""), ("bucket", ',le="+Inf"'), ("bucket", ',le="1"'), ("sum", "")]
        return [webhook.metric(series.format(*name)) or 0 for name in names]
    before = durations()
    for _ in range(10):
        webhook.post(RUNTIME_PATH, review(runtime()))
    *counts, seconds = (new - old for new, old in zip(durations(), before))
    assert counts == [10, 10, 10]
    assert 0 < seconds < 10


def test_rejections_are_counted_by_rule_once_for_each_review(webhook):
    before, of_jobs = rejections(webhook), rejections(webhook, TRAIN_JOB_PATH)
    offender = runtime(replicas=2)
    webhook.post(RUNTIME_PATH, review(offender))
    assert rejections(webhook) - before == {"role_replicas": 1}
    spec = offender["spec"]["template"]["spec"]
    spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "other"
    spec["replicatedJobs"].append(json.loads(json.dumps({**spec["replicatedJobs"][0], "name": "second"})))
    causes = webhook.post(RUNTIME_PATH, review(offender))[2]["response"]["status"]["details"]["causes"]
    assert len(causes) == 5
    assert rejections(webhook) - before == {"role_replicas": 2, "role_container": 1, "template_unbuildable": 1}
    webhook.post(TRAIN_JOB_PATH, review(train_job("missing")))
    assert rejections(webhook, TRAIN_JOB_PATH) - of_jobs == {"runtime_exists": 1}


def warnings(webhook, path):
    """Returns warnings by rule, so far."""
    pattern = re.compile(r'signalbox_admission_warnings_total\{path="([^"]+)",rule="([^"]+)"\} (\d+)')
    return collections.Counter({rule: int(count) for where, rule, count in pattern.findall(webhook.admin("/metrics")[1]) if where == path})


def test_warnings_are_counted_by_rule_once_for_each_review(webhook):
    before = warnings(webhook, RUNTIME_PATH)
    odd = runtime()
    odd["metadata"]["labels"] = {"trainer.kubeflow.org/support": "deprecated"}
    for name in ("team", "other"):
        odd["spec"]["template"]["spec"]["network"] = {"subdomain": name}
        texts = webhook.post(RUNTIME_PATH, review(odd))[2]["response"]["warnings"]
        assert ["is deprecated" in texts[0], "network.subdomain" in texts[1]] == [True, True]
    assert warnings(webhook, RUNTIME_PATH) - before == {"runtime_deprecated": 2, "shared_subdomain": 2}
    webhook.post(RUNTIME_PATH, review(runtime()))
    assert warnings(webhook, RUNTIME_PATH) - before == {"runtime_deprecated": 2, "shared_subdomain": 2}


def restored(webhook):
    return {(field, cause): webhook.metric(f'signalbox_admission_fields_restored_total{{cause="{cause}",field="{field}"}}')
            for field, cause in (("trainer", "typed_client"), ("failurePolicy", "typed_client"), ("other", "typed_client"),
                                 ("runtimePatches", "typed_client"), ("runtimePatches", "reapply"))}


def test_restored_fields_are_counted_by_field_and_cause(webhook):
    before = restored(webhook)
    assert None not in before.values()
    stored = train_job()
    stored["spec"]["trainer"] = {"command": [], "args": ["a"]}
    stored["spec"]["runtimePatches"] = [{"manager": "acme.io/team"}, {"manager": "kueue.x-k8s.io/manager"}]
    written = json.loads(json.dumps(stored))
    del written["spec"]["trainer"]["command"]
    webhook.post(MUTATE_PATH, review(written, old=stored, operation="UPDATE"))
    trainer, entry = ("trainer", "typed_client"), ("runtimePatches", "reapply")
    assert restored(webhook) == {**before, trainer: before[trainer] + 1}
    manifest = json.loads(json.dumps(stored))
    del manifest["spec"]["runtimePatches"][1]
    manifest["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(manifest)}
    webhook.post(MUTATE_PATH, review(manifest, old=stored, operation="UPDATE"))
    assert restored(webhook) == {**before, trainer: before[trainer] + 1, entry: before[entry] + 1}


def test_reviews_in_flight_and_connections_are_counted(place):
    api, webhook = place
    api.delay = 20
    wait_for("no connection", lambda: webhook.metric("signalbox_connections") == 0)
    accepted = webhook.metric("signalbox_connections_accepted_total")
    with contextlib.ExitStack() as stack:
        body = json.dumps(review(train_job("somewhere")))
        for _ in range(3):
            connection = stack.enter_context(webhook.socket())
            connection.sendall((f"POST {TRAIN_JOB_PATH}?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        stack.enter_context(webhook.socket())
        wait_for("three reviews", lambda: webhook.metric("signalbox_admission_in_flight") == 3)
        wait_for("four connections", lambda: webhook.metric("signalbox_connections") == 4)
        assert webhook.metric("signalbox_connections_accepted_total") == accepted + 4
    api.release()
    wait_for("none", lambda: webhook.metric("signalbox_admission_in_flight") == 0)
    wait_for("no connection", lambda: webhook.metric("signalbox_connections") == 0)


def test_handshakes_that_fail_are_counted(webhook):
    rejected = 'signalbox_tls_certificates_rejected_total{certificate="server"}'
    before, rejected_before = webhook.metric("signalbox_tls_handshake_errors_total"), webhook.metric(rejected)
    with socket.create_connection(("127.0.0.1", webhook.port)) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for("the failed handshake to be counted", lambda: webhook.metric("signalbox_tls_handshake_errors_total") == before + 1)
    line = webhook.logged("TLS handshake failed")[0]
    assert line["level"] == "info" and line["peer"] == "127.0.0.1" and "http request" in line["error"]
    untrusting = ssl.create_default_context()
    with pytest.raises(ssl.SSLCertVerificationError), socket.create_connection(("127.0.0.1", webhook.port)) as plain:
        untrusting.wrap_socket(plain, server_hostname="127.0.0.1")
    wait_for("the alert of a client that trusts another CA to be counted", lambda: webhook.metric(rejected) == rejected_before + 1)
    assert webhook.metric("signalbox_tls_handshake_errors_total") == before + 2


REFUSED = {
    400: b"hello\r\n\r\n",
    408: b"POST / HTT",
    411: b"POST / HTTP/1.1\r\nHost: x\r\n\r\n",
    413: b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 7340033\r\n\r\n",
    417: b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: wonders\r\n\r\n",
    431: b"POST / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20_000,
    503: None,  # tests/programs/limits
}


def test_rejected_http_requests_are_counted_by_code(webhook):
    def counted():
        return {code: webhook.metric(f'signalbox_http_refusals_total{{code="{code}"}}') for code in REFUSED}
    want, slow = counted(), webhook.metric("signalbox_http_timeouts_total")
    assert None not in want.values()
    for code, text in REFUSED.items():
        if not text:
            continue
        with webhook.socket() as connection:
            connection.sendall(text)
            assert f" {code} ".encode() in connection.recv(1000)
        want[code] += 1
        assert counted() == want
    # The timeout is the 408.
    assert webhook.metric("signalbox_http_timeouts_total") == slow + 1


def test_no_input_makes_more_than_a_series_for_each_rule(webhook):
    def send(number):
        webhook.post(RUNTIME_PATH, review(runtime(name=f"name-{number}", replicas=number + 2)))
        webhook.post(f"{RUNTIME_PATH}?x={number}", review(runtime(), operation=f"OPERATION-{number}"))
        webhook.post(f"/{number}", "{}")
    send(0)
    before, elsewhere = rejections(webhook), requests(webhook, "other", "none", 404)
    lines = webhook.admin("/metrics")[1].count("\n")
    for number in range(1, 11):
        send(number)
    assert rejections(webhook) - before == {"role_replicas": 10}
    assert requests(webhook, "other", "none", 404) == elsewhere + 10
    assert webhook.admin("/metrics")[1].count("\n") == lines
