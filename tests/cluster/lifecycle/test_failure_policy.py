"""Failure policies of runtimes and TrainJobs, with the real controllers of JobSet and of Jobs. The test bed's nodes run Pods until a
test lets them fail."""

import contextlib
import copy

import pytest

import devices
from jobs import runtime, train_job
from progress import delete_jobs, end_pods, events, pods, resume, running_pods, suspend, uid, until, until_held, until_runs
from rest import ApiError, true_conditions, wait_for

GATE = "--feature-gates=TrainJobFailurePolicy=true"
together = pytest.mark.together(among=GATE, after=delete_jobs)
FAIL_AT_3 = {"action": "FailTrainJob", "onExitCodes": {"containerName": "node", "operator": "In", "values": [3, 42]}}


@pytest.fixture(scope="module", autouse=True)
def gate(installed):
    with installed.reviewed(GATE):
        yield


@pytest.fixture
def nothing_left(rest):
    yield
    delete_jobs(rest)


def started(rest, name, former=(), of=""):
    """Returns a Pod that runs and is none of the former; `of`: of this replicated job."""
    def look():
        return next((pod for pod in running_pods(rest, name) if uid(pod) not in former and of in (
            "", pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"])), None)
    return wait_for(f"a running pod of {name}", look)


def known(rest, name, former):
    return {*former, *map(uid, pods(rest, name))}


def fail_pod(rest, pod, code, conditions=()):
    """Writes the status of a Pod that has failed, as a kubelet does."""
    statuses = [{**status, "ready": False, "started": False, "state": {"terminated": {
        "exitCode": code, "reason": "Error", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}}}
        for status in pod["status"]["containerStatuses"]]
    rest.patch("pods", pod["metadata"]["name"], {"status": {
        "phase": "Failed", "containerStatuses": statuses,
        "conditions": [*pod["status"].get("conditions", []), *conditions]}}, subresource="status")


def fail(rest, name, code=1, former=(), conditions=(), of=""):
    """Lets a Pod of a TrainJob fail. Returns the UIDs of all Pods so far."""
    pod = started(rest, name, former, of)
    present = known(rest, name, former)
    fail_pod(rest, pod, code, conditions)
    return present


def disrupt(rest, name, how, former=()):
    """Lets how(pod) disrupt a Pod of a TrainJob. Returns the UIDs of all Pods so far, and the reason of the condition with which it fails."""
    pod = started(rest, name, former)
    present = known(rest, name, former)
    how(pod)

    def look():
        found = rest.get("pods", pod["metadata"]["name"])
        return next(((found, each) for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"), None)
    disrupted, condition = wait_for("the condition of a disrupted Pod", look)
    fail_pod(rest, disrupted, 143)
    return present, condition["reason"]


def evict(rest):
    """Returns a disruption: an eviction by the API."""
    def how(pod):
        name = pod["metadata"]["name"]
        rest.request("POST", rest.path("pods", name) + "/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": rest.namespace}})
    return how


@contextlib.contextmanager
def taint(rest):
    """Yields a disruption: a taint of the Pod's node until the end of the context."""
    tainted = []

    def how(pod):
        tainted.append(pod["spec"]["nodeName"])
        rest.patch("nodes", tainted[-1], {"spec": {"taints": [{"key": "signalbox.test/broken", "effect": "NoExecute"}]}})
    try:
        yield how
    finally:
        for node in tainted:
            rest.patch("nodes", node, {"spec": {"taints": None}})


def counters(rest, name):
    status = rest.get("trainjobs", name)["status"]
    return status.get("restarts", 0), status.get("restartsCountTowardsMax", 0)


def until_counted(rest, name, want):
    wait_for(f"{name} to have restarted {want} times", lambda: counters(rest, name) == want)


def until_noted(rest, name, want):
    """Waits for exactly these restarts in the job's events, which are written after its status."""
    wait_for("the events", lambda: {event["note"].partition(":")[0] for event in events(rest, name, "TrainJobRestarted")} == want)


def failed(rest, name, reason):
    return true_conditions(until(rest, name, "Failed", reason))["Failed"]


@together
def test_an_exit_code_of_a_rule_fails_the_job_at_once(signalbox, rest):
    rest.create(runtime("strict", runPolicy={"failurePolicy": {"maxRestarts": 5, "rules": [
        {"action": "RestartTrainJob", "onPodConditions": [{"type": "ConfigIssue"}]}, FAIL_AT_3]}}))
    rest.create(train_job("hopeless", "strict", seconds="never"))
    fail(rest, "hopeless", 42)
    assert "node-0" in failed(rest, "hopeless", "FailJobSetFailurePolicyAction")["message"]
    assert counters(rest, "hopeless") == (0, 0)


OUTCOMES = {"FailTrainJob": None, "RestartTrainJob": (1, 1), "RestartTrainJobAndIgnoreMaxRestarts": (1, 0)}


@together
def test_each_action_is_taken_for_an_exit_code_and_for_a_condition(signalbox, rest):
    kinds = {"code": ({"onExitCodes": {"operator": "NotIn", "values": [0, 1]}}, {"code": 7}),
             "condition": ({"onPodConditions": [{"type": "example.com/Slow", "status": "False"}]},
                           {"conditions": [{"type": "example.com/Slow", "status": "False"}]})}
    jobs = {}
    for number, action in enumerate(OUTCOMES):
        for kind, (when, failure) in kinds.items():
            jobs[f"{kind}-{number}"] = (action, failure)
            rest.create(runtime(f"{kind}-{number}", runPolicy={"failurePolicy": {"maxRestarts": 1, "rules": [{"action": action, **when}]}}))
            rest.create(train_job(f"{kind}-{number}", f"{kind}-{number}", seconds="never"))
    for name, (_, failure) in jobs.items():
        fail(rest, name, **failure)
    for name, (action, _) in jobs.items():
        if OUTCOMES[action]:
            until_counted(rest, name, OUTCOMES[action])
        else:
            failed(rest, name, "FailJobSetFailurePolicyAction")


@together
def test_a_rule_has_the_place_that_it_has_in_each_job(signalbox, rest):
    """The first rule is for a container of the second job alone, so the others are one place further down there."""
    made = runtime("two-jobs", runPolicy={"failurePolicy": {"maxRestarts": 5, "rules": [
        {"action": "FailTrainJob", "onExitCodes": {"containerName": "side", "operator": "In", "values": [9]}},
        {"action": "RestartTrainJobAndIgnoreMaxRestarts", "onExitCodes": {"operator": "In", "values": [7]}}]}})
    made["spec"]["template"]["spec"]["replicatedJobs"].append({"name": "side", "template": {"spec": {"template": {
        "metadata": {"labels": {"signalbox.test/run-seconds": "never"}},
        "spec": {"containers": [{"name": "side", "image": "registry.example.com/side:1"}]}}}}})
    rest.create(made)
    rest.create(train_job("paired", "two-jobs", seconds="never"))
    former = fail(rest, "paired", 7, of="node")
    until_counted(rest, "paired", (1, 0))
    former = fail(rest, "paired", 7, former, of="side")
    until_counted(rest, "paired", (2, 0))
    former = fail(rest, "paired", 9, former, of="node")
    until_counted(rest, "paired", (3, 1))
    fail(rest, "paired", 9, former, of="side")
    failed(rest, "paired", "FailJobSetFailurePolicyAction")


@together
def test_other_failures_restart_the_job_until_the_maximum_and_each_is_reported(signalbox, rest, kubectl):
    rest.create(runtime("lenient", runPolicy={"failurePolicy": {"maxRestarts": 9, "rules": [FAIL_AT_3]}}))
    rest.create(train_job("unlucky", "lenient", seconds="never", failurePolicy={"maxRestarts": 1}))
    first = fail(rest, "unlucky")
    until_counted(rest, "unlucky", (1, 1))
    assert "1" in kubectl("get", "trainjob", "unlucky", "-o", "wide").splitlines()[1].split()
    note = wait_for("the event", lambda: events(rest, "unlucky", "TrainJobRestarted"))[0]
    assert note["type"] == "Warning"
    assert note["note"].startswith("restart 1, 1 of 1 counted: ") and "unlucky-node-0" in note["note"]
    fail(rest, "unlucky", former=first)
    failed(rest, "unlucky", "ReachedMaxRestarts")
    assert counters(rest, "unlucky") == (1, 1)


@together
def test_a_disruption_restarts_the_job_and_does_not_count(signalbox, rest):
    rest.create(runtime("patient", runPolicy={"failurePolicy": {"maxRestarts": 0}}))
    rest.create(train_job("evicted", "patient", seconds="never"))
    disrupted = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    former = fail(rest, "evicted", 143, conditions=disrupted)
    until_counted(rest, "evicted", (1, 0))
    former, _ = disrupt(rest, "evicted", evict(rest), former)
    until_counted(rest, "evicted", (2, 0))
    assert "Failed" not in true_conditions(rest.get("trainjobs", "evicted"))
    fail(rest, "evicted", 1, former)
    failed(rest, "evicted", "ReachedMaxRestarts")
    assert counters(rest, "evicted") == (2, 0)


def measured(signalbox):
    return [signalbox.reconciler.metric("signalbox_restarts_total", f'counted="{counted}"') for counted in ("true", "false")]


def test_taints_of_devices_and_nodes_restart_the_job_and_do_not_count_but_its_own_failures_do(signalbox, rest, admin, nothing_left):
    counted, uncounted = measured(signalbox)
    devices.install(admin, "fragile")
    devices.create_template(rest, "fragile")
    claiming = runtime("claiming-failures", runPolicy={"failurePolicy": {"maxRestarts": 1}})
    devices.claim(claiming["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"], "fragile")
    rest.create(claiming)
    rest.create(train_job("tainted", "claiming-failures", seconds="never"))

    broken = []

    def break_device(pod):
        broken.extend(devices.allocated(rest))
        devices.taint(admin, broken[0])
    former, reason = disrupt(rest, "tainted", break_device)
    assert reason == "DeletionByDeviceTaintManager"
    until_counted(rest, "tainted", (1, 0))
    wait_for("another device", lambda: {*devices.allocated(rest)} - {*broken})
    with taint(rest) as break_node:
        former, reason = disrupt(rest, "tainted", break_node, former)
        assert reason == "DeletionByTaintManager"
        until_counted(rest, "tainted", (2, 0))
    former = fail(rest, "tainted", former=former)
    until_counted(rest, "tainted", (3, 1))
    until_noted(rest, "tainted", {"restart 1, 0 of 1 counted", "restart 2, 0 of 1 counted", "restart 3, 1 of 1 counted"})
    assert measured(signalbox) == [counted + 1, uncounted + 2]
    fail(rest, "tainted", former=former)
    failed(rest, "tainted", "ReachedMaxRestarts")
    assert counters(rest, "tainted") == (3, 1)


@together
def test_what_decides_about_failures_beside_a_policy_is_denied(signalbox, rest):
    both = runtime("decides-twice", runPolicy={"failurePolicy": {}})
    both["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 1}
    with pytest.raises(ApiError, match="cannot be beside spec.runPolicy.failurePolicy"):
        rest.create(both)
    with pytest.raises(ApiError, match="no job of the runtime has such a container"):
        rest.create(runtime("nowhere", runPolicy={"failurePolicy": {"rules": [
            {"action": "FailTrainJob", "onExitCodes": {"containerName": "gone", "operator": "In", "values": [1]}}]}}))
    del both["spec"]["runPolicy"]
    rest.create(both)
    with pytest.raises(ApiError, match="spec.template.spec.failurePolicy of the runtime decides"):
        rest.create(train_job("overruled", "decides-twice", failurePolicy={"maxRestarts": 1}))


@together
def test_a_new_job_set_refills_no_budget(signalbox, rest):
    rest.create(runtime("counted", runPolicy={"failurePolicy": {"maxRestarts": 2}}))
    rest.create(train_job("resumed", "counted", seconds="never"))
    former = fail(rest, "resumed")
    until_counted(rest, "resumed", (1, 1))
    until_runs(rest, "resumed")
    suspend(rest, "resumed")
    before = until_held(rest, "resumed")
    rest.patch("trainjobs", "resumed", {"spec": {"trainer": {"numNodes": 2}}})
    renewed = wait_for("another JobSet", lambda: next(
        (found for found in [rest.get("jobsets", "resumed")] if found and uid(found) != uid(before)), None))
    assert renewed["metadata"]["annotations"]["trainer.kubeflow.org/restarts-before"] == "1,1"
    assert renewed["spec"]["failurePolicy"]["maxRestarts"] == 1
    resume(rest, "resumed")
    former = fail(rest, "resumed", former=former)
    until_counted(rest, "resumed", (2, 2))
    until_runs(rest, "resumed")
    lost = rest.get("jobsets", "resumed")
    former = known(rest, "resumed", former)
    rest.delete("jobsets", "resumed")
    found = wait_for("another JobSet", lambda: next(
        (found for found in [rest.get("jobsets", "resumed")] if found and uid(found) != uid(lost)), None))
    assert found["metadata"]["annotations"]["trainer.kubeflow.org/restarts-before"] == "2,2"
    assert found["spec"]["failurePolicy"]["maxRestarts"] == 0
    end_pods(rest)
    fail(rest, "resumed", former=former)
    failed(rest, "resumed", "ReachedMaxRestarts")


@together
def test_restarts_by_a_template_s_own_policy_are_counted_over_its_job_sets(signalbox, rest):
    made = runtime("restarts-itself")
    spec = made["spec"]["template"]["spec"]
    spec["failurePolicy"] = {"maxRestarts": 1, "rules": [{
        "name": "lenient", "action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]}]}
    job_spec = spec["replicatedJobs"][0]["template"]["spec"]
    job_spec["podFailurePolicy"] = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [9]}}]}
    job_spec["template"]["spec"]["restartPolicy"] = "Never"
    rest.create(made)
    rest.create(train_job("itself", "restarts-itself", seconds="never"))
    former = fail(rest, "itself", 9)
    until_counted(rest, "itself", (1, 0))
    former = fail(rest, "itself", 1, former)
    until_counted(rest, "itself", (2, 1))
    started(rest, "itself", former)
    suspend(rest, "itself")
    before = until_held(rest, "itself")
    rest.patch("trainjobs", "itself", {"spec": {"trainer": {"numNodes": 2}}})
    renewed = wait_for("another JobSet", lambda: next(
        (found for found in [rest.get("jobsets", "itself")] if found and uid(found) != uid(before)), None))
    assert renewed["metadata"]["annotations"]["trainer.kubeflow.org/restarts-before"] == "2,1"
    # The budget is the template's, and so a new JobSet has all of it.
    assert renewed["spec"]["failurePolicy"]["maxRestarts"] == 1
    resume(rest, "itself")
    former = fail(rest, "itself", 1, former)
    until_counted(rest, "itself", (3, 2))
    until_noted(rest, "itself", {"restart 1, 0 of 1 counted", "restart 2, 1 of 1 counted", "restart 3, 2 of 2 counted"})
    end_pods(rest)
    fail(rest, "itself", 1, former)
    failed(rest, "itself", "ReachedMaxRestarts")
    assert counters(rest, "itself") == (3, 2)


def as_the_original_builds(job_set):
    """Returns an apply that suspends the JobSet as Kubeflow Trainer builds it, which has no failure policies."""
    spec = copy.deepcopy(job_set["spec"])
    del spec["failurePolicy"]
    for job in spec["replicatedJobs"]:
        del job["template"]["spec"]["podFailurePolicy"]
    return {"apiVersion": job_set["apiVersion"], "kind": "JobSet", "spec": {**spec, "suspend": True},
            "metadata": {name: job_set["metadata"][name] for name in ("name", "namespace", "ownerReferences")}}


def test_a_job_keeps_its_policy_with_the_original_and_has_its_numbers_again_afterwards(signalbox, rest, nothing_left):
    """Kubeflow Trainer's CRDs prune the new fields of what is written meanwhile. It applies JobSets under the same name, by force."""
    lost = ("restarts", "restartsCountTowardsMax", "runPolicy", "startTime")
    rest.create(runtime("moving", ttlSecondsAfterFinished=3600, runPolicy={"failurePolicy": {"maxRestarts": 2}}))
    rest.create(train_job("moving", "moving", seconds="never"))
    former = fail(rest, "moving")
    until_counted(rest, "moving", (1, 1))

    def status():
        return {name: rest.get("trainjobs", "moving")["status"].get(name) for name in lost}
    began = status()
    assert began["runPolicy"] == {"ttlSecondsAfterFinished": 3600} and began["startTime"]
    with signalbox.without_reconciler():
        job_set = rest.get("jobsets", "moving")
        with pytest.raises(ApiError, match="field is immutable"):
            rest.request("PATCH", rest.path("jobsets", "moving") + "?fieldManager=trainer&force=true", as_the_original_builds(job_set),
                         "application/apply-patch+yaml")
        rest.patch("trainjobs", "moving", {"status": dict.fromkeys(lost)}, subresource="status")
        rest.patch("clustertrainingruntimes", "moving", {"spec": {"ttlSecondsAfterFinished": None, "runPolicy": None}})
        assert {*status().values()} == {None}
    wait_for("what was lost", lambda: status() == began)
    assert rest.get("jobsets", "moving")["spec"]["failurePolicy"] == job_set["spec"]["failurePolicy"]
    fail(rest, "moving", former=former)
    until_counted(rest, "moving", (2, 2))


def test_an_edit_of_the_runtime_reaches_no_job_that_has_begun(signalbox, rest, nothing_left):
    rest.create(runtime("edited-failures", runPolicy={"failurePolicy": {"maxRestarts": 1}}))
    rest.create(train_job("begun", "edited-failures", seconds="never"))
    former = {uid(started(rest, "begun"))}
    rest.patch("clustertrainingruntimes", "edited-failures", {"spec": {"runPolicy": {"failurePolicy": {"maxRestarts": 0}}}})
    signalbox.wait_until_idle()
    assert {uid(pod) for pod in running_pods(rest, "begun")} == former
    fail(rest, "begun")
    until_counted(rest, "begun", (1, 1))


@together
def test_forged_counters_are_put_right_and_buy_nothing(signalbox, rest):
    rest.create(runtime("forged-failures", runPolicy={"failurePolicy": {"maxRestarts": 1}}))
    rest.create(train_job("forger", "forged-failures", seconds="never"))
    former = fail(rest, "forger")
    until_counted(rest, "forger", (1, 1))
    rest.patch("trainjobs", "forger", {"status": {"restarts": 0, "restartsCountTowardsMax": 0}}, subresource="status")
    until_counted(rest, "forger", (1, 1))
    fail(rest, "forger", former=former)
    failed(rest, "forger", "ReachedMaxRestarts")


def test_without_the_gate_stored_policies_count_and_new_ones_are_denied(signalbox, rest, installed, nothing_left):
    rest.create(runtime("gated-failures", runPolicy={"failurePolicy": {"maxRestarts": 1}}))
    installed.restart_webhook()
    try:
        for change in (lambda: rest.create(train_job("new", "gated-failures", failurePolicy={"maxRestarts": 1})),
                       lambda: rest.create(runtime("more-failures", runPolicy={"failurePolicy": {}})),
                       lambda: rest.patch("clustertrainingruntimes", "gated-failures", {
                           "spec": {"runPolicy": {"failurePolicy": {"maxRestarts": 2}}}})):
            with pytest.raises(ApiError, match="needs the feature gate TrainJobFailurePolicy"):
                change()
        rest.create(train_job("stored", "gated-failures", seconds="never"))
        fail(rest, "stored")
        until_counted(rest, "stored", (1, 1))
    finally:
        installed.restart_webhook(GATE)
