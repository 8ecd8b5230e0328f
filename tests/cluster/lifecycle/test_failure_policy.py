"""What a failure of a Pod leads to, by the failure policies of runtimes and TrainJobs, with the real controllers of JobSet and of Jobs.
test_attempts.py has what lies between two attempts."""

import copy

import pytest

import devices
from attempts import (EXCLUDED, LATER, SOON, attempt, avoided, counters, decisions, disrupt, evict, fail, failed, is_backing_off, policy,
                       reject, started, taint, until_counted, until_noted)
from jobs import runtime, train_job
from progress import delete_jobs, end_pods, events, fail_pod, resume, suspend, uid, until_held
from rest import ApiError, wait_for

together = pytest.mark.together(after=delete_jobs)
FAIL_AT_3 = {"action": "FailTrainJob", "onExitCodes": {"containerName": "node", "operator": "In", "values": [3, 42]}}


@pytest.fixture
def nothing_left(rest):
    yield
    delete_jobs(rest)


def pod_spec(made):
    return made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


@together
def test_an_exit_code_of_a_rule_fails_the_job_at_once(signalbox, rest):
    rest.create(runtime("strict", **policy(rules=[{"action": "RestartTrainJob", "onPodConditions": [{"type": "ConfigIssue"}]}, FAIL_AT_3])))
    rest.create(train_job("hopeless", "strict", seconds="never"))
    fail(rest, "hopeless", 42)
    assert "The first to fail: Pod hopeless-node-0-0-" in failed(rest, "hopeless", "FailJobSetFailurePolicyAction")["message"]
    assert counters(rest, "hopeless") == (0, 0)
    assert decisions(rest, "hopeless") == [(0, "Fail", 1)]


OUTCOMES = {"FailTrainJob": ("Fail", (0, 0)), "RestartTrainJob": ("Restart", (1, 1)),
            "RestartTrainJobAndIgnoreMaxRestarts": ("RestartUncounted", (1, 0))}
SLOW = {"type": "example.com/Slow", "status": "False"}
KINDS = {"code": ({"onExitCodes": {"operator": "NotIn", "values": [0, 1]}}, {"code": 7}),
         "condition": ({"onPodConditions": [SLOW]}, {"conditions": [SLOW]}),
         "reason": ({"onPodReasons": ["Evicted", "OOMKilled"]}, {"code": 137, "reason": "OOMKilled"})}


@together
def test_each_action_is_taken_for_an_exit_code_for_a_condition_and_for_a_reason(signalbox, rest):
    jobs = {f"{kind}-{number}": (kind, action) for kind in KINDS for number, action in enumerate(OUTCOMES)}
    for name, (kind, action) in jobs.items():
        rest.create(runtime(name, **policy(rules=[{"action": action, **KINDS[kind][0]}], backoff=LATER)))
        rest.create(train_job(name, name, seconds="never"))
    for name, (kind, _) in jobs.items():
        fail(rest, name, **KINDS[kind][1])
    for name, (_, action) in jobs.items():
        decision, want = OUTCOMES[action]
        if decision == "Fail":
            failed(rest, name, "FailJobSetFailurePolicyAction")
        until_counted(rest, name, want)
        assert decisions(rest, name) == [(0, decision, 0)], name


@together
def test_a_rule_for_a_container_is_about_no_other_one(signalbox, rest):
    made = runtime("two-jobs", **policy(rules=[
        {"action": "FailTrainJob", "onExitCodes": {"containerName": "side", "operator": "In", "values": [9]}},
        {"action": "RestartTrainJobAndIgnoreMaxRestarts", "onExitCodes": {"operator": "In", "values": [7]}}]))
    made["spec"]["template"]["spec"]["replicatedJobs"].append({"name": "side", "template": {"spec": {"template": {
        "metadata": {"labels": {"signalbox.test/run-seconds": "never"}},
        "spec": {"containers": [{"name": "side", "image": "registry.example.com/side:1"}]}}}}})
    rest.create(made)
    rest.create(train_job("paired", "two-jobs", seconds="never"))
    former = fail(rest, "paired", 7, of="side")
    until_counted(rest, "paired", (1, 0))
    former = fail(rest, "paired", 9, former, of="node")
    until_counted(rest, "paired", (2, 1))
    fail(rest, "paired", 9, former, of="side")
    failed(rest, "paired", "FailJobSetFailurePolicyAction")
    assert decisions(rest, "paired") == [(2, "Fail", 0), (1, "Restart", -1), (0, "RestartUncounted", 1)]


@together
def test_other_failures_restart_the_job_until_the_maximum_and_each_is_reported(signalbox, rest, kubectl):
    rest.create(runtime("lenient", **policy(9, [FAIL_AT_3], SOON)))
    rest.create(train_job("unlucky", "lenient", seconds="never", failurePolicy={"maxRestarts": 1}))
    pod = started(rest, "unlucky")
    former = {uid(pod)}
    before = uid(attempt(rest, "unlucky", 0))
    fail_pod(rest, pod, 137, "OOMKilled")
    until_counted(rest, "unlucky", (1, 1))
    assert "1" in kubectl("get", "trainjob", "unlucky", "-o", "wide").splitlines()[1].split()
    note, = wait_for("the event", lambda: events(rest, "unlucky", "TrainJobRestarted"))
    assert note["type"] == "Warning" and note["note"].startswith("restart 1, 1 of 1 counted: Pod unlucky-node-0-0-")
    assert "OOMKilled, exit code 137" in note["note"]
    failure, = rest.get("trainjobs", "unlucky")["status"]["failures"]
    assert {name: failure[name] for name in ("pod", "node", "container", "exitCode", "reason", "failedPods")} == {
        "pod": pod["metadata"]["name"], "node": pod["spec"]["nodeName"], "container": "node", "exitCode": 137, "reason": "OOMKilled",
        "failedPods": 1}
    attempt(rest, "unlucky", 1, other_than=before)
    started(rest, "unlucky", former)
    wait_for("it to be told that it runs", lambda: not is_backing_off(rest.get("trainjobs", "unlucky")))
    wait_for("its start", lambda: rest.get("trainjobs", "unlucky")["status"].get("attemptStartTime"))
    fail(rest, "unlucky", former=former)
    assert "The first to fail: Pod unlucky-node-0-0-" in failed(rest, "unlucky", "ReachedMaxRestarts")["message"]
    assert counters(rest, "unlucky") == (1, 1)
    assert decisions(rest, "unlucky") == [(1, "Fail", -1), (0, "Restart", -1)]
    assert not is_backing_off(rest.get("trainjobs", "unlucky"))


@together
def test_a_disruption_restarts_the_job_and_does_not_count(signalbox, rest):
    rest.create(runtime("enduring", **policy(0)))
    rest.create(train_job("evicted", "enduring", seconds="never", nodes=2))
    disrupted = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    former = fail(rest, "evicted", 143, conditions=disrupted)
    until_counted(rest, "evicted", (1, 0))
    former, _ = disrupt(rest, "evicted", evict(rest), former)
    until_counted(rest, "evicted", (2, 0))
    fail(rest, "evicted", 1, former)
    failed(rest, "evicted", "ReachedMaxRestarts")
    assert counters(rest, "evicted") == (2, 0)
    assert decisions(rest, "evicted") == [(2, "Fail", -1), (1, "RestartUncounted", -2), (0, "RestartUncounted", -2)]


def measured(signalbox):
    return [signalbox.reconciler.metric("signalbox_restarts_total", f'counted="{counted}"') for counted in ("true", "false")]


def test_taints_of_devices_and_nodes_restart_the_job_and_do_not_count_but_its_own_failures_do(signalbox, rest, admin, nothing_left):
    counted, uncounted = measured(signalbox)
    devices.install(admin, "fragile")
    devices.create_template(rest, "fragile")
    claiming = runtime("claiming-failures", **policy(1))
    devices.claim(pod_spec(claiming), "fragile")
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
def test_a_node_that_refuses_a_pod_and_one_that_a_rule_excludes_are_avoided_by_later_attempts(signalbox, rest):
    made = runtime("avoiding", **policy(rules=[
        {"action": "RestartTrainJob", "excludeNode": True, "onExitCodes": {"operator": "In", "values": [79]}}]))
    pod_spec(made)["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in ("kubernetes.io/os", "kubernetes.io/hostname")]}}}
    rest.create(made)
    rest.create(train_job("moving-on", "avoiding", seconds="never"))
    first = started(rest, "moving-on")
    reject(rest, first)
    until_counted(rest, "moving-on", (1, 0))
    second = started(rest, "moving-on", {uid(first)})
    nodes = [first["spec"]["nodeName"], second["spec"]["nodeName"]]
    assert avoided(second) == {nodes[0]} and nodes[1] != nodes[0]
    fail_pod(rest, second, 79)
    until_counted(rest, "moving-on", (2, 1))
    third = started(rest, "moving-on", {uid(first), uid(second)})
    assert avoided(third) == {*nodes} and third["spec"]["nodeName"] not in nodes
    assert {*attempt(rest, "moving-on", 2)["metadata"]["annotations"][EXCLUDED].split(",")} == {*nodes}
    status = rest.get("trainjobs", "moving-on")["status"]
    assert decisions(rest, "moving-on") == [(1, "Restart", 0), (0, "RestartUncounted", -2)]
    assert [(each["node"], each["excludesNode"]) for each in status["failures"]] == [(nodes[1], True), (nodes[0], True)]
    refused = status["failures"][1]
    assert refused["reason"] == "UnexpectedAdmissionError" and "unhealthy devices" in refused["message"] and "exitCode" not in refused


@together
def test_what_decides_about_failures_beside_a_policy_is_denied(signalbox, rest):
    both = runtime("decides-twice", **policy())
    both["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 1}
    with pytest.raises(ApiError, match="cannot be beside spec.runPolicy.failurePolicy"):
        rest.create(both)
    with pytest.raises(ApiError, match="no job of the runtime has such a container"):
        rest.create(runtime("nowhere", **policy(rules=[
            {"action": "FailTrainJob", "onExitCodes": {"containerName": "gone", "operator": "In", "values": [1]}}])))
    del both["spec"]["runPolicy"]
    rest.create(both)
    with pytest.raises(ApiError, match="spec.template.spec.failurePolicy of the runtime decides"):
        rest.create(train_job("overruled", "decides-twice", failurePolicy={"maxRestarts": 1}))


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
    back = ("restarts", "restartsCountTowardsMax", "runPolicy", "startTime")
    lost = (*back, "failures", "attemptStartTime", "consecutiveFailures")
    rest.create(runtime("moving", ttlSecondsAfterFinished=3600, **policy(2)))
    rest.create(train_job("moving", "moving", seconds="never"))
    former = fail(rest, "moving")
    until_counted(rest, "moving", (1, 1))
    started(rest, "moving", former)
    wait_for("it to be told that it runs", lambda: not is_backing_off(rest.get("trainjobs", "moving")))

    def status():
        return {name: rest.get("trainjobs", "moving")["status"].get(name) for name in back}
    began = status()
    assert began["runPolicy"] == {"ttlSecondsAfterFinished": 3600} and began["startTime"]
    with signalbox.without_reconciler():
        job_set = attempt(rest, "moving", 1)
        with pytest.raises(ApiError, match="field is immutable"):
            rest.request("PATCH", rest.path("jobsets", "moving") + "?fieldManager=trainer&force=true", as_the_original_builds(job_set),
                         "application/apply-patch+yaml")
        rest.patch("trainjobs", "moving", {"status": dict.fromkeys(lost)}, subresource="status")
        rest.patch("clustertrainingruntimes", "moving", {"spec": {"ttlSecondsAfterFinished": None, "runPolicy": None}})
        assert {*status().values()} == {None}
    wait_for("what was lost", lambda: status() == began)
    assert uid(rest.get("jobsets", "moving")) == uid(job_set)
    fail(rest, "moving", former=former)
    until_counted(rest, "moving", (2, 2))


@together
def test_an_edit_of_the_runtime_reaches_no_job_that_has_begun(signalbox, rest):
    rest.create(runtime("edited-failures", **policy(1)))
    rest.create(train_job("begun", "edited-failures", seconds="never"))
    former = {uid(started(rest, "begun"))}
    rest.patch("clustertrainingruntimes", "edited-failures", {"spec": {"runPolicy": {"failurePolicy": {
        "maxRestarts": 0, "rules": [{"action": "FailTrainJob", "onExitCodes": {"operator": "In", "values": [1]}}], "backoff": LATER}}}})
    fail(rest, "begun")
    until_counted(rest, "begun", (1, 1))
    started(rest, "begun", former)


@together
def test_a_job_whose_policy_is_lost_ends_as_its_job_set_does(signalbox, rest):
    rest.create(runtime("lost-policy", **policy()))
    rest.create(train_job("forgetful", "lost-policy", seconds="never"))
    started(rest, "forgetful")
    rest.patch("clustertrainingruntimes", "lost-policy", {"spec": {"runPolicy": {"failurePolicy": {"maxRestarts": 9}}}})
    rest.delete("configmaps", "forgetful-runtime-snapshot")
    fail(rest, "forgetful")
    failed(rest, "forgetful", "ReachedMaxRestarts")
    assert counters(rest, "forgetful") == (0, 0)


@together
def test_forged_counters_are_put_right_delete_nothing_and_buy_nothing(signalbox, rest):
    rest.create(runtime("forged-failures", **policy(1)))
    rest.create(train_job("forger", "forged-failures", seconds="never"))
    former = set()
    for real in ((0, 0), (1, 1)):
        pod, job_set = uid(started(rest, "forger", former)), uid(attempt(rest, "forger", real[0]))
        for forged in (9, 0):
            rest.patch("trainjobs", "forger", {"status": {"restarts": forged, "restartsCountTowardsMax": forged}}, subresource="status")
            until_counted(rest, "forger", real)
        assert uid(rest.get("jobsets", "forger")) == job_set and uid(started(rest, "forger", former)) == pod
        former = fail(rest, "forger", former=former)
    failed(rest, "forger", "ReachedMaxRestarts")
    assert counters(rest, "forger") == (1, 1)


def test_without_the_gate_stored_policies_count_and_new_ones_are_denied(signalbox, rest, nothing_left):
    rest.create(runtime("gated-failures", **policy(1)))
    with signalbox.reviewed("--feature-gates=TrainJobFailurePolicy=false"):
        for change in (lambda: rest.create(train_job("new", "gated-failures", failurePolicy={"maxRestarts": 1})),
                       lambda: rest.create(runtime("more-failures", runPolicy={"failurePolicy": {}})),
                       lambda: rest.patch("clustertrainingruntimes", "gated-failures", {
                           "spec": {"runPolicy": {"failurePolicy": {"maxRestarts": 2}}}})):
            with pytest.raises(ApiError, match="needs the feature gate TrainJobFailurePolicy"):
                change()
        rest.create(train_job("stored", "gated-failures", seconds="never"))
        fail(rest, "stored")
        until_counted(rest, "stored", (1, 1))
