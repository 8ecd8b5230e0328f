"""Stories of gangs that are the same whoever places them. room: makes a rooms.Room."""


def gangs_do_not_wait_for_initializers_of_each_other(room):
    with room({"node-1": 2}) as here:
        here.rest.create(here.initialized_runtime())
        here.complete(*(f"initialized-{number}" for number in range(3)))


def twenty_gangs_pass_through_room_for_three(room):
    with room({"node-1": 4, "node-2": 2}) as here:
        here.rest.create(here.runtime())
        here.complete(*(f"gang-{number}" for number in range(20)), seconds=0.5)
