"""Members that a token of Signalbox's accounts may change: of every member of the schemas, those that the policies name. A schema that
gets another member is tried with it."""

import copy

import pytest
import yaml

from accounts import ANOTHER, IN_USE, JOB_SET, MANAGER, METADATA, OWNER, PATH, is_allowed, merge_patch, obj, refused
from jobs import train_job
from members import attempt, changed_members, two_values
from paths import ROOT
from rest import wait_for
from test_account_metadata import TRAINER, runtime
from test_account_objects import certificate, event

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainjobs.trainer.kubeflow.org"
STATUS = yaml.safe_load((ROOT / "manifests" / "base" / "crds" / "trainjobs.yaml").read_text())[
    "spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
OF_PROGRESS = {"trainerStatus"}
MANAGER_OF = {"thief": "trainer", "thief_of_progress": "trainer-status", "thief_of_webhook": "trainer"}
MAY_WRITE = {"thief": STATUS.keys() - OF_PROGRESS, "thief_of_progress": OF_PROGRESS, "thief_of_webhook": set()}


@pytest.fixture
def walked(rest):
    """Returns a TrainJob's status in the API."""
    path = TRAINER + "namespaces/default/trainjobs"
    rest.request("POST", path, train_job("walked", "any"))
    merge_patch(rest, f"{path}/walked/status", {"status": {"restarts": 7}})
    yield f"{path}/walked/status"
    rest.request("DELETE", f"{path}/walked")


def writes(name, schema):
    """Yields what is stored of the member, and a merge patch of it: adds, changes and removes it, and each member below it."""
    one, other = two_values(schema)
    yield from ((None, one), (one, other), (one, None))
    if isinstance(one, dict):
        for below in one:
            less = {key: value for key, value in one.items() if key != below}
            yield from ((less, {below: one[below]}), (one, {below: other[below]}), (one, {below: None}))


def outcomes(rest, client, path, manager):
    """Returns {member of status: whether the client may write it}. Tries every write that an administrator may do."""
    whole = {name: two_values(schema)[0] for name, schema in STATUS.items()}
    found = {}
    for name, schema in STATUS.items():
        for stored, patch in writes(name, schema):
            status = {**whole, name: stored} if stored is not None else {key: value for key, value in whole.items() if key != name}
            seen = attempt(lambda status=status: rest.request("PUT", path, {**rest.request("GET", path), "status": status}))
            if seen == "invalid":
                continue

            def write(by, seen=seen, change={"status": {name: patch}}):
                now = merge_patch(by, f"{path}?fieldManager={manager}&dryRun=All", change)
                assert now["status"] != seen["status"], f"the write changes something: {change}"
                return now
            if attempt(lambda: write(rest)) != "invalid":
                found.setdefault(name, []).append(attempt(lambda: write(client)) != "denied")
        assert len(found.get(name, [])) >= 3, f"{name} is tried: members.py has a value for its schema"
    assert all(len(set(tries)) == 1 for tries in found.values()), found
    return {name: tries[0] for name, tries in found.items()}


@pytest.mark.parametrize("account", MAY_WRITE)
def test_an_account_changes_only_the_members_of_a_status_that_it_writes(rest, request, walked, account):
    client = request.getfixturevalue(account)
    tried = outcomes(rest, client, walked, MANAGER_OF[account])
    assert tried.keys() == STATUS.keys()
    assert {name for name, may_write in tried.items() if may_write} == MAY_WRITE[account], \
        "each member of the status is written by one account: account-policy.yaml names what it may write"


@pytest.fixture
def invented(rest):
    """Adds a member to the schema of TrainJobs' status, for one test."""
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/invented"

    def change(*operations):
        rest.request("PATCH", CRD, list(operations), "application/json-patch+json")
    change({"op": "add", "path": path, "value": {"type": "string"}})
    yield {"status": {"invented": "any"}}
    change({"op": "remove", "path": path})


def test_a_member_that_a_later_schema_adds_to_the_status_is_denied(rest, thief, thief_of_progress, walked, invented):
    def is_served():
        return merge_patch(rest, f"{walked}?dryRun=All", invented)["status"].get("invented") == "any"
    wait_for("the member to be served", is_served)
    for client, manager in ((thief, "trainer"), (thief_of_progress, "trainer-status")):
        assert refused(lambda: merge_patch(client, f"{walked}?fieldManager={manager}&dryRun=All", invented))


@pytest.mark.parametrize("account, member", [("thief", "restarts"), ("thief_of_progress", "trainerStatus")])
def test_the_status_is_written_only_under_the_name_of_the_accounts_own_manager(rest, request, walked, account, member):
    """Managers lose fields that another writes, and would lose with an apply in their name what they leave out."""
    client, own = request.getfixturevalue(account), MANAGER_OF[account]
    whole = {"apiVersion": TRAINER[6:-1], "kind": "TrainJob", "metadata": {"name": "walked", "namespace": "default"},
             "status": {member: two_values(STATUS[member])[0]}}

    def write(manager, kind):
        return client.request("PATCH", f"{walked}?dryRun=All{manager}{'&force=true' if 'apply' in kind else ''}", whole, kind)
    for kind in ("application/apply-patch+yaml", "application/merge-patch+json"):
        for other in {"trainer", "trainer-status", "kubectl"} - {own}:
            assert refused(lambda: write(f"&fieldManager={other}", kind)), (other, kind)
        assert write(f"&fieldManager={own}", kind)
    assert refused(lambda: write("", "application/merge-patch+json")), "the API server names the manager after the client"


def with_metadata(kind, name, **fields):
    """Returns an object whose members of metadata can be changed and removed, too."""
    made = obj(kind, name, **fields)
    made["metadata"] |= {key: METADATA[key] for key in ("labels", "annotations")}
    return made


WORKLOAD = {"spec", "metadata.annotations", "metadata.labels"}
CERTIFICATE = {"data": [{"tls.crt": "YQ==", "tls.key": "YQ=="}]}
HOLDER, GANG = ({"spec": [{name: another}]} for name, another in (("holderIdentity", "another"), ("minMember", 2)))
SUSPENDED = {"spec": [{**JOB_SET, "suspend": True}]}


def lease(name, make):
    return make("Lease", name, owners=(), spec={"holderIdentity": "one"})


# (account, what is stored, members that it may change, what is written of members instead of values from the schema)
CHANGES = [
    ("thief", with_metadata("ConfigMap", "job-mpi-hostfile", data={"one": "any"}), {"binaryData", "data", "immutable", "metadata.annotations"},
     {"metadata.annotations": [{}, {"any": "yes"}, {**METADATA["annotations"], "trainer.kubeflow.org/applied-hash": "any"}]}),
    ("thief", with_metadata("JobSet", "job"), WORKLOAD, SUSPENDED),
    ("thief", with_metadata("PodGroup", "job", spec={"minMember": 1}), WORKLOAD, GANG),
    ("thief", event(), {"count", "lastTimestamp", "series"}, {}),
    ("thief", lease("trainer.kubeflow.org", with_metadata), {"spec"}, HOLDER),
    ("thief", runtime(**{**METADATA, "finalizers": ["example.com/of-others", IN_USE]}), {"metadata.finalizers"},
     {"metadata.finalizers": [[], [IN_USE], ["example.com/any"], ["example.com/of-others"]],
      "spec": [{"template": {"spec": SUSPENDED["spec"][0]}}]}),
    ("thief_of_webhook", certificate(), {"data"}, CERTIFICATE),
    ("thief_of_progress", lease("signalbox-progress", with_metadata), {"spec"}, HOLDER),
    ("thief_of_progress", certificate(name="signalbox-progress-cert"), {"data"}, CERTIFICATE),
]
# The same of what it creates. The certificates are created by an apply: test_account_objects.py.
CREATIONS = [
    ("thief", obj("ConfigMap", "job-mpi-hostfile"), {"binaryData", "data", "immutable"}, {}),
    ("thief", obj("Secret", "job-flux-curve", type="Opaque"), {"data"}, {}),
    ("thief", obj("JobSet", "job"), WORKLOAD, SUSPENDED),
    ("thief", obj("PodGroup", "job", spec={"minMember": 1}), WORKLOAD, GANG),
    ("thief", event(), {"action", "count", "eventTime", "firstTimestamp", "lastTimestamp", "message", "reason", "reportingInstance",
                        "type"}, {}),
    ("thief", lease("trainer.kubeflow.org", obj), {"spec"}, HOLDER),
    ("thief_of_progress", lease("signalbox-progress", obj), {"spec"}, HOLDER),
]
# What the API server sets, and what no account can change. Of an object that it may write, an account may change the managedFields;
# test_account_metadata.py has those of objects of others.
BY_SERVER = {f"metadata.{name}" for name in (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "name", "namespace",
    "resourceVersion", "selfLink", "uid")}


def members_of(rest, what, better):
    """Returns {member: values, and None if it can be removed} of the kind in the API server's schema, with those of ObjectMeta as
    "metadata.NAME"."""
    group, _, version = what["apiVersion"].rpartition("/")
    document = rest.request("GET", f"/openapi/v3/{f'apis/{group}' if group else 'api'}/{version}")["components"]["schemas"]
    own = next(schema for schema in document.values() if any(
        each["kind"] == what["kind"] and each["group"] == group for each in schema.get("x-kubernetes-group-version-kind", [])))
    of_metadata = next(schema for name, schema in document.items() if name.endswith(".meta.v1.ObjectMeta"))
    schemas = {name: schema for name, schema in own["properties"].items() if name not in ("apiVersion", "kind", "metadata", "status")}
    schemas |= {f"metadata.{name}": schema for name, schema in of_metadata["properties"].items()}
    given = {"metadata.finalizers": [["example.com/any"], []], "metadata.ownerReferences": [[ANOTHER], [OWNER, {**ANOTHER, "controller": False}], []],
             "metadata.managedFields": [[{}], []], "metadata.resourceVersion": ["7"], **better}
    return {name: [*(given[name] if name in given else two_values(schema, document)), None] for name, schema in schemas.items()}


def with_member(what, member, value):
    """Returns a copy of the object with that value; without the member if the value is None."""
    changed = copy.deepcopy(what)
    *parents, name = member.split(".")
    place = changed
    for parent in parents:
        place = place.setdefault(parent, {})
    place.pop(name, None)
    if value is not None:
        place[name] = value
    return changed


def parent_of(what):
    return PATH.get(what["kind"], TRAINER + "clustertrainingruntimes").format(
        "kubeflow-system" if what["kind"] == "Lease" or what.get("type") == "kubernetes.io/tls" else "default")


def walk(rest, client, seen, members, write):
    """Tries each value of each member that an administrator may write: returns the members that the client changes. `write(by, member,
    value)` returns the object after the write."""
    changed, tried = set(), set()
    for member, values in members.items():
        for value in values:
            possible, now = (attempt(lambda by=by: write(by, member, value)) for by in (rest, client))  # pylint: disable=cell-var-from-loop
            if isinstance(now, dict):
                changed |= changed_members(seen, now) - BY_SERVER
            if isinstance(possible, dict) and changed_members(seen, possible) - BY_SERVER:
                tried.add(member)
                assert now != "invalid", (member, value)
    return changed, members.keys() - tried - BY_SERVER


@pytest.mark.parametrize("account, what, may_change, better", CHANGES)
def test_an_account_changes_only_the_members_of_objects_that_it_writes(rest, request, account, what, may_change, better):
    client = request.getfixturevalue(account)
    made = rest.request("POST", parent_of(what), what)
    path = f"{parent_of(what)}/{what['metadata']['name']}"

    def write(by, member, value):
        if what["kind"] in ("ConfigMap", "Lease", "Secret"):
            return by.request("PUT", f"{path}?{MANAGER}&dryRun=All", with_member(made, member, value))
        *parents, name = member.split(".")
        return merge_patch(by, f"{path}?{MANAGER}&dryRun=All", {parents[0]: {name: value}} if parents else {name: value})
    try:
        wait_for("the role", lambda: is_allowed(lambda: write(client, "metadata.name", what["metadata"]["name"])))
        changed, untried = walk(rest, client, made, members_of(rest, what, better), write)
    finally:
        merge_patch(rest, path, {"metadata": {"finalizers": []}})
        rest.request("DELETE", path)
    assert changed == may_change
    assert untried <= {"type", "metadata.generateName"}, "no client changes these"


@pytest.mark.parametrize("account, what, may_set, better", CREATIONS)
def test_an_account_creates_objects_only_with_the_members_that_it_writes(rest, request, account, what, may_set, better):
    client = request.getfixturevalue(account)

    def write(by, member, value):
        return by.request("POST", f"{parent_of(what)}?{MANAGER}&dryRun=All", with_member(what, member, value))
    made = write(client, "metadata.name", what["metadata"]["name"])
    changed, untried = walk(rest, client, made, members_of(rest, what, better), write)
    assert changed == may_set
    assert not untried, "members.py has values for these"
