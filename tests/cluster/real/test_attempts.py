"""Attempts whose programs really fail: what the status says of them."""

import copy

from node.training import pod_specs, train_job
from rest import true_conditions

# The second rank takes more memory than it may. The first one waits for it, and ends when it is told to.
UNEVEN = ["sh", "-c", "if [ $JOB_COMPLETION_INDEX = 1 ]; then exec python3 /workspace/hog.py; fi; trap 'exit 0' TERM; sleep 600 & wait"]


def test_a_rank_that_lacks_memory_is_named_for_each_attempt_until_the_last_one(runtimes, admin, ended, plugin, request):
    runtime = copy.deepcopy(admin.get("clustertrainingruntimes", "plain"))
    runtime["metadata"] = {"name": "retrying"}
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        job["template"]["spec"].pop("podFailurePolicy")
    for pod in pod_specs(runtime):
        pod["terminationGracePeriodSeconds"] = 5
    runtime["spec"]["runPolicy"] = {"failurePolicy": {"maxRestarts": 1, "backoff": {"initialSeconds": 1}}}
    admin.create(runtime)
    request.addfinalizer(lambda: admin.delete("clustertrainingruntimes", "retrying"))  # guides show all of them
    admin.create(train_job("uneven", "retrying", UNEVEN, 2, {"resourcesPerNode": {"limits": {"memory": "200Mi"}}}))
    assert ended("uneven") == "Failed"
    job = admin.get("trainjobs", "uneven")
    last, first = job["status"]["failures"]
    assert [(each["attempt"], each["index"], each["reason"], each["decision"], each["failedPods"]) for each in (first, last)] == [
        (0, 1, "OOMKilled", "Restart", 1), (1, 1, "OOMKilled", "Fail", 1)]
    assert first["pod"] != last["pod"] and "holds 100 MiB" in first["message"]
    assert (job["status"]["restarts"], job["status"]["restartsCountTowardsMax"]) == (1, 1)
    end = true_conditions(job)["Failed"]
    assert end["reason"] == "ReachedMaxRestarts" and last["pod"] in end["message"]
    shown = plugin("explain", "uneven")
    assert first["pod"] in shown and last["pod"] in shown, shown
