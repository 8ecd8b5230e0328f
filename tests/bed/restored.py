"""Objects as another controller has left them, stored in a control plane once more: with their status, and with the same managers
of the same fields. UIDs and times of creation are new, as they are the API server's to give."""

import copy

from rest import ApiError, path_of

# What points at others by UID comes after them.
ORDER = ["TrainingRuntime", "TrainJob", "ConfigMap", "Secret", "JobSet"]
GIVEN_BY_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


def restore(rest, objects, with_status=("TrainJob",)):
    """Those kinds get the status that they had; the status of others is for the controllers that live here."""
    uids = {}
    for obj in sorted(objects, key=lambda each: ORDER.index(each["kind"])):
        made = copy.deepcopy(obj)
        meta = made["metadata"]
        recorded = {name: meta.pop(name, None) for name in GIVEN_BY_THE_SERVER}
        for owner in meta.get("ownerReferences", []):
            owner["uid"] = uids[owner["uid"]]
        status = made.pop("status", None)
        resource = made["kind"].lower() + "s"
        stored = rest.create(made)
        uids[recorded["uid"]] = stored["metadata"]["uid"]
        path = path_of(resource, meta["namespace"], meta["name"])
        if status and made["kind"] in with_status:
            stored = rest.request("PUT", path + "/status", {**stored, "status": status})
        give_back_managers(rest, path, recorded["managedFields"])


def give_back_managers(rest, path, managed_fields):
    """An update that changes nothing else keeps the managers that it names."""
    while True:
        now = rest.request("GET", path)
        now["metadata"]["managedFields"] = managed_fields
        try:
            rest.request("PUT", path, now)
            return
        except ApiError as error:
            if error.code != 409:  # somebody has written in between
                raise
