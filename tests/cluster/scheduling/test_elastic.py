"""Elastic PyTorch with the real controllers of JobSet and of Jobs. test_launchers.py has torchrun itself."""

import pytest

from jobs import runtime, train_job
from progress import delete_jobs, running_pods, uid, until
from rest import true_conditions, wait_for


def running(rest, name, count, former=()):
    def look():
        pods = [pod for pod in running_pods(rest, name) if uid(pod) not in former]
        return sorted(pods, key=lambda pod: pod["metadata"]["name"]) if len(pods) == count else None
    return wait_for(f"{count} running Pods of {name}", look)


def end(rest, pods, phase, conditions=()):
    for pod in pods:
        rest.patch("pods", pod["metadata"]["name"], {"status": {
            "phase": phase, "conditions": [*pod["status"].get("conditions", []), *conditions]}}, subresource="status")


@pytest.mark.together
def test_a_lost_node_comes_back_and_the_least_nodes_complete_the_job(signalbox, rest):
    elastic = runtime("elastic", ml_policy={"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 4, "maxRestarts": 1}}})
    rest.create(elastic)
    rest.create(train_job("lost", "elastic", nodes=3, seconds="never"))
    pods = running(rest, "lost", 3)
    end(rest, pods[2:], "Failed", [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}])
    former = [uid(pod) for pod in pods]
    replaced = running(rest, "lost", 1, former)
    assert rest.get("jobs", "lost-node-0")["status"].get("failed", 0) == 0
    end(rest, replaced, "Failed")
    running(rest, "lost", 1, [*former, uid(replaced[0])])
    assert not true_conditions(rest.get("trainjobs", "lost")).keys() & {"Failed", "Complete"}
    end(rest, pods[:2], "Succeeded")
    until(rest, "lost", "Complete")
    wait_for("the third Pod to end", lambda: not running_pods(rest, "lost"))
    delete_jobs(rest)
