"""Stories of gangs that are the same whoever places them. room: makes a rooms.Room."""

from progress import suspend, until
from rest import ApiError
from rooms import wait_for


def resize_suspended(here, name, nodes):
    """Suspends a job and changes its number of nodes as soon as its Pods are gone."""
    suspend(here.rest, name)
    until(here.rest, name, "Suspended", timeout=90)

    def change():
        try:
            return here.rest.patch("trainjobs", name, {"spec": {"trainer": {"numNodes": nodes}}})
        except ApiError as error:
            if "active" not in str(error) and "before the JobSet is suspended" not in str(error):
                raise
            return None
    wait_for("no active Pods", change)


def gangs_do_not_wait_for_initializers_of_each_other(room):
    with room({"node-1": 2}) as here:
        here.rest.create(here.initialized_runtime())
        here.complete(*(f"initialized-{number}" for number in range(3)))


def twenty_gangs_pass_through_room_for_three(room):
    # There is a place more than three gangs need. No Pod of a fourth one gets it.
    with room({"node-1": 4, "node-2": 3}) as here:
        here.rest.create(here.runtime())
        left = {f"gang-{number}" for number in range(20)}
        for name in left:
            here.submit(name, seconds="never")
        while left:
            def three_run():
                running = here.running()
                return running if list(running.values()).count(2) == min(3, len(left)) else None
            whole = wait_for("as many gangs as there is room for", three_run)
            assert set(whole.values()) == {2}, whole
            for name in whole:
                here.finish(name)
            for name in whole:
                here.until_ends(name)
            left -= set(whole)
