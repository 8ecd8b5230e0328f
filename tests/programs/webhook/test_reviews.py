"""AdmissionReview over a real TLS connection: verdicts, and the lookups that they need."""

import json
import time

import pytest
from webhook_program import GROUP, MUTATE_PATH, RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, Webhook, review, runtime, train_job


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
    api.error_status = None
    return webhook


@pytest.fixture
def api(place, webhook):
    return place[0]


def test_a_response_has_the_form_that_the_api_server_requires(webhook):
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


def test_without_the_option_tokens_are_ignored(webhook, api):
    asked = len(api.gets)
    for headers in ({}, {"Authorization": "Bearer bad-token"}):
        assert webhook.post(RUNTIME_PATH, review(runtime()), headers)[0] == 200
    assert len(api.gets) == asked


def test_a_runtime_is_used_as_soon_as_it_exists(webhook, api):
    refused = webhook.post(TRAIN_JOB_PATH, review(train_job("fresh")))[2]["response"]
    assert refused["status"]["code"] == 422
    assert refused["status"]["details"]["causes"][0]["field"] == "spec.runtimeRef"
    api.objects[f"{GROUP}/clustertrainingruntimes/fresh"] = runtime("fresh")
    assert webhook.post(TRAIN_JOB_PATH, review(train_job("fresh")))[2]["response"]["allowed"]


def test_a_slow_api_server_denies_the_review_in_time(webhook, api):
    api.delay = 5
    began = time.monotonic()
    body = webhook.post(TRAIN_JOB_PATH + "?timeout=1s", review(train_job()))[2]["response"]
    assert time.monotonic() - began < 1
    assert body["status"]["code"] == 503
    assert body["status"]["reason"] == "ServiceUnavailable"
    # Other reviews are not delayed.
    assert webhook.post(RUNTIME_PATH, review(runtime()))[2]["response"]["allowed"]


@pytest.mark.parametrize("code", [401, 403, 409, 500, 503])
def test_a_lookup_that_fails_is_no_verdict_about_the_object(webhook, api, code):
    api.error_status = code
    status, headers, body = webhook.post(TRAIN_JOB_PATH, review(train_job()))
    assert status == 200
    assert "Retry-After" not in headers
    denial = body["response"]["status"]
    assert body["response"]["uid"] == "1f0b2c3d" and not body["response"]["allowed"]
    assert (denial["code"], denial["reason"]) == (503, "ServiceUnavailable")
    # Callers may be unauthenticated, so the API server's message is only in the log.
    assert denial["message"].startswith("what this is judged by could not be read from the API server: try again")
    assert not any(word in json.dumps(denial) for word in ("no luck", "clustertrainingruntimes", "127.0.0.1", "plain"))
    assert "details" not in denial


def test_reviews_without_a_lookup_are_decided_all_the_same(webhook, api):
    api.error_status = 500
    assert webhook.post(RUNTIME_PATH, review(runtime()))[2]["response"]["allowed"]
    relabelled = train_job()
    relabelled["metadata"]["labels"] = {"team": "blue"}
    assert webhook.post(TRAIN_JOB_PATH, review(relabelled, "UPDATE", train_job()))[2]["response"]["allowed"]


def test_a_job_that_has_no_name_yet_is_defaulted(webhook):
    job = train_job()
    job["metadata"] = {"generateName": "job-", "namespace": "ns"}
    job["spec"]["runtimePatches"] = [{"manager": "acme.io/team"}]
    text = review({**job, "metadata": {**job["metadata"], "name": ""}}, name="", object=job)
    assert webhook.post(MUTATE_PATH, text)[2]["response"]["patch"]


SECRET = "nobodys-business"


def test_verdicts_reveal_only_the_names_in_a_runtime(webhook, api):
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
