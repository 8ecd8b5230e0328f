"""Metadata of other owners' objects that Signalbox's accounts may change, by base/account-policy.yaml: they may remove the finalizer of
older controllers, with the change of managed fields that the API server makes of it."""

import base64
import copy

import pytest

from accounts import ANOTHER, IN_USE, JOB_SET, MANAGER, METADATA, apply, is_allowed, merge_patch, refused
from jobs import train_job
from rest import ApiError, wait_for

TRAINER = "/apis/trainer.kubeflow.org/v1alpha1/"
PARENT = {"ClusterTrainingRuntime": TRAINER + "clustertrainingruntimes", "TrainingRuntime": TRAINER + "namespaces/default/trainingruntimes",
          "TrainJob": TRAINER + "namespaces/default/trainjobs"}


def runtime(kind="ClusterTrainingRuntime", spec=JOB_SET, **metadata):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "spec": {"template": {"spec": spec}},
            "metadata": {"name": "kept", **metadata}}


@pytest.fixture
def kept(rest):
    """Creates objects that `gitops` and `security` apply: returns the path of each. They are deleted after the test."""
    made = []

    def make(what, addition):
        path = f"{PARENT[what['kind']]}/kept"
        made.append(path)
        apply(rest, path, what, "gitops")
        apply(rest, path, addition, "security")
        return path
    yield make
    for path in made:
        merge_patch(rest, path, {"metadata": {"finalizers": []}})
        rest.request("DELETE", path)


def guard(kind="ClusterTrainingRuntime"):
    """Returns what `security` adds to a runtime of `gitops`."""
    pod = {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"isolated": "yes"}}}}}}
    return runtime(kind, {"replicatedJobs": [pod]}, labels={"guard": "yes"})


def changes_of_metadata(rest):
    """Yields another value, and none, for each field of ObjectMeta in the API server's schema."""
    schemas = rest.request("GET", "/openapi/v3/api/v1")["components"]["schemas"]
    for name, field in schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"].items():
        if name == "managedFields":
            continue
        kind = field.get("type") or "time"
        value = {"string": "7", "integer": 7, "object": {"changed": "yes"}, "array": ["example.com/changed"],
                 "time": "2026-01-15T10:00:00Z"}[kind]
        yield name, {"ownerReferences": [ANOTHER]}.get(name, value)
        yield name, None


def merged(one, other):
    """Merges two trees of fields."""
    return {key: merged(one.get(key, {}), other.get(key, {})) for key in one.keys() | other.keys()}


def cut_back(fields):
    """Yields the tree without each of its branches, and with that branch empty, which stands for the field itself."""
    for name, below in fields.items():
        yield {key: value for key, value in fields.items() if key != name}
        for less in [{}, *cut_back(below)] if below else []:
            yield {**fields, name: less}


def changes_of_field_owners(seen):
    """Yields changed managed fields: each entry removed, with another manager, time, more and fewer fields; no entries; one for all."""
    there = seen["metadata"]["managedFields"]
    everything = {}
    for entry in there:
        everything = merged(everything, entry["fieldsV1"])
    yield from (None, [], [{}])
    yield [{**there[0], "fieldsV1": everything}]
    for number, entry in enumerate(there):
        others = there[:number] + there[number + 1:]
        yield others
        for changed in ({"manager": "trainer"}, {"operation": "Apply" if entry["operation"] == "Update" else "Update"},
                        {"time": "2020-01-15T10:00:00Z"}, {"fieldsV1": everything}, {"fieldsV1": {}},
                        *({"fieldsV1": {**entry["fieldsV1"], part: {}}} for part in everything),
                        *({"fieldsV1": fields} for fields in cut_back(entry["fieldsV1"]))):
            yield [*others, {**entry, **changed}]
    for operation in ("Apply", "Update"):
        for subresource in ({}, {"subresource": "status"}):
            for manager in ("trainer", "another"):
                yield [*there, {**there[0], "manager": manager, "operation": operation, "fieldsV1": everything, **subresource}]


def unchanged_fields(client, path, changes, patched, manager=MANAGER):
    """Tries the changes one by one as that field manager, and checks that none has an effect. Returns {field: status codes}."""
    def settled(metadata):
        return {name: value for name, value in metadata.items() if name not in ("resourceVersion", "generation")}
    tried, seen = {}, client.request("GET", path.removesuffix("/status"))
    for name, value in [*changes, *(("managedFields", value) for value in changes_of_field_owners(seen))]:
        wanted = copy.deepcopy(seen)
        wanted["metadata"][name] = value
        outcome = tried.setdefault(name, set())
        try:
            if patched:
                now = merge_patch(client, f"{path}?{manager}&dryRun=All", {"metadata": {name: value}})
            else:
                now = client.request("PUT", f"{path}?{manager}&dryRun=All", wanted)
        except ApiError as error:
            assert error.code in (400, 403, 409, 422), (name, str(error))
            outcome.add(error.code)
        else:
            assert settled(now["metadata"]) == settled(seen["metadata"]), f"{name}: {value}"
            outcome.add(200)
    return tried


@pytest.mark.parametrize("kind", ["ClusterTrainingRuntime", "TrainingRuntime"])
def test_no_field_of_a_runtimes_metadata_changes_and_so_it_has_no_false_owner(rest, thief, kept, kind):
    path = kept(runtime(kind, **METADATA), guard(kind))
    tried = unchanged_fields(thief, path, changes_of_metadata(rest), patched=True)
    assert {name for name, codes in tried.items() if 403 in codes} >= {
        "ownerReferences", "labels", "annotations", "finalizers", "managedFields"}
    assert "generateName" in tried


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
def test_no_field_of_the_configurations_metadata_changes_and_so_admission_stays(rest, thief_of_webhook, configurations, kind):
    path = configurations[kind]
    wait_for("the role", lambda: is_allowed(lambda: thief_of_webhook.request("GET", path)))
    configuration = rest.request("GET", path)
    addition = {"apiVersion": configuration["apiVersion"], "kind": configuration["kind"],
                "metadata": {"name": configuration["metadata"]["name"], "labels": {"guard": "yes"}}}
    apply(rest, path, addition, "security")
    tried = unchanged_fields(thief_of_webhook, path, changes_of_metadata(rest), patched=False)
    assert len(tried) >= 14 and 403 in tried["managedFields"]


@pytest.mark.parametrize("account, manager", [("thief", "trainer"), ("thief_of_progress", "trainer-status")])
def test_no_field_of_a_train_jobs_metadata_changes_with_its_status(rest, request, kept, account, manager):
    """The API server enforces that by itself: it takes the metadata of what is stored, and the managedFields, too."""
    client = request.getfixturevalue(account)
    job = train_job("kept", "any")
    path = kept(job, {"apiVersion": job["apiVersion"], "kind": "TrainJob", "metadata": {"name": "kept", "labels": {"guard": "yes"}}})
    tried = unchanged_fields(client, f"{path}/status", changes_of_metadata(rest), patched=True, manager=f"fieldManager={manager}")
    assert len(tried) >= 14


def owners_of(what):
    return [(each["manager"], each["operation"]) for each in what["metadata"]["managedFields"]]


def test_applied_fields_keep_their_managers_so_that_the_next_apply_removes_nothing_of_another(rest, thief, kept):
    path = kept(runtime(), guard())
    seen = rest.request("GET", path)
    git, security = (next(each for each in seen["metadata"]["managedFields"] if each["manager"] == manager)
                     for manager in ("gitops", "security"))
    everything = [{**git, "fieldsV1": merged(git["fieldsV1"], security["fieldsV1"])}]
    assert refused(lambda: merge_patch(thief, path, {"metadata": {"managedFields": everything}}))
    # In the name of another manager, which changes only the owner.
    whole = {name: seen[name] for name in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "kept", "labels": {"guard": "yes"}}}
    for manager in ("gitops", "trainer", "another"):
        assert refused(lambda: apply(thief, path, whole, manager)), manager
    now = apply(rest, path, runtime(), "gitops")
    assert now["metadata"]["labels"] == {"guard": "yes"}
    assert now["spec"] == seen["spec"]


@pytest.mark.parametrize("others", [[], ["example.com/of-others"]], ids=["alone", "with-others"])
def test_the_finalizer_of_older_controllers_is_removed_with_its_managed_fields(rest, thief, kept, others):
    path = kept(runtime(), guard())
    if others:
        apply(rest, path, runtime(finalizers=[IN_USE, *others]), "gitops")
    merge_patch(rest, f"{path}?fieldManager=older", {"metadata": {"finalizers": [*others, IN_USE]}})
    merge_patch(rest, f"{path}?fieldManager=edit", {"metadata": {"finalizers": [IN_USE, *others]}})
    now = merge_patch(thief, f"{path}?{MANAGER}", {"metadata": {"finalizers": others}})
    assert now["metadata"].get("finalizers", []) == others
    assert {("gitops", "Apply"), ("security", "Apply")} <= set(owners_of(now))


@pytest.mark.parametrize("added", [
    {"f:finalizers": {}}, {"f:finalizers": {".": {}}}, {"f:finalizers": {'v:"example.com/of-others"': {}}},
    {"f:labels": {"f:guard": {}}}, {},
], ids=["all", "list", "of-others", "label", "metadata"])
def test_with_that_finalizer_no_other_field_gets_an_owner_that_would_drop_it(rest, thief, kept, added):
    path = kept(runtime(), runtime(spec={}, labels={"guard": "yes"}, finalizers=["example.com/of-others"]))
    seen = merge_patch(rest, f"{path}?fieldManager=older", {"metadata": {"finalizers": ["example.com/of-others", IN_USE]}})
    entries = [{**each, "fieldsV1": {**each["fieldsV1"], "f:metadata": added}} if each["manager"] == "gitops" else each
               for each in seen["metadata"]["managedFields"]]
    change = {"metadata": {"finalizers": ["example.com/of-others"], "managedFields": entries}}
    assert refused(lambda: merge_patch(thief, f"{path}?{MANAGER}", change))
    del change["metadata"]["managedFields"]
    assert merge_patch(thief, f"{path}?{MANAGER}", change)


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
@pytest.mark.parametrize("former", ["applied", "updated", "twelve managers"])
def test_the_webhook_takes_over_the_ca_that_another_has_written(rest, thief_of_webhook, configurations, kind, former):
    path = configurations[kind]

    def fill(client, manager, bundle):
        configuration = client.request("GET", path)
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(bundle.encode()).decode()
        return client.request("PUT", f"{path}?fieldManager={manager}", configuration)
    ca = rest.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")["data"]["client-ca-file"]
    wait_for("the role", lambda: is_allowed(lambda: fill(thief_of_webhook, "trainer", ca)))
    if former == "applied":
        configuration = rest.request("GET", path)
        del configuration["metadata"]
        configuration["metadata"] = {"name": path.rpartition("/")[2]}
        apply(rest, path, configuration, "gitops")
        fill(rest, "another", ca + ca)
        configuration["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode((ca + ca).encode()).decode()
        apply(rest, path, configuration, "gitops")
    else:
        fill(rest, "another", ca + ca)
    if former == "twelve managers":
        for number in range(12):
            merge_patch(rest, f"{path}?fieldManager=m{number}", {"metadata": {"annotations": {f"example.com/{number}": "any"}}})
    now = fill(thief_of_webhook, "trainer", ca + ca + ca)
    assert ("trainer", "Update") in owners_of(now) and ("another", "Update") not in owners_of(now)
