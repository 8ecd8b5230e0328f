"""What a runtime asks for to protect running jobs: no eviction takes a Pod, and nobody else connects to one."""

import pytest

from attempts import evict
from jobs import ANCESTOR, runtime, train_job
from progress import owner, resume, running_pods, suspend, uid, until, until_gone, until_held, until_not_created, until_runs
from rest import ApiError, wait_for

OF_JOB = "jobset.sigs.k8s.io/jobset-name"
INITIALIZER = {"name": "dataset-initializer", "template": {
    "metadata": {"labels": {ANCESTOR: "dataset-initializer"}},
    "spec": {"template": {"spec": {"containers": [{"name": "dataset-initializer", "image": "registry.example.com/fetch:1"}]}}}}}


def protecting(name, **changes):
    return runtime(name, **{"runPolicy": {"disruptionBudget": True}, "networkPolicy": "Isolated", **changes})


def budget(rest, name):
    return rest.get("poddisruptionbudgets", name)


def policy(rest, name):
    return rest.get("networkpolicies", name)


def until_budgeted(rest, name, pods):
    """Waits until Kubernetes' own controller counts the Pods of the job's budget."""
    def counted():
        found = budget(rest, name)
        return found and found["status"].get("currentHealthy") == pods and found["status"]["observedGeneration"] == found["metadata"][
            "generation"] and found
    return wait_for(f"{pods} healthy Pods in the budget of {name}", counted)


def refusal(act):
    with pytest.raises(ApiError) as refused:
        act()
    return refused.value


def test_no_eviction_takes_a_pod_of_a_running_job(signalbox, rest):
    rest.create(protecting("budgeting"))
    rest.create(train_job("enduring", "budgeting", seconds="never", nodes=2))
    until_runs(rest, "enduring")
    made = until_budgeted(rest, "enduring", 2)
    assert made["spec"] == {"minAvailable": 2, "selector": {"matchLabels": {OF_JOB: "enduring"}}}
    assert owner(made) == uid(rest.get("trainjobs", "enduring"))
    assert (made["status"]["desiredHealthy"], made["status"]["disruptionsAllowed"]) == (2, 0)
    assert {each["type"]: each["reason"] for each in made["status"]["conditions"]} == {"DisruptionAllowed": "InsufficientPods"}
    for pod in running_pods(rest, "enduring"):
        refused = refusal(lambda: evict(rest)(pod))
        assert refused.code == 429 and "disruption budget" in str(refused)
    assert len(running_pods(rest, "enduring")) == 2


def test_the_budget_goes_with_each_run_and_has_its_size(signalbox, rest):
    rest.create(protecting("sizing"))
    rest.create(train_job("resized", "sizing", seconds="never", nodes=2))
    until_runs(rest, "resized")
    first = until_budgeted(rest, "resized", 2)
    suspend(rest, "resized")
    wait_for("the budget to go", lambda: budget(rest, "resized") is None)
    until_held(rest, "resized")
    # What still runs may be evicted from now on, and others may not connect to it.
    kept = policy(rest, "resized")
    rest.patch("trainjobs", "resized", {"spec": {"trainer": {"numNodes": 3}}})
    signalbox.wait_until_idle()
    assert budget(rest, "resized") is None
    resume(rest, "resized")
    second = until_budgeted(rest, "resized", 3)
    assert second["spec"]["minAvailable"] == 3 and uid(second) != uid(first)
    assert uid(policy(rest, "resized")) == uid(kept)


def test_the_budget_goes_when_the_job_has_ended(signalbox, rest):
    rest.create(protecting("ending"))
    rest.create(train_job("ended", "ending", seconds=4))
    until_budgeted(rest, "ended", 1)
    until(rest, "ended", "Complete")
    wait_for("the budget to go", lambda: budget(rest, "ended") is None)
    signalbox.wait_until_idle()
    assert budget(rest, "ended") is None and policy(rest, "ended")


def test_the_budget_leaves_initializers_alone(signalbox, rest):
    made = protecting("fetching")
    made["spec"]["template"]["spec"]["replicatedJobs"].insert(0, INITIALIZER)
    rest.create(made)
    rest.create(train_job("fetched", "fetching", seconds="never", nodes=2))
    selector = wait_for("the budget", lambda: budget(rest, "fetched"))["spec"]
    assert selector == {"minAvailable": 2, "selector": {"matchLabels": {OF_JOB: "fetched"}, "matchExpressions": [
        {"key": "jobset.sigs.k8s.io/replicatedjob-name", "operator": "In", "values": ["node"]}]}}


def test_only_pods_of_the_job_may_connect_to_its_pods(signalbox, rest):
    rest.create(protecting("isolating"))
    # Before any Pod, so that none is open for a moment.
    rest.create(train_job("apart", "isolating", seconds="never", suspend=True))
    until_held(rest, "apart")
    made = policy(rest, "apart")
    of_job = {"podSelector": {"matchLabels": {OF_JOB: "apart"}}}
    assert made["spec"] == {**of_job, "policyTypes": ["Ingress"], "ingress": [{"from": [of_job]}]}
    assert owner(made) == uid(rest.get("trainjobs", "apart"))
    assert budget(rest, "apart") is None
    resume(rest, "apart")
    until_runs(rest, "apart")
    [pod] = running_pods(rest, "apart")
    assert pod["metadata"]["labels"][OF_JOB] == "apart"
    # Nobody opens it, and nobody takes it away.
    rest.patch("networkpolicies", "apart", {"spec": {"ingress": [{}]}})
    wait_for("the policy as it was", lambda: policy(rest, "apart")["spec"] == made["spec"])
    rest.delete("networkpolicies", "apart")
    wait_for("another policy", lambda: policy(rest, "apart"))
    rest.delete("trainjobs", "apart")
    until_gone(rest, "apart")
    wait_for("both to go with the job", lambda: not policy(rest, "apart") and not budget(rest, "apart"))


def test_a_job_that_has_begun_keeps_its_protection_and_the_next_one_has_none(signalbox, rest):
    rest.create(protecting("changing"))
    rest.create(train_job("before", "changing", seconds="never"))
    until_runs(rest, "before")
    rest.patch("clustertrainingruntimes", "changing", {"spec": {"runPolicy": None, "networkPolicy": None}})
    rest.create(train_job("after", "changing", seconds="never"))
    until_runs(rest, "after")
    signalbox.wait_until_idle()
    assert budget(rest, "before") and policy(rest, "before")
    assert not budget(rest, "after") and not policy(rest, "after")
    suspend(rest, "before")
    until_held(rest, "before")
    wait_for("the budget to go", lambda: budget(rest, "before") is None)


def test_what_belongs_to_others_is_left_alone(signalbox, rest):
    others = {"poddisruptionbudgets": {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "taken"},
                                       "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}},
              "networkpolicies": {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "taken"},
                                  "spec": {"podSelector": {}, "policyTypes": ["Egress"]}}}
    rest.create(protecting("polite"))
    for kind, other in others.items():
        there = rest.create(other, kind)
        rest.create(train_job("taken", "polite"))
        refused = until_not_created(rest, "taken", "JobsCreationFailed")
        assert refused["message"] == f"{other['kind']} {rest.namespace}/taken exists already and does not belong to this TrainJob"
        rest.delete("trainjobs", "taken")
        until_gone(rest, "taken")
        signalbox.wait_until_idle()
        left = rest.get(kind, "taken")
        assert (uid(left), left["spec"], left["metadata"]["generation"]) == (uid(there), there["spec"], 1)
        assert not {"annotations", "ownerReferences"} & left["metadata"].keys()
        rest.delete(kind, "taken")
