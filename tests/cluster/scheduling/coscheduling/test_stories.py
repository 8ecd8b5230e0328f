"""Gangs that a real scheduler places: Coscheduling of scheduler-plugins. Each story has room of its own, so they run at the same time.

No two stories have gangs of the same name: the controller of PodGroups counts the Pods of such gangs in all namespaces as one. When it has
seen enough of them end, it never again changes the PodGroups of the others, and only such a change has the scheduler try gangs again.
"""

import pytest

from gang_stories import gangs_do_not_wait_for_initializers_of_each_other, resize_suspended, twenty_gangs_pass_through_room_for_three
from progress import resume, suspend
from queues import SideBySide
from rest import conditions
from rooms import template_of, wait_for

URGENT = "urgent-gang"  # the name of a PriorityClass
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
RACK = "example.com/rack"
# JobSet gives a Job a rack for itself only while no other JobSet, of any namespace, has Pods there, and then keeps theirs out.
EXCLUSIVE_RACK_OF = {"node-5": "c", "node-6": "c", "node-7": "d", "node-8": "d"}
RACK_OF = {"node-1": "a", "node-2": "a", "node-3": "b", "node-4": "b", **EXCLUSIVE_RACK_OF}
NO_ROOM = "resource gap"
TOO_FEW = "cannot find enough sibling pods"


def retried(here):
    """Returns a runtime whose failed Pods are replaced."""
    made = here.runtime()
    del made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"]
    return made


def exclusive(made):
    """Returns the runtime with JobSet's annotation for a rack of its own."""
    made["spec"]["template"]["metadata"] = {"annotations": {EXCLUSIVE: RACK}}
    return made


def racks_of(pods):
    return {RACK_OF[pod["spec"]["nodeName"]] for pod in pods}


def one_of_two_gangs_runs_whole_and_the_other_waits_whole(room):
    with room({"node-1": 2, "node-2": 1}) as here:
        here.begin("first", "second")
        here.until_refused("second", NO_ROOM)
        said = here.explain("second")
        assert "State     waits for its Pods" in said and f"no node: 0/8 nodes are available: {NO_ROOM}" in said
        waits = wait_for("the condition of the second", lambda: conditions(here.rest.get("trainjobs", "second")).get("GangReady"))
        assert (waits["status"], waits["reason"]) == ("False", "PodsNotReady")
        here.finish("first")
        here.until_ends("first")
        here.until_runs("second")


def a_suspended_gang_frees_its_room(room):
    with room({"node-1": 1, "node-2": 1}) as here:
        here.begin("early", "late")
        here.until_refused("late", NO_ROOM)
        suspend(here.rest, "early")
        here.until_runs("late")
        resume(here.rest, "early")
        here.until_refused("early", NO_ROOM)
        here.finish("late")
        here.until_runs("early")


def a_gang_is_as_large_as_its_job_became_while_it_was_suspended(room):
    with room({"node-1": 3}) as here:
        here.rest.create(here.runtime())
        here.submit("resized", seconds="never")
        here.until_runs("resized")
        resize_suspended(here, "resized", 4)
        wait_for("a larger gang", lambda: here.gang("resized")["minMember"] == 4)
        resume(here.rest, "resized")
        here.until_refused("resized", NO_ROOM, nodes=4)
        resize_suspended(here, "resized", 3)
        resume(here.rest, "resized")
        here.until_runs("resized", 3)
        assert here.gang("resized") == {"minMember": 3, "minResources": {here.resource: "3"}, "scheduleTimeoutSeconds": 60}


def a_launcher_finds_room_beside_its_nodes(room):
    # Room for the nodes of two jobs, but then for no launcher.
    with room({"node-1": 4}) as here:
        here.rest.create(here.launched_runtime())
        here.complete(*(f"launched-{number}" for number in range(3)), nodes=3)
        gang = here.gang("launched-0")
        assert gang["minMember"] == 2 and gang["minResources"] == {here.resource: "3"}


def a_gang_that_cannot_fit_says_so_after_its_timeout_and_runs_once_it_fits(room):
    # 22 places are as many as eleven Pods with two each need, but the last two places are on different nodes.
    with room({"node-1": 20, "node-2": 1, "node-3": 1}) as here:
        here.rest.create(here.runtime(places=2, timeout=2))
        here.submit("scattered", 11, seconds="never")
        timeout = "rejected due to timeout after waiting 2s at plugin Coscheduling"
        wait_for("an event of a Pod", lambda: any(
            event["reason"] == "FailedScheduling" and timeout in event["note"] for event in here.rest.list("events")))
        said = wait_for("explain to show it", lambda: (lambda text: text if timeout in text else None)(here.explain("scattered")), interval=1)
        assert "Pods      11 Pending" in said
        here.resize("node-2", 2)
        here.until_runs("scattered", 11)


def an_urgent_gang_overtakes_those_that_wait_and_evicts_none_that_runs(room):
    # A refused gang is not tried again for seconds. If room comes just then, another one takes it. So one that waits may still run before
    # the urgent one, but not all of them. They have one Pod each, so that their room comes and goes as a whole.
    waits = [f"waiting-{number}" for number in range(4)]
    with room({"node-1": 2}) as here:
        here.rest.create(here.runtime(places=2))
        urgent = here.runtime("urgent")
        template_of(urgent)["spec"]["priorityClassName"] = URGENT
        here.rest.create(urgent)
        here.submit("running", nodes=1, seconds="never")
        before = here.until_runs("running", 1)
        for name in waits:
            here.submit(name, nodes=1, seconds="never")
            here.until_refused(name, NO_ROOM, 1)
        here.submit("urgent", runtime_name="urgent", seconds="never")
        refused = here.until_refused("urgent", NO_ROOM)
        assert "Preemption is not helpful" in str(refused)
        assert {pod["metadata"]["uid"] for pod in here.until_runs("running", 1)} == {pod["metadata"]["uid"] for pod in before}
        runs = "running"
        while runs != "urgent":
            here.finish(runs)
            runs = wait_for("the next one to have room", lambda: next((name for name in ("urgent", *waits) if here.placed(name)), None))
            here.until_runs(runs, 2 if runs == "urgent" else 1)
            waits = [name for name in waits if name != runs]
        assert waits
        here.until_refused(waits[0], NO_ROOM, 1)


def a_replaced_pod_joins_its_gang(room):
    with room({"node-1": 2}) as here:
        here.rest.create(retried(here))
        here.submit("replaced", seconds="never")
        failed, kept = (pod["metadata"]["name"] for pod in here.until_runs("replaced"))
        here.end(failed, "Failed")
        def look():
            names = {pod["metadata"]["name"] for pod in here.pods("replaced") if pod["status"]["phase"] == "Running"}
            return len(names) == 2 and kept in names
        wait_for("another Pod", look)


def until_it_waits_for_one_that_has_ended(here, name):
    """Ends the two Pods of a gang, and returns the name of the one that is made for the one that fails."""
    here.rest.create(retried(here))
    here.submit(name, seconds="never")
    ended, failed = (pod["metadata"]["name"] for pod in here.until_runs(name))
    here.end(ended, "Succeeded")
    here.end(failed, "Failed")
    return wait_for("a Pod that waits for the one that has ended", lambda: [
        pod["metadata"]["name"] for pod in here.pods(name)
        if TOO_FEW in str(pod["status"].get("conditions")) and pod["status"]["phase"] == "Pending"])[0]


def a_pod_waits_for_members_that_have_ended_until_its_job_is_resumed(room):
    with room({"node-1": 2}) as here:
        replaced = until_it_waits_for_one_that_has_ended(here, "shrunk")
        suspend(here.rest, "shrunk")
        wait_for("its Pod to go", lambda: replaced not in {pod["metadata"]["name"] for pod in here.pods("shrunk")})
        resume(here.rest, "shrunk")
        here.until_runs("shrunk", 1)
        assert here.gang("shrunk") == {"minMember": 1, "minResources": {here.resource: "1"}, "scheduleTimeoutSeconds": 60}


def a_pod_waits_for_members_that_have_ended_until_the_pod_group_is_smaller(room):
    with room({"node-1": 2}) as here:
        until_it_waits_for_one_that_has_ended(here, "patched")
        here.rest.patch("podgroups", "patched", {"spec": {"minMember": 1}})
        here.until_runs("patched", 1)


def exclusive_topology_gives_each_job_a_rack_of_its_own(room):
    with room({node: 2 for node in EXCLUSIVE_RACK_OF}, gangs=False) as here:
        made = exclusive(here.runtime())
        del made["spec"]["podGroupPolicy"]
        here.rest.create(made)
        racks = []
        for name in ("first", "second"):
            here.submit(name, seconds="never")
            racks.append(racks_of(here.until_runs(name)))
        assert racks in ([{"c"}, {"d"}], [{"d"}, {"c"}])
        here.submit("third", seconds="never")
        here.until_refused("third", "anti-affinity", 1)
        suspend(here.rest, "first")
        assert racks_of(here.until_runs("third")) == racks[0]


def a_gang_with_exclusive_topology_waits_in_vain_for_pods_that_come_later(room):
    with room({node: 1 for node in EXCLUSIVE_RACK_OF}) as here:
        here.rest.create(exclusive(here.runtime()))
        here.submit("stuck", seconds="never")
        here.until_refused("stuck", TOO_FEW, 1)
        wait_for("a Job without its other Pod", lambda: "follower pod" in here.explain("stuck"), interval=1)
        assert here.placed("stuck") == 0


def a_gang_can_be_kept_in_one_rack(room):
    with room({"node-1": 1, "node-3": 1, "node-4": 1}) as here:
        made = here.runtime()
        template_of(made)["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": RACK, "labelSelector": {}, "matchLabelKeys": ["jobset.sigs.k8s.io/jobset-uid"]}]}}
        here.rest.create(made)
        here.submit("near", seconds="never")
        assert racks_of(here.until_runs("near")) == {"b"}


STORIES = {story.__name__: story for story in (
    one_of_two_gangs_runs_whole_and_the_other_waits_whole, a_suspended_gang_frees_its_room,
    a_gang_is_as_large_as_its_job_became_while_it_was_suspended, gangs_do_not_wait_for_initializers_of_each_other,
    a_launcher_finds_room_beside_its_nodes, a_gang_that_cannot_fit_says_so_after_its_timeout_and_runs_once_it_fits,
    twenty_gangs_pass_through_room_for_three, an_urgent_gang_overtakes_those_that_wait_and_evicts_none_that_runs,
    a_replaced_pod_joins_its_gang, a_pod_waits_for_members_that_have_ended_until_its_job_is_resumed,
    a_pod_waits_for_members_that_have_ended_until_the_pod_group_is_smaller,
    a_gang_can_be_kept_in_one_rack, exclusive_topology_gives_each_job_a_rack_of_its_own,
    a_gang_with_exclusive_topology_waits_in_vain_for_pods_that_come_later)}


@pytest.fixture(scope="module")
def outcomes(request, room, admin):
    admin.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": URGENT}, "value": 1000}, "priorityclasses")
    for node, rack in RACK_OF.items():
        admin.patch("nodes", node, {"metadata": {"labels": {RACK: rack}}})
    with SideBySide(request, "story", lambda name: STORIES[name](room)) as stories:
        yield stories


@pytest.mark.parametrize("story", STORIES)
def test_a_gang(outcomes, story):
    outcomes.result(story)
