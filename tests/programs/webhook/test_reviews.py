"""AdmissionReview over a real TLS connection, as the API server speaks it and as it does not."""

import http.client
import json
import time

import pytest
from webhook_program import (GROUP, MUTATE_PATH, RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, Webhook, read_answer, review, runtime,
                          train_job)

LIMIT = 7 * 1024 * 1024


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def place(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("webhook")
    with ApiServer() as api, Webhook(directory, api.port, f"--threads={request.param}") as webhook:
        webhook.wait_until_ready()
        yield api, webhook
        assert webhook.end() == 0


@pytest.fixture
def webhook(place):
    api, webhook = place
    api.objects.clear()
    api.release()
    api.trouble = None
    return webhook


@pytest.fixture
def api(place, webhook):
    return place[0]


def raw(webhook, text, pieces=None):
    """Sends bytes as they are, in pieces if wanted, and reads one answer."""
    data = text if isinstance(text, bytes) else text.encode()
    with webhook.socket() as connection:
        for piece in pieces or [data]:
            connection.sendall(piece)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return read_answer(answer)


def request_text(path=RUNTIME_PATH, body=None, *headers):
    text = json.dumps(body if body is not None else review(runtime()))
    lines = [f"POST {path} HTTP/1.1", "Host: webhook", "Content-Type: application/json", f"Content-Length: {len(text)}",
             *headers]
    return "\r\n".join(lines) + "\r\n\r\n" + text


def padded_review(size):
    body = review(runtime())
    body["request"]["object"]["metadata"]["annotations"] = {"pad": ""}
    body["request"]["object"]["metadata"]["annotations"]["pad"] = "x" * (size - len(json.dumps(body)))
    text = json.dumps(body)
    assert len(text) == size
    return text


def test_an_answer_has_the_form_that_the_api_server_wants(webhook):
    status, headers, body = webhook.post(RUNTIME_PATH + "?timeout=10s", review(runtime()))
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    assert body == {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                    "response": {"uid": "1f0b2c3d", "allowed": True}}


def test_a_denial_is_http_200(webhook):
    status, headers, body = webhook.post(RUNTIME_PATH, review(runtime(replicas=2)))
    assert status == 200
    assert "Retry-After" not in headers
    denial = body["response"]["status"]
    assert (denial["code"], denial["reason"]) == (422, "Invalid")
    assert denial["details"]["causes"][0]["field"] == "spec.template.spec.replicatedJobs[0].replicas"


def test_other_paths_are_not_found(webhook):
    for path in ("/", "/healthz", "/metrics", TRAIN_JOB_PATH + "/", "/../" + TRAIN_JOB_PATH):
        assert webhook.post(path, review(runtime()))[0] == 404


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_not_allowed(webhook, method):
    connection = webhook.connect()
    connection.request(method, TRAIN_JOB_PATH, "{}" if method == "PUT" else None)
    answer = connection.getresponse()
    assert answer.status == 405
    assert answer.headers["Allow"] == "POST"
    connection.close()


@pytest.mark.parametrize("media_type,want", [
    ("application/json", 200), ("application/json; charset=utf-8", 200), ("text/plain", 415),
    ("application/yaml", 415), ("", 415),
])
def test_only_json_is_read(webhook, media_type, want):
    assert webhook.post(RUNTIME_PATH, review(runtime()), {"Content-Type": media_type})[0] == want


@pytest.mark.parametrize("body", ["", "hello", "{}", "null", "[]", '{"kind": "AdmissionReview"}', "{" * 100000,
                                  b"\xff\xfe", '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}'])
def test_what_is_no_review_is_a_bad_request(webhook, body):
    status, headers, text = webhook.post(RUNTIME_PATH, body)
    assert status == 400
    assert headers["Content-Type"].startswith("text/plain")
    assert 0 < len(text) < 300


def test_a_body_needs_a_length_or_chunks(webhook):
    assert raw(webhook, f"POST {RUNTIME_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n")[0] == 411


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT])
def test_seven_mebibytes_are_read(webhook, size):
    status, _, body = webhook.post(RUNTIME_PATH, padded_review(size))
    assert status == 200 and body["response"]["allowed"]


def test_no_byte_more_than_seven_mebibytes_is_read(webhook):
    status, headers, _ = raw(webhook, request_text(RUNTIME_PATH).split("Content-Length")[0]
                             + f"Content-Length: {LIMIT + 1}\r\n\r\n")
    assert status == 413
    assert headers["Connection"] == "close"


def chunked(body, size):
    head = f"POST {RUNTIME_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked"
    parts = [body[i:i + size] for i in range(0, len(body), size)]
    return head + "\r\n\r\n" + "".join(f"{len(part):x}\r\n{part}\r\n" for part in parts) + "0\r\n\r\n"


def test_the_limit_holds_for_chunks_as_well(webhook):
    assert raw(webhook, chunked(padded_review(LIMIT), 1 << 20))[2]["response"]["allowed"]
    with webhook.socket() as connection:
        # The answer comes, and the end of the connection, before the last of it has been sent.
        try:
            connection.sendall(chunked(padded_review(LIMIT + 1), 1 << 20).encode())
        except OSError:
            pass
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 413


@pytest.mark.parametrize("size", [1, 100, 100000])
def test_chunks_are_read(webhook, size):
    assert raw(webhook, chunked(json.dumps(review(runtime())), size))[2]["response"]["allowed"]


def test_a_request_may_come_in_any_pieces(webhook):
    text = request_text().encode()
    assert raw(webhook, "", [text[i:i + 1] for i in range(len(text))])[2]["response"]["allowed"]
    for cut in range(1, len(text), 97):
        assert raw(webhook, "", [text[:cut], text[cut:]])[2]["response"]["allowed"]


def test_a_connection_serves_many_requests(webhook):
    connection = webhook.connect()
    for i in range(20):
        body = review(runtime(), uid=f"call-{i}")
        assert webhook.post(RUNTIME_PATH, body, connection=connection)[2]["response"]["uid"] == f"call-{i}"
        assert webhook.post("/nowhere", body, connection=connection)[0] == 404
        assert webhook.post(RUNTIME_PATH, "no", connection=connection)[0] == 400
    connection.close()


@pytest.mark.parametrize("changes,text", [
    ({"operation": "PATCH"}, "PATCH"),
    ({"object": "x"}, "request.object"),
    ({"object": None}, "request.object"),
    ({"kind": {"group": "", "version": "v1", "kind": "Pod"}}, "Pod"),
    ({"operation": "UPDATE"}, "request.oldObject"),
])
def test_what_makes_no_sense_is_denied_as_a_bad_request(webhook, changes, text):
    status, _, body = webhook.post(TRAIN_JOB_PATH, review(train_job(), **changes))
    assert status == 200
    assert body["response"]["uid"] == "1f0b2c3d" and not body["response"]["allowed"]
    assert body["response"]["status"]["code"] == 400
    assert body["response"]["status"]["reason"] == "BadRequest"
    assert text in body["response"]["status"]["message"]


@pytest.mark.parametrize("body", [
    review(None, "DELETE", train_job()),
    review(train_job("missing"), "CONNECT"),
    review(train_job("missing"), subResource="status"),
])
def test_what_is_not_judged_is_allowed(webhook, body):
    assert webhook.post(TRAIN_JOB_PATH, body)[2]["response"] == {"uid": "1f0b2c3d", "allowed": True}


def test_without_the_option_tokens_are_ignored(webhook, api):
    asked = len(api.gets)
    for headers in ({}, {"Authorization": "Bearer bad-token"}):
        assert webhook.post(RUNTIME_PATH, review(runtime()), headers)[0] == 200
    assert len(api.gets) == asked


def test_a_runtime_counts_the_moment_it_exists(webhook, api):
    refused = webhook.post(TRAIN_JOB_PATH, review(train_job("fresh")))[2]["response"]
    assert refused["status"]["code"] == 422
    assert refused["status"]["details"]["causes"][0]["field"] == "spec.runtimeRef"
    api.objects[f"{GROUP}/clustertrainingruntimes/fresh"] = runtime("fresh")
    assert webhook.post(TRAIN_JOB_PATH, review(train_job("fresh")))[2]["response"]["allowed"]


def test_a_slow_api_server_costs_a_verdict_and_not_the_call(webhook, api):
    api.delay = 5
    began = time.monotonic()
    body = webhook.post(TRAIN_JOB_PATH + "?timeout=1s", review(train_job()))[2]["response"]
    assert time.monotonic() - began < 1
    assert body["status"]["code"] == 503
    assert body["status"]["reason"] == "ServiceUnavailable"
    # The rest is not held up by it.
    assert webhook.post(RUNTIME_PATH, review(runtime()))[2]["response"]["allowed"]


def test_what_the_api_server_refuses_to_look_for_is_not_there(webhook, api):
    api.trouble = 400
    assert webhook.post(TRAIN_JOB_PATH, review(train_job()))[2]["response"]["status"]["code"] == 422
    api.trouble = None
    asked = len(api.gets)
    for name in ("a%b", "..", "a/b"):
        denial = webhook.post(TRAIN_JOB_PATH, review(train_job(name)))[2]["response"]["status"]
        assert denial["code"] == 422 and denial["details"]["causes"][0]["field"] == "spec.runtimeRef"
    assert len(api.gets) == asked


@pytest.mark.parametrize("code", [401, 403, 409, 500, 503])
def test_a_lookup_that_fails_is_no_verdict_about_the_object(webhook, api, code):
    api.trouble = code
    status, headers, body = webhook.post(TRAIN_JOB_PATH, review(train_job()))
    assert status == 200
    assert "Retry-After" not in headers
    denial = body["response"]["status"]
    assert body["response"]["uid"] == "1f0b2c3d" and not body["response"]["allowed"]
    assert (denial["code"], denial["reason"]) == (503, "ServiceUnavailable")
    # Who calls may be anybody: what the API server said is for the log.
    assert denial["message"].startswith("what this is judged by could not be read from the API server: try again")
    assert not any(word in json.dumps(denial) for word in ("no luck", "clustertrainingruntimes", "127.0.0.1", "plain"))
    assert "details" not in denial


def test_what_needs_no_lookup_is_judged_all_the_same(webhook, api):
    api.trouble = 500
    assert webhook.post(RUNTIME_PATH, review(runtime()))[2]["response"]["allowed"]
    relabelled = train_job()
    relabelled["metadata"]["labels"] = {"team": "blue"}
    assert webhook.post(TRAIN_JOB_PATH, review(relabelled, "UPDATE", train_job()))[2]["response"]["allowed"]


@pytest.mark.parametrize("runtime_name,allowed", [("plain", True), ("missing", False)])
def test_a_dry_run_gets_the_same_verdict(webhook, api, runtime_name, allowed):
    api.objects[f"{GROUP}/clustertrainingruntimes/plain"] = runtime()
    answers = [webhook.post(TRAIN_JOB_PATH, review(train_job(runtime_name), dryRun=dry_run))[2]["response"]
               for dry_run in (True, False)]
    assert answers[0] == answers[1]
    assert answers[0]["allowed"] == allowed


def test_a_job_that_has_no_name_yet_is_stamped(webhook):
    job = train_job()
    job["metadata"] = {"generateName": "job-", "namespace": "ns"}
    job["spec"]["runtimePatches"] = [{"manager": "acme.io/team"}]
    text = review({**job, "metadata": {**job["metadata"], "name": ""}}, name="", object=job)
    assert webhook.post(MUTATE_PATH, text)[2]["response"]["patch"]


def test_two_requests_may_come_at_once_on_one_connection(webhook):
    texts = [request_text(body=review(runtime(), uid=f"call-{i}")) for i in range(2)]
    with webhook.socket() as connection:
        connection.sendall("".join(texts).encode())
        for i in range(2):
            # Unbuffered, so that the first answer's reader leaves the second alone.
            answer = http.client.HTTPResponse(connection)
            answer.fp = connection.makefile("rb", 0)
            answer.begin()
            assert read_answer(answer)[2]["response"]["uid"] == f"call-{i}"


def test_equal_causes_are_told_once(webhook):
    offender = runtime()
    offender["spec"]["template"]["spec"]["replicatedJobs"][0]["replicas"] = 0
    denial = webhook.post(RUNTIME_PATH, review(offender))[2]["response"]["status"]
    assert len(denial["details"]["causes"]) == 1
    assert denial["message"].startswith('ClusterTrainingRuntime.trainer.kubeflow.org "plain" is invalid: spec.')
    assert denial["details"] == {"group": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "plain",
                                 "causes": denial["details"]["causes"]}


def test_patches_are_stamped(webhook):
    job = train_job()
    job["spec"]["runtimePatches"] = [{"manager": "acme.io/team"}]
    body = webhook.post(MUTATE_PATH, review(job))[2]["response"]
    assert body["allowed"] and body["patchType"] == "JSONPatch" and body["patch"]


def test_calls_are_counted(webhook):
    series = f'signalbox_admission_requests_total{{code="200",path="{RUNTIME_PATH}",verdict="allowed"}}'
    before = webhook.metric(series)
    webhook.post(RUNTIME_PATH, review(runtime()))
    assert webhook.metric(series) == before + 1
    assert webhook.metric(f'signalbox_admission_duration_seconds_count{{path="{RUNTIME_PATH}"}}') > before
    assert webhook.metric("signalbox_admission_in_flight") == 0


def test_paths_from_outside_make_no_series(webhook):
    series = 'signalbox_admission_requests_total{code="404",path="other",verdict="none"}'
    before = webhook.metric(series)
    count = webhook.admin("/metrics")[1].count("\n")
    for i in range(10):
        webhook.post(f"/made-up-{i}", "{}")
    assert webhook.metric(series) == before + 10
    assert webhook.admin("/metrics")[1].count("\n") == count


SECRET = "nobodys-business"


def test_verdicts_tell_of_a_runtime_no_more_than_what_its_parts_are_called(webhook, api):
    known = runtime()
    known["metadata"].update(labels={"team": SECRET}, annotations={"note": SECRET})
    pod = known["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod.update(nodeSelector={"zone": SECRET}, serviceAccountName=SECRET, volumes=[{"name": "data", "secret": {"secretName": SECRET}}])
    pod["containers"][0].update(image=SECRET, command=[SECRET], env=[{"name": "A", "value": SECRET}])
    api.objects[f"{GROUP}/clustertrainingruntimes/plain"] = known
    changes = [
        {"initializer": {"dataset": {"storageUri": "x"}, "model": {"storageUri": "x"}}},
        {"trainer": {"numProcPerNode": 8, "command": ["x"], "env": [{"name": "A", "value": "x"}]}},
        {"podTemplateOverrides": []},
    ] + [{"runtimePatches": [{"manager": "acme.io/x", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": job, "template": {"spec": {"template": {"spec": patch}}}}]}}}}]} for job, patch in [
            ("other", {}), ("node", {"containers": [{"name": "other"}]}), ("node", {"initContainers": [{"name": "node"}]}),
            ("node", {"volumes": [{"emptyDir": {}}]}), ("node", {"nodeSelector": {"$patch": "replace"}}),
            ("node", {"containers": [{"name": "node", "env": [{"name": "A", "value": "x"}]}]})]]
    denied = []
    for change in changes:
        job = train_job()
        job["spec"].update(change)
        body = webhook.post(TRAIN_JOB_PATH, review(job))[2]
        assert SECRET not in json.dumps(body)
        denied += [change] * (not body["response"]["allowed"])
    assert len(denied) >= 6
