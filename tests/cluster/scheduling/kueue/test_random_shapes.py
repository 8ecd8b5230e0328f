"""Of random runtimes and jobs, the warnings of Signalbox's webhook name exactly the resources that Kueue counts otherwise than Pods request."""

import random

import pytest

from jobs import train_job
from kubelet import quantity
from queues import QUEUE_LABEL, flavor, wait_for
from test_counts import AS_NODE, MPI, container, initializes, job, shape, trainer, trains

AMOUNTS = {"cpu": ["500m", "1", "2"], "memory": ["512Mi", "1G", "1Gi"], "nvidia.com/gpu": ["1", "2", "4"]}
POLICIES = {"plain": {}, "torch": {"torch": {}}, "jax": {"jax": {}}, "xgboost": {"xgboost": {}}, "flux": {"flux": {}},
            "mpi": {"mpi": MPI}, "a launcher as node": {"mpi": AS_NODE}, "none": None}


class Shapes:
    def __init__(self, seed):
        self._random = random.Random(seed)

    def one(self):
        policy = self._random.choice(list(POLICIES))
        if policy in ("mpi", "a launcher as node"):
            jobs = [job("launcher", "trainer", self._pod("node")), job("node", None, self._pod("node"))]
        else:
            jobs = [trains(self._pod("node"))]
        if self._may():
            jobs.insert(0, initializes("dataset-initializer", resources=self._resources()))
        ml = {"numNodes": self._random.choice([1, 3]), **POLICIES[policy]} if policy != "none" else False
        return shape(*jobs, ml=ml, **trainer(resourcesPerNode=self._resources(), numNodes=self._random.choice([1, 2])))

    def _may(self):
        return self._random.random() < 0.4

    def _pod(self, name):
        first = [container("first", resources=self._resources())] if self._may() else []
        keeps = [container("keeps", resources=self._resources(), restartPolicy="Always")] if self._may() else []
        beside = [container("beside", resources=self._resources())] if self._may() else []
        return {"initContainers": first + keeps, "containers": [*beside, container(name, resources=self._resources())]}

    def _resources(self):
        """Returns requests that no limit is below. Those of devices equal their limits."""
        found = {"limits": {}, "requests": {}}
        for name, amounts in AMOUNTS.items():
            request, limit = sorted(self._random.choices(range(len(amounts)), k=2))
            if self._may():
                found["limits"][name] = amounts[limit]
            if self._may() and (name in found["limits"] or "/" not in name):
                found["requests"][name] = amounts[limit if "/" in name else request]
        return found


def sum_of(amounts):
    total = {}
    for each in amounts:
        total = {name: total.get(name, 0) + each.get(name, 0) for name in total | each}
    return total


def greatest(*amounts):
    return {name: max(each.get(name, 0) for each in amounts) for name in set().union(*amounts)}


def requested(pod_spec):
    """Returns what the scheduler counts for a Pod, without zero amounts."""
    def of(each):
        resources = each.get("resources", {})
        return {name: quantity(amount) for name, amount in {**resources.get("limits", {}), **resources.get("requests", {})}.items()}
    kept, most = {}, {}
    for each in pod_spec.get("initContainers", []):
        now = sum_of([kept, of(each)])
        if each.get("restartPolicy") == "Always":
            kept = now
        most = greatest(most, now)
    return {name: amount for name, amount in greatest(most, sum_of([kept, *map(of, pod_spec["containers"])])).items() if amount}


def differing(team, name):
    """Returns {(resource, job)} of what Kueue and Signalbox count differently."""
    def both():
        workload, job_set = team.workload(name), team.rest.get("jobsets", name)
        return workload and job_set and (workload, job_set)
    workload, job_set = wait_for("Workload and JobSet", both)
    counted = {each["name"]: requested(each["template"]["spec"]) for each in workload["spec"]["podSets"]}
    built = {each["name"]: requested(each["template"]["spec"]["template"]["spec"]) for each in job_set["spec"]["replicatedJobs"]}
    assert set(counted) == set(built)
    return {(resource, each) for each in built for resource in counted[each] | built[each]
            if counted[each].get(resource) != built[each].get(resource)}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_warning_names_each_resource_that_kueue_counts_otherwise(queue, seed):
    shapes = Shapes(seed)
    with queue(flavor("one", cpu="1"), held=True) as team:
        warned = {}
        for number in range(40):
            made, spec = shapes.one()
            name = made["metadata"]["name"] = f"shape-{number}"
            team.rest.create(made)
            tried = train_job(name, name, "TrainingRuntime", labels={QUEUE_LABEL: "team"}, **spec)

            def answer(tried=tried):
                found = team.answer("POST", "trainjobs", tried)
                return None if "not found" in found[1] else found
            status, message, warned[name] = wait_for("the runtime in Kueue's cache", answer)
            assert status == 201, message
        # "Kueue counts cpu 1 for job node, its Pods request 2"
        said = {name: {(text.split()[2], text.split()[6].rstrip(",")) for text in texts} for name, texts in warned.items()}
        assert said == {name: differing(team, name) for name in said}
        assert len([each for each in said.values() if each]) > 5
