"""What base/account-policy.yaml lets our accounts make and change of what is theirs: what our programs make, and no orders to other
controllers with it."""

import copy
import json

import pytest

from accounts import ANOTHER, IN_USE, MANAGER, OWNER, PATH, create, is_allowed, merge_patch, obj, refused
from paths import ROOT
from rest import wait_for

CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
NAME = {"Secret": "job-flux-curve", "ConfigMap": "job-runtime-snapshot", "JobSet": "job", "PodGroup": "job"}
ORDERS = {"labels": {"example.com/any": "yes"}, "annotations": {"example.com/any": "yes"}, "finalizers": ["example.com/never"]}


def built():
    """Of what the builder's examples want, the Secrets and ConfigMaps: one for each ending of a name."""
    found = {}
    for path in sorted((ROOT / "tests" / "data" / "build").glob("*/want.json")):
        for each in json.loads(path.read_text()).get("objects", []):
            if each["kind"] in ("Secret", "ConfigMap"):
                owner = each["metadata"]["ownerReferences"][0]["name"]
                found[each["kind"], each["metadata"]["name"].removeprefix(owner)] = each
    return found


def test_what_the_builder_makes_may_be_made(thief):
    endings = built()
    assert endings.keys() == {("Secret", "-flux-curve"), ("Secret", "-mpi-ssh-auth"), ("ConfigMap", "-runtime-snapshot"),
                              ("ConfigMap", "-mpi-hostfile"), ("ConfigMap", "-flux-entrypoint"), ("ConfigMap", "-tls-config")}
    for each in endings.values():
        metadata = each["metadata"] | {"namespace": "default"}
        if each["kind"] == "ConfigMap":
            metadata["annotations"] = {"trainer.kubeflow.org/applied-hash": "any"}
        assert create(thief, {**each, "metadata": metadata, "data": dict.fromkeys(each["data"], "YQ==")})


@pytest.mark.parametrize("kind", ["JobSet", "PodGroup"])
def test_what_a_train_job_runs_as_may_be_made_with_the_labels_and_annotations_of_its_runtime(thief, kind):
    assert create(thief, obj(kind, NAME[kind], metadata={name: ORDERS[name] for name in ("labels", "annotations")}))


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "JobSet", "PodGroup"])
@pytest.mark.parametrize("owners", [
    [], [ANOTHER], [{**OWNER, "controller": False}], [{**OWNER, "apiVersion": "example.com/v1"}],
    [OWNER, {**ANOTHER, "controller": False, "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a90"}],
], ids=["none", "another", "not-controlling", "of-another-group", "and-another"])
def test_nothing_is_made_but_for_one_train_job_that_controls_it(thief, kind, owners):
    assert refused(lambda: create(thief, obj(kind, NAME[kind], owners=owners)))


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "JobSet", "PodGroup"])
def test_nothing_that_is_made_has_a_finalizer_that_would_keep_its_namespace_from_going(thief, kind):
    assert create(thief, obj(kind, NAME[kind]))
    for finalizer in ("example.com/never", "foregroundDeletion", IN_USE):
        assert refused(lambda: create(thief, obj(kind, NAME[kind], metadata={"finalizers": [finalizer]})))


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
@pytest.mark.parametrize("metadata", [
    {"labels": {"example.com/any": "yes"}}, {"labels": {"app.kubernetes.io/part-of": "signalbox"}},
    {"annotations": {"example.com/any": "yes"}},
], ids=["label", "our-label", "annotation"])
def test_secrets_and_config_maps_carry_no_orders_to_other_controllers(thief, kind, metadata):
    assert refused(lambda: create(thief, obj(kind, NAME[kind], metadata=metadata)))


@pytest.mark.parametrize("kind, name, fields", [
    ("Secret", "signalbox-webhook-cert", {}), ("Secret", "any", {}), ("Secret", "job-runtime-snapshot", {}),
    ("Secret", "another-flux-curve", {}), ("Secret", "job-flux-curve", {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": "YQ=="}}),
    ("Secret", "job-mpi-ssh-auth", {}), ("ConfigMap", "kube-root-ca.crt", {}), ("ConfigMap", "coredns", {}),
    ("ConfigMap", "job-flux-curve", {}), ("ConfigMap", "another-runtime-snapshot", {}),
], ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("namespace", ["default", "kubeflow-system"])
def test_secrets_and_config_maps_have_names_after_their_job_and_use(thief, kind, name, fields, namespace):
    assert refused(lambda: create(thief, obj(kind, name, **fields), namespace))


@pytest.mark.parametrize("kind", ["ConfigMap", "JobSet", "PodGroup"])
def test_what_is_ours_gets_neither_finalizers_nor_other_owners_later(thief, there, kind):
    there(obj(kind, NAME[kind], metadata={"finalizers": ["example.com/of-others"]}))
    path = f"{PATH[kind].format('default')}/{NAME[kind]}"
    for metadata in ({"finalizers": []}, {"finalizers": ["example.com/of-others", "example.com/never"]},
                     {"ownerReferences": [{**OWNER, "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a90"}]},
                     {"ownerReferences": [OWNER, {**ANOTHER, "controller": False, "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a90"}]}):
        assert refused(lambda: change(thief, path, metadata)), metadata
    assert change(thief, path, {"annotations": {"trainer.kubeflow.org/applied-hash": "another"}})


def change(client, path, metadata):
    """As the reconciler does it: ConfigMaps are replaced, all else patched."""
    if "configmaps" not in path:
        return merge_patch(client, f"{path}?{MANAGER}", {"metadata": metadata})
    seen = client.request("GET", path)
    changed = copy.deepcopy(seen)
    for name, value in metadata.items():
        changed["metadata"][name] = {**seen["metadata"].get(name, {}), **value} if isinstance(value, dict) else value
    return client.request("PUT", f"{path}?{MANAGER}", changed)


def test_labels_and_annotations_that_others_gave_a_config_map_of_ours_stay(thief, there):
    there(obj("ConfigMap", "job-runtime-snapshot", metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}}))
    path = PATH["ConfigMap"].format("default") + "/job-runtime-snapshot"
    for metadata in ({"labels": {"a": "e"}}, {"labels": {"f": "g"}}, {"annotations": {"c": "e"}}, {"annotations": {"f": "g"}}):
        assert refused(lambda: change(thief, path, metadata)), metadata
    now = change(thief, path, {"annotations": {"trainer.kubeflow.org/recreations": "1/1"}})["metadata"]
    assert now["labels"] == {"a": "b"} and now["annotations"] == {"c": "d", "trainer.kubeflow.org/recreations": "1/1"}


def event(name="job.1", namespace="default", **fields):
    """As kube::EventFolder makes it."""
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace}, "type": "Normal",
            "reason": "Any", "action": "Any", "message": "any", "count": 1, "eventTime": "2026-01-15T10:00:00.000000Z",
            "firstTimestamp": "2026-01-15T10:00:00Z", "lastTimestamp": "2026-01-15T10:00:00Z",
            "reportingComponent": CONTROLLER, "reportingInstance": "any", "source": {"component": CONTROLLER},
            "involvedObject": {"apiVersion": OWNER["apiVersion"], "kind": "TrainJob", "namespace": namespace, "name": "job",
                               "uid": OWNER["uid"]}, **fields}


COUNTED = {"count": 2, "lastTimestamp": "2026-01-15T10:01:00Z",
           "series": {"count": 2, "lastObservedTime": "2026-01-15T10:01:00.000000Z"}}


def test_events_are_made_and_counted(thief, there):
    assert create(thief, event())
    there(event())
    assert merge_patch(thief, f"{PATH['Event'].format('default')}/job.1?{MANAGER}", COUNTED)["count"] == 2


@pytest.mark.parametrize("fields", [
    {"reportingComponent": "kubelet"}, {"source": {"component": "kubelet"}}, {"source": {"component": CONTROLLER, "host": "any"}},
    {"involvedObject": {**event()["involvedObject"], "kind": "Pod", "apiVersion": "v1"}},
    {"involvedObject": {**event()["involvedObject"], "apiVersion": "v1"}},
    *({"metadata": {"name": "job.1", name: value}} for name, value in [*ORDERS.items(), ("ownerReferences", [OWNER])]),
], ids=["component", "source", "host", "of-a-pod", "of-another-group", "label", "annotation", "finalizer", "owner"])
def test_no_events_are_made_but_of_our_controller_about_train_jobs(thief, fields):
    assert refused(lambda: create(thief, event(**fields)))


def test_no_events_are_made_in_kube_system(rest, thief):
    assert refused(lambda: create(thief, event(namespace="kube-system"), "kube-system"))
    assert create(rest, event(namespace="kube-system"), "kube-system"), "others may"


@pytest.mark.parametrize("fields", [
    {"reportingComponent": "kubelet"}, {"source": {"component": "kubelet"}},
    {"involvedObject": {**event()["involvedObject"], "kind": "Pod", "apiVersion": "v1"}},
], ids=["component", "source", "of-a-pod"])
def test_events_of_others_are_not_changed(thief, there, fields):
    there(event(**fields))
    path = f"{PATH['Event'].format('default')}/job.1?{MANAGER}"
    assert refused(lambda: merge_patch(thief, path, COUNTED))
    assert refused(lambda: merge_patch(thief, path, {**COUNTED, **{name: event()[name] for name in fields}}))


def test_of_our_events_no_metadata_changes_nor_what_they_are_about(thief, there):
    there(event())
    path = f"{PATH['Event'].format('default')}/job.1?{MANAGER}"
    for name, value in [*ORDERS.items(), ("ownerReferences", [ANOTHER])]:
        assert refused(lambda: merge_patch(thief, path, {"metadata": {name: value}})), name
    for changed in ({"reportingComponent": "kubelet"}, {"involvedObject": {"name": "another"}}, {"message": "another"},
                    {"reason": "Another"}, {"type": "Warning"}):
        assert refused(lambda: merge_patch(thief, path, changed)), changed


def test_the_lease_carries_no_orders_to_other_controllers(thief, there):
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "any"}}
    kept = {**lease, "metadata": {"name": "trainer.kubeflow.org", "labels": {"of": "others"}}}
    assert create(thief, {**lease, "metadata": {"name": "trainer.kubeflow.org"}}, "kubeflow-system")
    there(kept, "kubeflow-system")
    path = PATH["Lease"].format("kubeflow-system") + "/trainer.kubeflow.org"
    seen = thief.request("GET", path)
    seen = thief.request("PUT", f"{path}?{MANAGER}", {**seen, "spec": {"holderIdentity": "another"}})
    assert seen["spec"] == {"holderIdentity": "another"}
    for name, value in [*ORDERS.items(), ("ownerReferences", [OWNER])]:
        assert refused(lambda: create(thief, {**lease, "metadata": {"name": "any", name: value}}, "kubeflow-system")), name
        assert refused(lambda: thief.request("PUT", path, {**seen, "metadata": {**seen["metadata"], name: value}})), name


def certificate(**metadata):
    """As the webhook makes it."""
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""},
            "metadata": {"name": "signalbox-webhook-cert", "labels": {"app.kubernetes.io/part-of": "signalbox"}, **metadata}}


def test_the_certificate_of_the_webhook_carries_no_orders_to_other_controllers(rest, thief_of_webhook, there):
    path = PATH["Secret"].format("kubeflow-system") + "/signalbox-webhook-cert"

    def make(what):
        return thief_of_webhook.request("PATCH", f"{path}?fieldManager=replica&dryRun=All", what, "application/apply-patch+yaml")
    wait_for("the role", lambda: is_allowed(lambda: make(certificate())))
    orders = [*ORDERS.items(), ("ownerReferences", [OWNER])]
    for name, value in orders:
        assert refused(lambda: make(certificate(**{name: value}))), name
    there(certificate(annotations={"of": "others"}), "kubeflow-system")
    seen = thief_of_webhook.request("GET", path)
    renewed = thief_of_webhook.request("PUT", f"{path}?{MANAGER}", {**seen, "data": {"tls.crt": "YQ==", "tls.key": "YQ==", "ca.crt": ""}})
    assert renewed["data"]["tls.crt"] == "YQ=="
    for name, value in orders:
        changed = {**renewed, "metadata": {**renewed["metadata"], name: value}}
        assert refused(lambda: thief_of_webhook.request("PUT", f"{path}?{MANAGER}", changed)), name
