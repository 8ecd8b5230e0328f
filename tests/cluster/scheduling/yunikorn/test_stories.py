"""Gangs that YuniKorn places. Each story has room of its own, so they run at the same time."""

import pytest

from gang_stories import gangs_do_not_wait_for_initializers_of_each_other, twenty_gangs_pass_through_room_for_three
from progress import resume, suspend
from queues import SideBySide
from rooms import wait_for

pytestmark = pytest.mark.long  # YuniKorn has to be built, and a control plane has to start for it alone

NO_ROOM = "request is waiting for cluster resources become available"
PLACEHOLDER = "internal.yunikorn.apache.org/placeholder"


def placeholders(here):
    """Returns the Pods that hold room in the namespace."""
    return [pod for pod in here.rest.list("pods") if pod["metadata"].get("annotations", {}).get(PLACEHOLDER) == "true"]


def until_waits(here, name, nodes=2):
    """Waits until a gang's Pods are there, as many Pods hold or want room for them, and explain says so. None of the former has a node."""
    def look():
        found = here.pods(name)
        owners = {pod["metadata"]["name"] for pod in found}
        wanted = [pod for pod in placeholders(here) if pod["metadata"]["ownerReferences"][0]["name"] in owners]
        assert not [pod for pod in found if "nodeName" in pod["spec"]], f"{name} runs in part"
        return len(found) == len(wanted) == nodes and NO_ROOM in here.explain(name)
    wait_for(f"{name} to wait", look, interval=0.5)


def one_of_two_gangs_runs_whole_and_the_other_waits_whole(room):
    with room({"node-1": 2, "node-2": 1}) as here:
        here.begin("first", "second")
        until_waits(here, "second")
        assert f"no node: room is held for 1 of 2 Pods of its gang: {NO_ROOM}" in here.explain("second")
        here.finish("first")
        here.until_ends("first")
        here.until_runs("second")
        wait_for("no Pod to hold room", lambda: not placeholders(here))


def a_suspended_gang_frees_its_room_and_is_a_gang_again_when_it_is_resumed(room):
    with room({"node-1": 1, "node-2": 1}) as here:
        here.begin("first", "second")
        until_waits(here, "second")
        suspend(here.rest, "first")
        here.until_runs("second")
        resume(here.rest, "first")
        until_waits(here, "first")
        here.finish("second")
        here.until_runs("first")


def a_gang_that_waits_is_suspended_and_waits_again(room):
    with room({"node-1": 2, "node-2": 1}) as here:
        here.begin("first", "second")
        until_waits(here, "second")
        suspend(here.rest, "second")
        wait_for("no Pod to hold room", lambda: not placeholders(here))
        resume(here.rest, "second")
        until_waits(here, "second")
        here.finish("first")
        here.until_runs("second")


def a_launcher_finds_room_beside_its_nodes(room):
    # Room for the nodes of two jobs, but then for no launcher.
    with room({"node-1": 4}) as here:
        here.rest.create(here.launched_runtime())
        here.complete("one", "two", "three", nodes=3)


def a_hard_gang_that_cannot_fit_fails_after_its_timeout(room):
    with room({"node-1": 2}) as here:
        here.rest.create(here.runtime(timeout=5))
        here.submit("large", 3, seconds="never")
        here.until_ends("large", "Failed")
        assert "ResourceReservationTimeout: Scheduling has timed out due to insufficient resources" in here.explain("large")
        wait_for("no Pod to hold room", lambda: not placeholders(here))


def a_soft_gang_that_cannot_fit_runs_in_part_after_its_timeout(room):
    with room({"node-1": 2}, "Soft") as here:
        here.rest.create(here.runtime(timeout=5))
        here.submit("large", 3, seconds="never")
        wait_for("two of three Pods to have a node", lambda: here.placed("large") == 2)
        assert "resuming as non-gang application (SOFT)" in here.explain("large")
        here.resize("node-1", 3)
        here.until_runs("large", 3)


STORIES = {story.__name__: story for story in (
    one_of_two_gangs_runs_whole_and_the_other_waits_whole, a_suspended_gang_frees_its_room_and_is_a_gang_again_when_it_is_resumed,
    a_gang_that_waits_is_suspended_and_waits_again, gangs_do_not_wait_for_initializers_of_each_other,
    a_launcher_finds_room_beside_its_nodes, a_hard_gang_that_cannot_fit_fails_after_its_timeout,
    a_soft_gang_that_cannot_fit_runs_in_part_after_its_timeout, twenty_gangs_pass_through_room_for_three)}


@pytest.fixture(scope="module")
def outcomes(request, room):
    with SideBySide(request, "story", lambda name: STORIES[name](room)) as stories:
        yield stories


@pytest.mark.parametrize("story", STORIES)
def test_a_gang(outcomes, story):
    outcomes.result(story)
