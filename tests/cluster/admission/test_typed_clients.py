"""TrainJobs that a client reads into Go types and writes back, as Kueue does, on the real API server."""

import base64
import http.client
import json
import ssl

import pytest

import progress_deadlines
import typed_clients
from fault_proxy import Fault
from jobs import runtime, train_job
from rest import ApiError, Rest, conditions, wait_for

KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
MANAGER = "kueue.x-k8s.io/manager"
NO_PATCHES = "runtimePatches"  # an empty list of them has no effect
EMPTY = {"trainingRuntimeSpec": {"template": {"spec": {}}}}


# --- every field, by reviews that the test sends itself: Kueue would take too long to send as many ---

class Reviews:
    """Sends reviews to the running webhook."""

    def __init__(self, signalbox):
        context = ssl.create_default_context(cafile=signalbox.certificates / "ca.crt")
        self._connection = http.client.HTTPSConnection("127.0.0.1", signalbox.webhook.port_of("admission"), context=context)

    def update(self, user, stored, written):
        """Returns the object as it would be stored."""
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "operation": "UPDATE", "name": "a", "namespace": "default", "userInfo": {"username": user},
            "kind": {"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"},
            "object": written, "oldObject": stored}}
        self._connection.request("POST", "/mutate-trainer-kubeflow-org-v1alpha1-trainjob", json.dumps(review),
                                 {"Content-Type": "application/json"})
        response = json.loads(self._connection.getresponse().read())["response"]
        return typed_clients.patched(written, json.loads(base64.b64decode(response.get("patch", "W10="))))


def stored_jobs():
    """Returns [(path, TrainJob with this field)] for each field of the schema."""
    head = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "a", "namespace": "default"}}
    return [(path, {**head, "spec": spec}) for path, spec in typed_clients.specs() if path != NO_PATCHES or spec[path]]


def is_of_ours(path):
    """Returns whether no release of Kubeflow Trainer has the field."""
    return path == "ttlSecondsAfterFinished" or path.startswith("failurePolicy") or ".resourceClaims" in path or path.endswith("ontainers[].resources") \
        or "ontainers[].resources." in path


@pytest.mark.parametrize("release", typed_clients.RELEASES)
def test_what_a_typed_client_drops_of_any_field_is_put_back(signalbox, release):
    reviews = Reviews(signalbox)
    jobs = stored_jobs()
    written = typed_clients.round_trip(release, [job for _, job in jobs])
    lost = [path for (path, stored), after in zip(jobs, written, strict=True)
            if reviews.update(KUEUE, stored, after)["spec"] != stored["spec"]]
    assert lost == []
    assert sum(job["spec"] != after["spec"] for (_, job), after in zip(jobs, written)) > 300


def test_what_a_client_that_has_all_fields_drops_is_put_back_for_every_user(signalbox):
    reviews = Reviews(signalbox)
    jobs = [(path, job) for path, job in stored_jobs() if not is_of_ours(path)]
    written = typed_clients.round_trip("2.3", [job for _, job in jobs])
    assert [path for (path, stored), after in zip(jobs, written, strict=True)
            if reviews.update("jane", stored, after)["spec"] != stored["spec"]] == []


def test_no_typed_client_drops_a_progress_deadline():
    """It is a pair of annotations for that reason."""
    limits = {progress_deadlines.SECONDS: "1800", progress_deadlines.ACTION: "Fail"}
    job = {**train_job("a"), "metadata": {"name": "a", "namespace": "default", "annotations": limits}}
    for release in typed_clients.RELEASES:
        (written,) = typed_clients.round_trip(release, [job])
        assert written["metadata"]["annotations"] == limits


# --- what the API server stores ---

POD = {"terminationGracePeriodSeconds": 0, "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}],
       "volumes": [{"name": "v", "configMap": {"name": "c", "items": []}}], "tolerations": [{"key": "", "operator": "Exists"}],
       "containers": [{"name": "node", "resources": {"claims": [{"name": "gpu"}]},
                       "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": False}]}]}
TRAINER = {"image": "registry.example.com/train:1", "numNodes": 1, "command": [], "args": [], "env": [{"name": "A", "value": ""}],
           "resourcesPerNode": {"limits": {}, "requests": {"cpu": "1000m"}}}


def patch_of(manager, pod):
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]}}}}


def queued(rest, name, pod, **spec):
    made = runtime(name)
    made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["tolerations"] = [{"key": "mine"}]
    rest.create(made)
    return rest.create(train_job(name, name, suspend=True, labels={"kueue.x-k8s.io/queue-name": "team"},
                                 runtimePatches=[patch_of("example.com/team", pod), {"manager": MANAGER, **EMPTY}], **spec))


@pytest.fixture
def kueue(kubeconfig):
    """Returns a client with Kueue's service account."""
    return Rest(kubeconfig, impersonate=KUEUE)


def entry(job, manager):
    return next((each for each in job["spec"]["runtimePatches"] if each["manager"] == manager), None)


def put(kueue, release, name, **changes):
    """Reads the object, applies functions to fields of its spec, and writes it. Tries again after a conflict."""
    def written():
        (job,) = typed_clients.round_trip(release, [kueue.get("trainjobs", name)])
        for field, change in changes.items():
            job["spec"][field] = change(job["spec"][field])
        try:
            return kueue.replace("trainjobs", job)
        except ApiError as error:
            if error.code != 409:
                raise
    wait_for("a write without a conflict", written)


def admit(kueue, release, name):
    """Admits like Kueue 0.19.2: its patch by one PUT, then `suspend` by another."""
    flavor = patch_of(MANAGER, {"nodeSelector": {"zone": "a"}, "tolerations": [{"key": "flavor"}]})
    put(kueue, release, name, runtimePatches=lambda entries: [flavor if each["manager"] == MANAGER else each for each in entries])
    put(kueue, release, name, suspend=lambda _: False)


def pod_of(rest, name):
    """Returns the Pod of the JobSet, once that is not suspended."""
    job_set = wait_for("the JobSet to run", lambda: (found := rest.get("jobsets", name)) and not found["spec"]["suspend"] and found)
    return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


@pytest.mark.parametrize("release", typed_clients.RELEASES)
def test_a_job_with_fields_that_kueue_does_not_know_is_admitted_and_keeps_them(signalbox, rest, kueue, release):
    name = f"typed-{release[-1]}"
    before = queued(rest, name, POD, trainer=TRAINER)
    admit(kueue, release, name)
    after = rest.get("trainjobs", name)
    assert {**after["spec"], "suspend": True, "runtimePatches": None} == {**before["spec"], "runtimePatches": None}
    assert entry(after, "example.com/team") == entry(before, "example.com/team")
    pod = pod_of(rest, name)
    assert pod["resourceClaims"] == POD["resourceClaims"]
    assert pod["containers"][0]["resources"]["claims"] == [{"name": "gpu"}]


def test_a_merge_patch_by_kueue_keeps_them_too_and_a_user_can_remove_them(signalbox, rest, kueue):
    def pod_of_entry():
        jobs = entry(rest.get("trainjobs", "patched"), "example.com/team")["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        return jobs[0]["template"]["spec"]["template"]["spec"]
    claims = {"resourceClaims": POD["resourceClaims"]}
    queued(rest, "patched", claims)
    (typed,) = typed_clients.round_trip("2.3", [rest.get("trainjobs", "patched")])
    kueue.patch("trainjobs", "patched", {"spec": {"runtimePatches": typed["spec"]["runtimePatches"]}})
    assert pod_of_entry() == claims
    rest.patch("trainjobs", "patched", {"spec": {"runtimePatches": [patch_of("example.com/team", {}), {"manager": MANAGER, **EMPTY}]}})
    assert pod_of_entry() == {}


def test_kueue_s_tolerations_are_added_to_the_runtime_s(signalbox, rest, kueue):
    queued(rest, "tolerant", {})
    admit(kueue, "2.2", "tolerant")
    assert pod_of(rest, "tolerant")["tolerations"] == [{"key": "mine"}, {"key": "flavor"}]


# --- kubectl apply ---

def test_applying_a_manifest_again_keeps_kueue_s_entry_waiting_or_running(signalbox, rest, kueue, kubectl, tmp_path):
    rest.create(runtime())
    manifest = train_job("applied", seconds="never", labels={"kueue.x-k8s.io/queue-name": "team"})
    own = manifest["spec"]["runtimePatches"] = [patch_of("example.com/team", {"nodeSelector": {"kubernetes.io/os": "linux"}})]
    file = tmp_path / "job.json"

    def job():
        return rest.get("trainjobs", "applied")

    def apply(**labels):
        manifest["metadata"]["labels"] |= labels
        file.write_text(json.dumps(manifest))
        kubectl("apply", "-f", str(file))

    def set_suspend(suspend):
        rest.patch("trainjobs", "applied", {"spec": {"suspend": suspend}})
        wait_for("the condition Suspended", lambda: conditions(job()).get("Suspended", {}).get("status") == str(suspend))

    def patched():
        """Tries to add the entry. Patches may change only while nothing is active."""
        try:
            return kueue.patch("trainjobs", "applied", {"spec": {"runtimePatches": [*own, {"manager": MANAGER, **EMPTY}]}})
        except ApiError as error:
            assert "still has active Pods" in str(error)
    apply()
    set_suspend(True)
    wait_for("Kueue to add its entry", patched)
    apply(a="b")
    assert entry(job(), MANAGER)
    set_suspend(False)
    apply(a="c")
    assert entry(job(), MANAGER)


def test_an_entry_can_be_removed_with_kubectl_patch_although_the_manifest_never_had_it(signalbox, rest, kubectl, tmp_path):
    rest.create(runtime())
    manifest = train_job("cleared", suspend=True)
    own = manifest["spec"]["runtimePatches"] = [patch_of("example.com/team", {})]
    (tmp_path / "job.json").write_text(json.dumps(manifest))
    kubectl("apply", "-f", str(tmp_path / "job.json"))
    for entries, managers in (([*own, {"manager": MANAGER, **EMPTY}], 2), (own, 1)):
        kubectl("patch", "trainjob", "cleared", "--type=merge", "-p", json.dumps({"spec": {"runtimePatches": entries}}))
        assert len(rest.get("trainjobs", "cleared")["spec"]["runtimePatches"]) == managers


# --- a runtime that the watch does not have yet ---

def test_a_job_that_needs_the_newest_runtime_is_not_validated_against_an_older_one(signalbox, rest, proxy):
    made = rest.create(runtime("changing"))
    refused = train_job("first", "changing", suspend=True, runtimePatches=[
        {"manager": "example.com/test", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "late"}]}}}}])
    with pytest.raises(ApiError) as caught:
        rest.create(refused)
    assert caught.value.code == 422
    proxy.choose = lambda request: Fault(lag=5) if request.is_watch and "runtimes" in request.path else None
    proxy.reset_everything()
    try:
        more = {"name": "late", "template": {"spec": {"template": {"spec": {"containers": [{"name": "x", "image": "i"}]}}}}}
        made["spec"]["template"]["spec"]["replicatedJobs"].append(more)
        rest.replace("clustertrainingruntimes", made)
        rest.create(refused)
    finally:
        proxy.choose = lambda request: None
        proxy.reset_everything()
