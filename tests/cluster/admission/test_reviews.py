"""How reviews depend on the webhook's lookups, through the real API server: a proxy stands between it and the webhook. The
reconciler runs as well, so that snapshots and JobSets are real."""

import contextlib
import copy
import json
import time

import pytest

from fault_proxy import Fault
from jobs import runtime, train_job
from progress import has_begun
from rest import ApiError, wait_for

UNKNOWN_JOB = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name"
TIMEOUT = 10  # seconds that the API server waits for the webhook; a second less is the budget of lookups


@contextlib.contextmanager
def lookups(proxy, fault):
    """Injects the fault into all reads of single objects of Signalbox's kinds; watches continue."""
    proxy.choose = lambda request: fault if request.method == "GET" and not request.is_watch else None
    try:
        yield
    finally:
        proxy.choose = lambda request: None


def refusal(act):
    with pytest.raises(ApiError) as caught:
        act()
    return caught.value


def causes(error):
    return [(cause["field"], cause["message"]) for cause in error.status["details"].get("causes", [])]


def patch_of(job):
    return [{"manager": "example.com/test", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": job, "template": {"metadata": {"labels": {"team": "blue"}}}}]}}}}]


def created(rest, name):
    return wait_for(f"{name} to be built", lambda: has_begun(rest.get("trainjobs", name)))


def without_runtime(rest, name, **spec):
    """Returns a suspended TrainJob with its objects, whose runtime is deleted."""
    rest.create(runtime(name))
    job = train_job(name, name, suspend=True, **spec)
    job["metadata"]["finalizers"] = ["example.com/hold"]
    rest.create(job)
    created(rest, name)
    rest.delete("clustertrainingruntimes", name)
    wait_for("the runtime to go", lambda: rest.get("clustertrainingruntimes", name) is None)


def test_without_its_runtime_a_train_job_can_still_be_labelled_resumed_suspended_and_deleted(signalbox, rest, proxy):
    without_runtime(rest, "orphan")
    # None of these needs a lookup.
    with lookups(proxy, Fault(status=500)):
        for change in ({"metadata": {"labels": {"team": "blue"}}}, {"spec": {"suspend": False}}, {"spec": {"suspend": True}},
                       {"metadata": {"annotations": {"note": "x"}}}):
            rest.patch("trainjobs", "orphan", change)
    rest.delete("trainjobs", "orphan", propagation="Foreground")
    held = rest.get("trainjobs", "orphan")["metadata"]
    assert "deletionTimestamp" in held and {"foregroundDeletion", "example.com/hold"} == set(held["finalizers"])
    rest.patch("trainjobs", "orphan", {"metadata": {"finalizers": ["foregroundDeletion"]}})
    wait_for("the garbage collector to delete it", lambda: rest.get("trainjobs", "orphan") is None, timeout=60)


CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validator.trainer.kubeflow.org"


def configure_reviews(rest, field, value):
    """Changes a field of the webhook that validates TrainJobs."""
    hooks = [hook["name"] for hook in rest.request("GET", CONFIGURATION)["webhooks"]]
    index = hooks.index("validator.trainjob.trainer.kubeflow.org")
    rest.request("PATCH", CONFIGURATION, [{"op": "replace", "path": f"/webhooks/{index}/{field}", "value": value}],
                 "application/json-patch+json")


def is_accepted(act):
    try:
        act()
    except ApiError:
        return False
    return True


def store_unreviewed(rest, job):
    """Stores a TrainJob that the webhook denies, as an older one may have stored it."""
    configure_reviews(rest, "objectSelector", {"matchExpressions": [{"key": "signalbox.test/unreviewed", "operator": "DoesNotExist"}]})
    try:
        job["metadata"]["labels"]["signalbox.test/unreviewed"] = "yes"
        wait_for("the API server to have the selector", lambda: is_accepted(lambda: rest.create(job)))
    finally:
        configure_reviews(rest, "objectSelector", {})
    another = {**job, "metadata": {**job["metadata"], "name": "another"}}
    wait_for("the API server to have no selector", lambda: not is_accepted(lambda: rest.create(another, dry_run=True)))


def test_nothing_is_denied_of_a_train_job_that_is_being_deleted(signalbox, rest, proxy):
    rest.create(runtime("strict"))
    job = train_job("leaving", "strict", suspend=True, runtimePatches=patch_of("gone"))
    job["metadata"]["finalizers"] = ["example.com/hold"]
    store_unreviewed(rest, job)

    def change(spec, **metadata):
        rest.patch("trainjobs", "leaving", {"metadata": metadata, "spec": spec})
    absent = {"runtimePatches": patch_of("absent")}
    assert [field for field, _ in causes(refusal(lambda: change(absent)))] == [UNKNOWN_JOB]
    # The time of the deletion is the API server's alone.
    forged = refusal(lambda: change(absent, deletionTimestamp="2026-01-15T10:00:00Z", deletionGracePeriodSeconds=0))
    assert "metadata.deletionTimestamp" in [field for field, _ in causes(forged)]
    rest.delete("trainjobs", "leaving")
    with signalbox.reviewed("--feature-gates=TrainJobRunPolicy=false"), lookups(proxy, Fault(status=500)):
        change(absent)
        change({"ttlSecondsAfterFinished": 60})
        (stored,) = rest.get("trainjobs", "leaving")["spec"]["runtimePatches"]
        assert stored["trainingRuntimeSpec"] == absent["runtimePatches"][0]["trainingRuntimeSpec"]
        change({}, finalizers=None)
    wait_for("it to go", lambda: rest.get("trainjobs", "leaving") is None)


def test_a_changed_patch_is_judged_by_the_snapshot_and_not_by_the_runtime_as_it_is_now(signalbox, rest):
    live = rest.create(runtime("moving"))
    rest.create(train_job("moved", "moving", suspend=True))
    created(rest, "moved")
    live["spec"]["template"]["spec"]["replicatedJobs"].append(
        copy.deepcopy(live["spec"]["template"]["spec"]["replicatedJobs"][0]) | {"name": "added"})
    live["spec"]["template"]["spec"]["replicatedJobs"][1]["template"].pop("metadata")
    rest.replace("clustertrainingruntimes", live)
    error = refusal(lambda: rest.patch("trainjobs", "moved", {"spec": {"runtimePatches": patch_of("added")}}))
    assert [field for field, _ in causes(error)] == [UNKNOWN_JOB]
    rest.create(train_job("newcomer", "moving", suspend=True, runtimePatches=patch_of("added")))
    rest.patch("trainjobs", "moved", {"spec": {"runtimePatches": patch_of("node")}})


def test_a_snapshot_of_another_owner_is_not_used(signalbox, rest):
    """Before a TrainJob has its JobSet, its own snapshot replaces a deleted runtime, but no other object of that name does."""
    blueprint = rest.create(runtime("stolen"))
    signalbox.stop_reconciler()
    job = rest.create(train_job("victim", "stolen", suspend=True))
    rest.delete("clustertrainingruntimes", "stolen")
    snapshot = "victim-runtime-snapshot"
    rest.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": snapshot}, "data": {"runtime": json.dumps(blueprint)}})

    def change():
        rest.patch("trainjobs", "victim", {"spec": {"runtimePatches": patch_of("node")}})
    # The webhook's watch may still show the runtime for a moment.
    def is_refused():
        try:
            rest.request("PATCH", rest.path("trainjobs", "victim") + "?dryRun=All",
                         {"spec": {"runtimePatches": patch_of("node")}}, "application/merge-patch+json")
        except ApiError as error:
            return error
        return None
    assert [field for field, _ in causes(wait_for("the webhook to see the deletion of the runtime", is_refused))] == ["spec.runtimeRef"]
    owner = {"apiVersion": job["apiVersion"], "kind": "TrainJob", "name": "victim", "uid": job["metadata"]["uid"], "controller": True}
    rest.patch("configmaps", snapshot, {"metadata": {"ownerReferences": [owner]}})
    change()


def could_not_read(error):
    """Returns whether the webhook has answered that a lookup failed."""
    message = error.status["message"]
    assert error.code == 503 and error.status["reason"] == "ServiceUnavailable", error
    assert message.startswith('admission webhook "validator.trainjob.trainer.kubeflow.org" denied the request: ')
    assert "could not be read from the API server: try again" in message
    # The details are only in the log.
    assert not any(word in message for word in ("made up by a test", "not-watched-yet", "127.0.0.1"))
    return True


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=403), Fault(lost=True)], ids=["500", "403", "reset"])
def test_a_lookup_that_fails_is_answered_in_time_and_with_503(signalbox, rest, proxy, fault):
    with lookups(proxy, fault):
        began = time.monotonic()
        error = refusal(lambda: rest.create(train_job("hurried", "not-watched-yet"), dry_run=True))
        took = time.monotonic() - began
    assert could_not_read(error)
    assert took < TIMEOUT, "else the API server times out first, and its message lacks the reason"
    # The next request is reviewed as usual.
    assert refusal(lambda: rest.create(train_job("hurried", "not-watched-yet"), dry_run=True)).code == 422


def test_a_cached_runtime_needs_no_lookup(signalbox, rest, proxy):
    rest.create(runtime("known"))
    wait_for("the runtime in the webhook's cache", lambda: accepted_without_lookups(rest, proxy, "known"))


def accepted_without_lookups(rest, proxy, name):
    with lookups(proxy, Fault(status=500)):
        try:
            return rest.create(train_job("quick", name), dry_run=True)
        except ApiError as error:
            assert error.code == 503, error
            return None


@pytest.mark.parametrize("kind", ["ClusterTrainingRuntime", "TrainingRuntime"])
def test_a_runtime_is_usable_at_once_although_the_webhooks_watch_is_behind(signalbox, rest, proxy, kind):
    proxy.choose = lambda request: Fault(lag=60) if request.is_watch else None
    try:
        proxy.reset_everything()
        rest.create(runtime("late", kind=kind))
        rest.create(train_job("early", "late", kind=kind), dry_run=True)
    finally:
        proxy.choose = lambda request: None
        proxy.reset_everything()
        rest.delete(f"{kind.lower()}s", "late")


@pytest.mark.parametrize("runtime_name, code", [("plain-dry", 201), ("no-such-runtime", 422)])
def test_a_dry_run_has_the_same_verdict_and_leaves_nothing(signalbox, rest, runtime_name, code):
    rest.create(runtime("plain-dry"))
    codes = []
    for dry_run in (True, False):
        try:
            stored = rest.create(train_job("dry", runtime_name, seconds=1, suspend=True), dry_run=dry_run)
            assert stored["spec"]["runtimePatches"][0]["time"].endswith("Z")
            codes.append(201)
        except ApiError as error:
            codes.append(error.code)
        assert dry_run is False or rest.get("trainjobs", "dry") is None
    assert codes == [code, code]


def test_a_slow_lookup_ends_with_the_timeout_of_the_configuration(signalbox, rest, proxy):
    """The time that other timeouts leave: tests/unit/admission/handler_test.cpp."""
    seconds = 3

    def set_timeout(value):
        configure_reviews(rest, "timeoutSeconds", value)

    def answered():
        began = time.monotonic()
        error = refusal(lambda: rest.create(train_job("hurried", "not-watched-yet"), dry_run=True))
        assert could_not_read(error)
        return time.monotonic() - began < seconds
    set_timeout(seconds)
    try:
        with lookups(proxy, Fault(delay=60)):
            wait_for("the API server to use the timeout", answered, timeout=60)
    finally:
        set_timeout(TIMEOUT)
