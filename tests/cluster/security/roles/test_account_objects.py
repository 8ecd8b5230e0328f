"""Objects that base/account-policy.yaml lets Signalbox's accounts create and change: those that the programs make, without labels,
annotations or finalizers that give orders to other controllers."""

import copy
import json

import pytest

from accounts import ANOTHER, IN_USE, MANAGER, OWNER, PATH, create, is_allowed, merge_patch, obj, refused
from paths import ROOT
from rest import wait_for

CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
NAME = {"Secret": "job-flux-curve", "ConfigMap": "job-runtime-snapshot", "JobSet": "job", "PodGroup": "job", "NativePodGroup": "job",
        "PodDisruptionBudget": "job", "NetworkPolicy": "job"}
OF_ALL = ["Secret", "ConfigMap", "JobSet", "PodGroup", "NativePodGroup", "PodDisruptionBudget", "NetworkPolicy"]
ORDERS = {"labels": {"example.com/any": "yes"}, "annotations": {"example.com/any": "yes"}, "finalizers": ["example.com/never"]}


def built():
    """Returns the Secrets and ConfigMaps of the builder's examples: one for each ending of a name."""
    found = {}
    for path in sorted((ROOT / "tests" / "data" / "build").glob("*/want.json")):
        for each in json.loads(path.read_text()).get("objects", []):
            if each["kind"] in ("Secret", "ConfigMap"):
                owner = each["metadata"]["ownerReferences"][0]["name"]
                found[each["kind"], each["metadata"]["name"].removeprefix(owner)] = each
    return found


def test_objects_of_the_builder_may_be_created(thief):
    endings = built()
    assert endings.keys() == {("Secret", "-flux-curve"), ("Secret", "-mpi-ssh-auth"), ("ConfigMap", "-runtime-snapshot"),
                              ("ConfigMap", "-mpi-hostfile"), ("ConfigMap", "-flux-entrypoint"), ("ConfigMap", "-tls-config")}
    for each in endings.values():
        metadata = each["metadata"] | {"namespace": "default"}
        if each["kind"] == "ConfigMap":
            metadata["annotations"] = {"trainer.kubeflow.org/applied-hash": "any"}
        assert create(thief, {**each, "metadata": metadata, "data": dict.fromkeys(each["data"], "YQ==")})


@pytest.mark.parametrize("kind", ["JobSet", "PodGroup", "NativePodGroup"])
def test_workloads_may_be_created_with_the_labels_and_annotations_of_the_runtime(thief, kind):
    assert create(thief, obj(kind, NAME[kind], metadata={name: ORDERS[name] for name in ("labels", "annotations")}))


@pytest.mark.parametrize("kind", ["JobSet", "PodGroup", "NativePodGroup"])
def test_workloads_may_be_created_by_an_apply_that_finds_none(thief, kind):
    """As kube::apply_new() does: no object has that resourceVersion."""
    path = f"{PATH[kind].format('default')}/{NAME[kind]}?{MANAGER}&dryRun=All"
    assert thief.request("PATCH", path, obj(kind, NAME[kind], metadata={"resourceVersion": "0"}), "application/apply-patch+yaml")


@pytest.mark.parametrize("kind", OF_ALL)
@pytest.mark.parametrize("owners", [
    [], [ANOTHER], [{**OWNER, "controller": False}], [{**OWNER, "apiVersion": "example.com/v1"}],
    [OWNER, {**ANOTHER, "controller": False, "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a90"}],
], ids=["none", "another", "not-controlling", "of-another-group", "and-another"])
def test_objects_may_be_created_only_with_one_train_job_as_their_controller(thief, kind, owners):
    assert refused(lambda: create(thief, obj(kind, NAME[kind], owners=owners)))


@pytest.mark.parametrize("kind", OF_ALL)
def test_objects_may_not_be_created_with_a_finalizer_that_blocks_their_namespace(thief, kind):
    assert create(thief, obj(kind, NAME[kind]))
    for finalizer in ("example.com/never", "foregroundDeletion", IN_USE):
        assert refused(lambda: create(thief, obj(kind, NAME[kind], metadata={"finalizers": [finalizer]})))


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy"])
@pytest.mark.parametrize("metadata", [
    {"labels": {"example.com/any": "yes"}}, {"labels": {"app.kubernetes.io/part-of": "signalbox"}},
    {"annotations": {"example.com/any": "yes"}},
], ids=["label", "our-label", "annotation"])
def test_what_no_runtime_labels_has_no_metadata_for_other_controllers(thief, kind, metadata):
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


def selecting(**labels):
    return {"podSelector": {"matchLabels": labels}}


OF_JOB, OF_ANOTHER = selecting(**{"jobset.sigs.k8s.io/jobset-name": "job"}), selecting(**{"jobset.sigs.k8s.io/jobset-name": "another"})
OPEN = {**OF_JOB, "policyTypes": ["Ingress"]}


@pytest.mark.parametrize("kind, spec", [
    ("PodDisruptionBudget", {"minAvailable": 1, "selector": OF_ANOTHER["podSelector"]}),
    ("PodDisruptionBudget", {"minAvailable": 1, "selector": {}}), ("PodDisruptionBudget", {"minAvailable": 1}),
    ("NetworkPolicy", {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [OF_JOB]}]}),
    ("NetworkPolicy", {**OF_ANOTHER, "policyTypes": ["Ingress"], "ingress": [{"from": [OF_JOB]}]}),
    ("NetworkPolicy", {**OPEN, "ingress": [{}]}), ("NetworkPolicy", {**OPEN, "ingress": [{"from": [OF_JOB]}, {"from": [OF_ANOTHER]}]}),
    ("NetworkPolicy", {**OPEN, "ingress": [{"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]}),
    ("NetworkPolicy", {**OPEN, "ingress": [{"from": [{**OF_JOB, "namespaceSelector": {}}]}]}),
    ("NetworkPolicy", {**OPEN, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": [OF_JOB]}]}),
    ("NetworkPolicy", {**OPEN, "policyTypes": ["Ingress", "Egress"], "egress": [{}]}),
], ids=lambda value: value if isinstance(value, str) else "")
def test_protection_is_of_the_jobs_own_pods(thief, there, kind, spec):
    assert create(thief, obj(kind, "job"))
    assert refused(lambda: create(thief, obj(kind, "job", spec=spec)))
    assert refused(lambda: create(thief, obj(kind, "another")))  # than its owner
    there(obj(kind, "job"))
    path = f"{PATH[kind].format('default')}/job"
    seen = thief.request("GET", path)
    assert thief.request("PUT", f"{path}?{MANAGER}&dryRun=All", seen)
    assert refused(lambda: thief.request("PUT", f"{path}?{MANAGER}&dryRun=All", {**seen, "spec": spec}))


@pytest.mark.parametrize("kind", ["ConfigMap", "JobSet", "PodGroup"])
def test_owned_objects_get_neither_finalizers_nor_other_owners_later(thief, there, kind):
    there(obj(kind, NAME[kind], metadata={"finalizers": ["example.com/of-others"]}))
    path = f"{PATH[kind].format('default')}/{NAME[kind]}"
    for metadata in ({"finalizers": []}, {"finalizers": ["example.com/of-others", "example.com/never"]},
                     {"ownerReferences": [{**OWNER, "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a90"}]},
                     {"ownerReferences": [OWNER, {**ANOTHER, "controller": False, "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a90"}]}):
        assert refused(lambda: change(thief, path, metadata)), metadata
    assert change(thief, path, {"annotations": {"trainer.kubeflow.org/applied-hash": "another"}})


def change(client, path, metadata):
    """Changes metadata like the reconciler: ConfigMaps are replaced, other kinds patched."""
    if "configmaps" not in path:
        return merge_patch(client, f"{path}?{MANAGER}", {"metadata": metadata})
    seen = client.request("GET", path)
    changed = copy.deepcopy(seen)
    for name, value in metadata.items():
        changed["metadata"][name] = {**seen["metadata"].get(name, {}), **value} if isinstance(value, dict) else value
    return client.request("PUT", f"{path}?{MANAGER}", changed)


def test_labels_and_annotations_of_others_on_an_owned_config_map_stay(thief, there):
    there(obj("ConfigMap", "job-runtime-snapshot", metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}}))
    path = PATH["ConfigMap"].format("default") + "/job-runtime-snapshot"
    for metadata in ({"labels": {"a": "e"}}, {"labels": {"f": "g"}}, {"annotations": {"c": "e"}}, {"annotations": {"f": "g"}}):
        assert refused(lambda: change(thief, path, metadata)), metadata
    now = change(thief, path, {"annotations": {"trainer.kubeflow.org/recreations": "1/1"}})["metadata"]
    assert now["labels"] == {"a": "b"} and now["annotations"] == {"c": "d", "trainer.kubeflow.org/recreations": "1/1"}


def event(name="job.1", namespace="default", **fields):
    """Returns an event as kube::EventFolder makes it."""
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace}, "type": "Normal",
            "reason": "Any", "action": "Any", "message": "any", "count": 1, "eventTime": "2026-01-15T10:00:00.000000Z",
            "firstTimestamp": "2026-01-15T10:00:00Z", "lastTimestamp": "2026-01-15T10:00:00Z",
            "reportingComponent": CONTROLLER, "reportingInstance": "any", "source": {"component": CONTROLLER},
            "involvedObject": {"apiVersion": OWNER["apiVersion"], "kind": "TrainJob", "namespace": namespace, "name": "job",
                               "uid": OWNER["uid"]}, **fields}


COUNTED = {"count": 2, "lastTimestamp": "2026-01-15T10:01:00Z",
           "series": {"count": 2, "lastObservedTime": "2026-01-15T10:01:00.000000Z"}}


def test_events_may_be_created_and_counted(thief, there):
    assert create(thief, event())
    there(event())
    assert merge_patch(thief, f"{PATH['Event'].format('default')}/job.1?{MANAGER}", COUNTED)["count"] == 2


@pytest.mark.parametrize("fields", [
    {"reportingComponent": "kubelet"}, {"source": {"component": "kubelet"}}, {"source": {"component": CONTROLLER, "host": "any"}},
    {"involvedObject": {**event()["involvedObject"], "kind": "Pod", "apiVersion": "v1"}},
    {"involvedObject": {**event()["involvedObject"], "apiVersion": "v1"}},
    *({"metadata": {"name": "job.1", name: value}} for name, value in [*ORDERS.items(), ("ownerReferences", [OWNER])]),
], ids=["component", "source", "host", "of-a-pod", "of-another-group", "label", "annotation", "finalizer", "owner"])
def test_only_events_of_the_controller_about_train_jobs_may_be_created(thief, fields):
    assert refused(lambda: create(thief, event(**fields)))


def test_no_events_may_be_created_in_kube_system(rest, thief):
    assert refused(lambda: create(thief, event(namespace="kube-system"), "kube-system"))
    assert create(rest, event(namespace="kube-system"), "kube-system"), "others may"


@pytest.mark.parametrize("fields", [
    {"reportingComponent": "kubelet"}, {"source": {"component": "kubelet"}},
    {"involvedObject": {**event()["involvedObject"], "kind": "Pod", "apiVersion": "v1"}},
], ids=["component", "source", "of-a-pod"])
def test_events_of_others_may_not_be_changed(thief, there, fields):
    there(event(**fields))
    path = f"{PATH['Event'].format('default')}/job.1?{MANAGER}"
    assert refused(lambda: merge_patch(thief, path, COUNTED))
    assert refused(lambda: merge_patch(thief, path, {**COUNTED, **{name: event()[name] for name in fields}}))


def test_own_events_keep_their_metadata_and_their_object(thief, there):
    there(event())
    path = f"{PATH['Event'].format('default')}/job.1?{MANAGER}"
    for name, value in [*ORDERS.items(), ("ownerReferences", [ANOTHER])]:
        assert refused(lambda: merge_patch(thief, path, {"metadata": {name: value}})), name
    for changed in ({"reportingComponent": "kubelet"}, {"involvedObject": {"name": "another"}}, {"message": "another"},
                    {"reason": "Another"}, {"type": "Warning"}):
        assert refused(lambda: merge_patch(thief, path, changed)), changed


def test_the_lease_has_no_metadata_for_other_controllers(thief, there):
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
    """Returns a Secret as the webhook makes it."""
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""},
            "metadata": {"name": "signalbox-webhook-cert", "labels": {"app.kubernetes.io/part-of": "signalbox"}, **metadata}}


def test_the_certificate_of_the_webhook_has_no_metadata_for_other_controllers(rest, thief_of_webhook, there):
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
