"""Stores objects of another controller in a control plane, with their status and their managed fields. UIDs and creation times are
new, because the API server sets them."""

import copy

from rest import ApiError, path_of

# Objects that refer to others by UID come after them.
ORDER = ["TrainingRuntime", "TrainJob", "ConfigMap", "Secret", "JobSet"]
GIVEN_BY_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


def restore(rest, objects, with_status=("TrainJob",)):
    """Stores the objects. Those kinds get their old status; the controllers of this plane write the status of others."""
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
    """Sends an update that changes nothing else, which keeps the managers that it names."""
    while True:
        now = rest.request("GET", path)
        now["metadata"]["managedFields"] = managed_fields
        try:
            rest.request("PUT", path, now)
            return
        except ApiError as error:
            if error.code != 409:  # another write came in between
                raise
