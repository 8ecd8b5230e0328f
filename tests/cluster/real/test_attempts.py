"""Attempts whose programs really fail: what the status says of them."""

from node.training import train_job
from rest import true_conditions, wait_for

SECONDS = 120

# The second rank takes more memory than it may. The first one waits for it, and ends when it is told to.
UNEVEN = ["sh", "-c", "if [ $JOB_COMPLETION_INDEX = 1 ]; then exec python3 /workspace/hog.py; fi; trap 'exit 0' TERM; sleep 600 & wait"]
LASTING = ["sleep", "31536001"]  # an end that no other program has


def test_an_exit_code_that_a_rule_names_ends_the_job_with_its_first_attempt(retrying, admin, ended, plugin):
    retrying("strict", {"maxRestarts": 3, "rules": [{"action": "FailTrainJob", "onExitCodes": {"operator": "In", "values": [42]}}]})
    admin.create(train_job("hopeless", "strict", ["sh", "-c", "echo the data set is empty; exit 42"], 1))
    assert ended("hopeless") == "Failed"
    job = admin.get("trainjobs", "hopeless")
    [only] = job["status"]["failures"]
    assert [only[name] for name in ("attempt", "exitCode", "decision", "rule")] == [0, 42, "Fail", 0], only
    assert "the data set is empty" in only["message"] and not job["status"].get("restarts")
    assert true_conditions(job)["Failed"]["reason"] == "FailJobSetFailurePolicyAction"
    assert "exit code 42" in plugin("explain", "hopeless")


def test_a_rank_that_lacks_memory_is_named_for_each_attempt_until_the_last_one(retrying, admin, ended, plugin):
    retrying("retrying", {"maxRestarts": 1, "backoff": {"initialSeconds": 1}})
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


def test_a_rank_that_its_node_kills_is_named_with_the_signal_and_tried_again(retrying, cluster, admin, plugin):
    retrying("unlucky", {"maxRestarts": 1, "backoff": {"initialSeconds": 1}})
    admin.create(train_job("shot", "unlucky", LASTING, 2))
    plugin("wait", "shot", "--for=running", f"--timeout={SECONDS}s", "--interval=200ms")
    cluster.kill_program(LASTING)
    wait_for("another attempt", lambda: admin.get("trainjobs", "shot")["status"].get("restarts"), SECONDS)
    plugin("wait", "shot", "--for=running", f"--timeout={SECONDS}s", "--interval=200ms")
    [only] = admin.get("trainjobs", "shot")["status"]["failures"]
    assert [only[name] for name in ("exitCode", "signal", "decision", "failedPods")] == [137, 9, "Restart", 1], only
    assert only["node"] in ("node-1", "node-2") and only["pod"].startswith("shot-node-0-")
    assert only["pod"] in plugin("explain", "shot")
    admin.delete("trainjobs", "shot")
