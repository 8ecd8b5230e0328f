"""Gang scheduling on the real control plane. Its scheduler does not know gangs: the tests check the objects that the installed
reconciler creates with its own permissions."""

import pytest

from gangs import GROUPS, path_of_pod_group, said_of
from jobs import runtime, train_job
from progress import has_begun, until_alone
from rest import ApiError, conditions, wait_for


def pod_group(rest, policy, name):
    return rest.request("GET", path_of_pod_group(policy, name, rest.namespace))


def there(rest, policy, name):
    return next((group for group in rest.request("GET", path_of_pod_group(policy, "", rest.namespace))["items"]
                 if group["metadata"]["name"] == name), None)


def test_a_cluster_without_gang_schedulers_logs_no_error(before_pod_groups):
    for group, _ in GROUPS.values():
        assert before_pod_groups[group] == {"not installed; it will be watched once it is"}


@pytest.mark.parametrize("policy", GROUPS)
def test_changes_by_others_of_the_group_of_a_suspended_job_are_reverted(signalbox, pod_groups, rest, policy):
    rest.create(runtime(f"guarding-{policy}", ml_policy={"numNodes": 1, "torch": {}}, podGroupPolicy={policy: {}}))
    rest.create(train_job("guarded", f"guarding-{policy}", nodes=2, suspend=True))
    wait_for("the PodGroup", lambda: there(rest, policy, "guarded"))
    # The kinds were installed after the reconciler had started, unless another test has restarted it since. It discovers them within
    # half a minute.
    wait_for("their watch", lambda: "watching" in said_of(signalbox, GROUPS[policy][0]), timeout=45)
    signalbox.wait_until_idle()

    first = pod_group(rest, policy, "guarded")
    rest.request("DELETE", path_of_pod_group(policy, "guarded", rest.namespace))
    again = wait_for("another PodGroup", lambda: there(rest, policy, "guarded"))
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert again["spec"] == first["spec"]

    rest.request("PATCH", path_of_pod_group(policy, "guarded", rest.namespace), {"spec": {"minMember": 7}}, "application/merge-patch+json")
    wait_for("the right size", lambda: pod_group(rest, policy, "guarded")["spec"] == first["spec"])


@pytest.mark.parametrize("policy", GROUPS)
def test_a_torch_job_becomes_a_gang_and_is_not_written_again(signalbox, pod_groups, admin, rest, policy):
    rest.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults"}, "spec": {
        "limits": [{"type": "Container", "defaultRequest": {"memory": "64Mi"}}]}}, "limitranges")
    settings = {"coscheduling": {"scheduleTimeoutSeconds": 90}, "volcano": {"networkTopology": {"mode": "soft", "highestTierAllowed": 2}}}[policy]
    rest.create(runtime(f"gang-{policy}", ml_policy={"numNodes": 1, "torch": {}}, podGroupPolicy={policy: settings}))
    job = train_job(policy, f"gang-{policy}", nodes=2, seconds="never")
    job["spec"]["trainer"]["resourcesPerNode"] = {"requests": {"cpu": "500m"}, "limits": {"nvidia.com/gpu": 1}}
    rest.create(job)
    wait_for("ready Jobs", lambda: any(
        j["ready"] for j in rest.get("trainjobs", policy).get("status", {}).get("jobsStatus", [])), timeout=60)

    group = pod_group(rest, policy, policy)
    assert group["spec"]["minMember"] == 2 and settings.items() <= group["spec"].items()
    assert group["spec"]["minResources"] == {"cpu": "1", "memory": "128Mi", "nvidia.com/gpu": "2"}
    (owner,) = group["metadata"]["ownerReferences"]
    assert owner["kind"] == "TrainJob" and owner["controller"] and owner["blockOwnerDeletion"]
    assert owner["uid"] == rest.get("trainjobs", policy)["metadata"]["uid"]
    template = rest.get("jobsets", policy)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"]
    assert policy in {**template.get("labels", {}), **template.get("annotations", {})}.values()

    # Other jobs' reconciles are over, so only this job can cause writes.
    until_alone(admin)
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert signalbox.writes() == 0
    assert pod_group(rest, policy, policy) == group


def test_a_gang_of_no_nodes_is_refused_where_no_pod_group_of_none_can_be_stored(signalbox, pod_groups, rest):
    rest.create(runtime("no-gang", ml_policy={"torch": {}}, podGroupPolicy={"coscheduling": {}}))
    with pytest.raises(ApiError, match="spec.trainer.numNodes: .*must be at least 1: .*PodGroup of at least one Pod"):
        rest.create(train_job("none", "no-gang", nodes=0))
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "none"}, "spec": {"minMember": 0}}
    with pytest.raises(ApiError, match="spec.minMember: .*greater than or equal to 1"):
        rest.request("POST", path_of_pod_group("coscheduling", "", rest.namespace), group)


def test_a_gang_of_no_nodes_completes_under_volcano(signalbox, pod_groups, rest):
    rest.create(runtime("empty-gang", ml_policy={"torch": {}}, podGroupPolicy={"volcano": {}}))
    rest.create(train_job("nothing", "empty-gang", nodes=0))
    wait_for("Complete", lambda: conditions(rest.get("trainjobs", "nothing")).get("Complete", {}).get("status") == "True")
    assert pod_group(rest, "volcano", "nothing")["spec"]["minMember"] == 0


def test_a_priority_class_has_to_exist_under_volcano(signalbox, pod_groups, rest):
    name = f"research-{rest.namespace}"
    broken = runtime("with-priority", podGroupPolicy={"volcano": {}})
    broken["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "priorityClassName"] = name
    rest.create(broken)
    with pytest.raises(Exception, match=f'spec.runtimeRef: .*PriorityClass .*{name}.* does not exist'):
        rest.create(train_job("early", "with-priority"))
    rest.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1}, "priorityclasses")
    try:
        rest.create(train_job("late", "with-priority"))
        wait_for("Created", lambda: has_begun(rest.get("trainjobs", "late")))
        assert pod_group(rest, "volcano", "late")["spec"]["priorityClassName"] == name
    finally:
        rest.delete("priorityclasses", name)
