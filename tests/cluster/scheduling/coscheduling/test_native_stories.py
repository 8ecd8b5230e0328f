"""Gangs that Kubernetes' own scheduler places. Each story has room of its own, so they run at the same time."""

import pytest

import devices
from controlplane import gates
from gang_stories import gangs_do_not_wait_for_initializers_of_each_other, resize_suspended, twenty_gangs_pass_through_room_for_three
from progress import end_pods, resume, suspend
from queues import SideBySide
from rest import conditions, true_conditions, wait_until_none
from rooms import template_of, wait_for

URGENT = "urgent-native-gang"  # the name of a PriorityClass
MODEL, DOMAIN, CHANNEL = "shared-by-gangs", "domain", "channel"  # classes of devices
DOMAIN_LABEL = "example.com/domain"
DOMAIN_OF = {"node-1": "a", "node-2": "a", "node-3": "b", "node-4": "b"}
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/{}/podgroups"


def group_of(here, name):
    """Returns the PodGroup of a TrainJob; None if there is none."""
    groups = here.rest.request("GET", GROUPS.format(here.name))["items"]
    return next((each for each in groups if each["metadata"]["name"] == name), None)


def size_of(group):
    return group["spec"]["schedulingPolicy"]["gang"]["minCount"]


def domains_of(pods):
    return {DOMAIN_OF[pod["spec"]["nodeName"]] for pod in pods}


def until_it_waits(here, name, nodes=2, ended=0):
    """Waits until the scheduler has refused a gang. None of its Pods has a node but those that have ended before."""
    def look():
        said = conditions(group_of(here, name) or {}).get("PodGroupInitiallyScheduled", {})
        return said.get("status") == "False" and len(here.pods(name)) == nodes and said
    said = wait_for(f"{name} to be refused", look)
    assert here.placed(name) == ended
    return said


def one_of_two_gangs_runs_whole_and_the_other_waits_whole(room):
    with room({"node-1": 2, "node-2": 1}) as here:
        here.begin("first", "second")
        until_it_waits(here, "second")
        said = wait_for("explain to show it", lambda: (lambda text: text if "waits as a gang of 2: " in text else None)(here.explain("second")),
                        interval=1)
        assert "State     waits for its Pods" in said
        # A list looks at Pods once the status has counts of Jobs.
        row = wait_for("the list to say it", lambda: (lambda row: row if "waits as a gang of 2: " in row else None)(here.listed()["second"]), interval=1)
        assert " Unschedulable " in row
        waits = wait_for("the condition of the second", lambda: conditions(here.rest.get("trainjobs", "second")).get("GangReady"))
        assert (waits["status"], waits["reason"]) == ("False", "PodsNotReady")
        here.finish("first")
        here.until_ends("first")
        here.until_runs("second")
        wait_until_none("the PodGroup of the job that has ended", lambda: group_of(here, "first"))


def a_suspended_gang_frees_its_room_and_waits_again(room):
    with room({"node-1": 1, "node-2": 1}) as here:
        here.begin("early", "late")
        before = group_of(here, "early")["metadata"]["uid"]
        until_it_waits(here, "late")
        suspend(here.rest, "early")
        here.until_runs("late")
        wait_until_none("the PodGroup of the suspended job", lambda: group_of(here, "early"))
        resume(here.rest, "early")
        until_it_waits(here, "early")
        assert group_of(here, "early")["metadata"]["uid"] != before
        here.finish("late")
        here.until_runs("early")


def a_gang_is_as_large_as_its_job_became_while_it_was_suspended(room):
    with room({"node-1": 3}) as here:
        here.rest.create(here.runtime())
        here.submit("resized", seconds="never")
        here.until_runs("resized")
        resize_suspended(here, "resized", 4)
        resume(here.rest, "resized")
        until_it_waits(here, "resized", 4)
        assert size_of(group_of(here, "resized")) == 4
        here.resize("node-1", 4)
        here.until_runs("resized", 4)


def a_launcher_joins_the_gang_that_it_does_not_count_in(room):
    with room({"node-1": 3}) as here:
        here.rest.create(here.launched_runtime())
        here.submit("launched", nodes=3)
        pods = here.until_runs("launched")
        assert size_of(group_of(here, "launched")) == 2
        assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in [*pods, *here.pods("launched", "launcher")]} == {"launched"}
        here.until_ends("launched")


def launchers_wait_for_the_room_that_nodes_of_others_have(room):
    with room({"node-1": 4}) as here:
        here.rest.create(here.launched_runtime())
        names = ("early", "late")
        for name in names:
            here.submit(name, nodes=3)
        for name in names:
            here.until_runs(name)
        for name in names:
            wait_for("explain to say what its launcher waits for", lambda: "Insufficient" in here.explain(name), interval=1)
            assert here.placed(name, "launcher") == 0
        here.resize("node-1", 5)
        for name in names:
            here.until_ends(name)


def an_elastic_gang_begins_with_the_fewest_nodes(room):
    with room({"node-1": 1}) as here:
        here.rest.create(here.runtime(ml_policy={"numNodes": 3, "torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 3}}}))
        here.submit("elastic", nodes=3, seconds="never")
        until_it_waits(here, "elastic", 3)
        here.resize("node-1", 2)
        here.until_runs("elastic")
        assert size_of(group_of(here, "elastic")) == 2 and len(here.pods("elastic")) == 3


def runs_on_beside_an_urgent_one(room, mode):
    """Returns how many of two Pods of a gang run on beside a Pod of a higher priority, once all that go are made again."""
    with room({"node-1": 2}) as here:
        evicted = here.runtime(of_gang={"disruptionMode": mode})
        job = evicted["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
        # As the shipped runtimes have it: a Pod that is evicted has not failed.
        job["podFailurePolicy"] = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
        template_of(evicted)["spec"]["restartPolicy"] = "Never"
        here.rest.create(evicted)
        urgent = here.runtime("urgent")
        template_of(urgent)["spec"]["priorityClassName"] = URGENT
        here.rest.create(urgent)
        here.submit("running", seconds="never")
        before = {pod["metadata"]["uid"] for pod in here.until_runs("running")}
        here.submit("urgent", nodes=1, runtime_name="urgent", seconds="never")
        def all_are_there_again():
            end_pods(here.rest)
            return len(here.pods("urgent")) == here.placed("urgent") == 1 and len(here.pods("running")) == 2
        wait_for("the urgent one to run and the others to be made again", all_are_there_again)
        assert "Failed" not in true_conditions(here.rest.get("trainjobs", "running"))
        return len(before & {pod["metadata"]["uid"] for pod in here.pods("running")})


def an_urgent_gang_evicts_another_one_as_a_whole(room):
    assert runs_on_beside_an_urgent_one(room, "All") == 0


def a_gang_whose_pods_are_evicted_one_by_one_keeps_the_others(room):
    assert runs_on_beside_an_urgent_one(room, "Single") == 1


def a_pod_waits_for_members_that_have_ended_until_the_gang_is_smaller(room):
    with room({"node-1": 2}) as here:
        made = here.runtime()
        del made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"]
        here.rest.create(made)
        here.submit("shrunk", seconds="never")
        ended, failed = (pod["metadata"]["name"] for pod in here.until_runs("shrunk"))
        here.end(ended, "Succeeded")
        here.end(failed, "Failed")
        wait_for("explain to say it", lambda: "waits as a gang of 2: 1 Pod is there that has not ended" in here.explain("shrunk"), interval=1)
        here.rest.request("PATCH", GROUPS.format(here.name) + "/shrunk", {"spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}},
                          "application/merge-patch+json")
        here.until_runs("shrunk", 1)


def a_gang_that_is_resumed_does_not_wait_for_those_that_have_ended(room):
    with room({"node-1": 3}) as here:
        here.rest.create(here.runtime())
        here.submit("resumed", 3, seconds="never")
        here.end(here.until_runs("resumed", 3)[0]["metadata"]["name"], "Succeeded")
        wait_for("its Job to count it", lambda: here.rest.get("jobs", "resumed-node-0")["status"].get("succeeded"))
        suspend(here.rest, "resumed")
        wait_until_none("the PodGroup of the suspended job", lambda: group_of(here, "resumed"))
        here.resize("node-1", 1)
        resume(here.rest, "resumed")
        until_it_waits(here, "resumed", 3, ended=1)
        assert size_of(group_of(here, "resumed")) == 2
        here.resize("node-1", 2)
        here.until_runs("resumed", 2)


def until_it_is_another_gang(here, name):
    """Suspends and resumes a job, and returns its next PodGroup."""
    suspend(here.rest, name)
    wait_until_none("the PodGroup of the suspended job", lambda: group_of(here, name))
    resume(here.rest, name)
    return wait_for("another PodGroup", lambda: group_of(here, name))


def a_gang_that_is_resumed_does_not_wait_for_an_index_that_has_failed(room):
    with room({"node-1": 3}) as here:
        made = here.runtime()
        job = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
        del job["backoffLimit"]
        job["backoffLimitPerIndex"] = 0
        template_of(made)["spec"]["restartPolicy"] = "Never"
        here.rest.create(made)
        here.submit("indexed", 3, seconds="never")
        here.end(here.until_runs("indexed", 3)[1]["metadata"]["name"], "Failed")
        wait_for("its Job to count it", lambda: here.rest.get("jobs", "indexed-node-0")["status"].get("failedIndexes"))
        assert size_of(until_it_is_another_gang(here, "indexed")) == 2
        here.until_runs("indexed", 2)


def a_gang_that_is_resumed_does_not_wait_for_a_job_that_is_complete(room):
    # The elastic job is complete with the fewest nodes that it needs. A helper goes on.
    with room({"node-1": 4}) as here:
        made = here.runtime(ml_policy={"numNodes": 3, "torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 3}}})
        helper = {"name": "helper", "template": {"spec": {"template": {
            "metadata": {"labels": {"signalbox.test/run-seconds": "never"}},
            "spec": {"containers": [{"name": "help", "image": "registry.example.com/help:1"}]}}}}}
        here.furnish(helper["template"]["spec"]["template"])
        made["spec"]["template"]["spec"]["replicatedJobs"].append(helper)
        here.rest.create(made)
        here.submit("helped", 3, seconds="never")
        here.until_runs("helped", 1, "helper")
        for pod in here.until_runs("helped", 3)[:2]:
            here.end(pod["metadata"]["name"], "Succeeded")
        wait_for("its Job to be complete", lambda: conditions(here.rest.get("jobs", "helped-node-0")).get("Complete"))
        assert size_of(until_it_is_another_gang(here, "helped")) == 1
        here.until_runs("helped", 1, "helper")


def a_gang_that_a_queue_resumes_while_a_pod_of_before_ends_counts_what_is_left(room):
    # Kueue looks at Pods that are active, not at those that end. It is played here: a JobSet in a queue of its own.
    with room({"node-1": 3}) as here:
        made = here.runtime()
        made["spec"]["template"]["metadata"] = {"labels": {"kueue.x-k8s.io/queue-name": "queue"}}
        here.rest.create(made)
        here.submit("evicted", 3, seconds="never")

        def hold(yes):
            here.rest.patch("jobsets", "evicted", {"spec": {"suspend": yes}})
        wait_for("its JobSet", lambda: here.rest.get("jobsets", "evicted"))
        hold(False)
        ended, slow, _ = (pod["metadata"]["name"] for pod in here.until_runs("evicted", 3))
        here.end(ended, "Succeeded")
        wait_for("its Job to count it", lambda: here.rest.get("jobs", "evicted-node-0")["status"].get("succeeded"))
        kept = here.rest.get("pods", slow)["metadata"].get("finalizers", [])
        here.rest.patch("pods", slow, {"metadata": {"finalizers": [*kept, "example.com/slow"]}})
        hold(True)
        wait_for("the PodGroup to go", lambda: "deletionTimestamp" in (group_of(here, "evicted") or {"metadata": {}})["metadata"])
        here.resize("node-1", 1)
        hold(False)
        wait_for("a smaller gang", lambda: size_of(group_of(here, "evicted")) == 2)
        here.rest.patch("pods", slow, {"metadata": {"finalizers": None}})
        here.resize("node-1", 3)
        here.until_runs("evicted", 2)


def another_attempt_is_another_gang(room):
    with room({"node-1": 2}) as here:
        here.rest.create(here.runtime(runPolicy={"failurePolicy": {"maxRestarts": 1, "backoff": {"initialSeconds": 1}}}))
        here.submit("again", seconds="never")
        first = here.until_runs("again")
        before = group_of(here, "again")["metadata"]["uid"]
        here.end(first[0]["metadata"]["name"], "Failed")
        gone = {pod["metadata"]["uid"] for pod in first}
        wait_for("the next attempt", lambda: len(
            [pod for pod in here.pods("again") if pod["status"].get("phase") == "Running" and pod["metadata"]["uid"] not in gone]) == 2)
        assert group_of(here, "again")["metadata"]["uid"] != before


def a_pod_group_of_others_is_not_taken_over(room):
    with room({"node-1": 2}) as here:
        here.rest.create(here.runtime())
        here.rest.request("POST", GROUPS.format(here.name), {
            "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "taken"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 9}}}})
        here.submit("taken", seconds="never")
        created = wait_for("the refusal", lambda: conditions(here.rest.get("trainjobs", "taken")).get("Created"))
        assert created["status"] == "False" and "exists already and does not belong to this TrainJob" in created["message"]
        here.rest.request("DELETE", GROUPS.format(here.name) + "/taken")
        here.until_runs("taken")


def a_gang_runs_although_somebody_deletes_its_pod_group(room):
    # Kubernetes keeps it until all of its Pods have ended, and the scheduler goes by it until then.
    with room({"node-1": 1}) as here:
        here.rest.create(here.runtime())
        here.submit("bereft", seconds="never")
        until_it_waits(here, "bereft")
        here.rest.request("DELETE", GROUPS.format(here.name) + "/bereft")
        here.resize("node-1", 2)
        here.until_runs("bereft")
        here.finish("bereft")
        here.until_ends("bereft")
        wait_until_none("its PodGroup", lambda: group_of(here, "bereft"))


def the_devices_of_a_gang_are_shared_and_released_with_it(room):
    with room({"node-1": 8}) as here:
        devices.create_template(here.rest, MODEL)
        claims = {"resourceClaims": [{"name": "shared", "resourceClaimTemplateName": MODEL}]}
        here.rest.create(here.runtime(of_gang=claims))
        for name in ("first", "second"):
            here.submit(name, seconds="never")
            pods = here.until_runs(name)
            assert {pod["spec"]["containers"][0]["resources"]["claims"][0]["name"] for pod in pods} == {"shared"}
        assert len(devices.allocated(here.rest)) == 2  # one for each gang
        here.submit("third", seconds="never")
        until_it_waits(here, "third")
        suspend(here.rest, "first")
        here.until_runs("third")
        resume(here.rest, "first")
        until_it_waits(here, "first")
        here.finish("second")
        here.until_ends("second")
        here.until_runs("first")


def a_gang_gets_one_domain_of_nodes_or_none(room):
    # There is one device for all nodes of a domain. Its claim is the gang's, so all Pods go to the nodes that reach it.
    with room({"node-1": 1, "node-3": 1}) as here:
        devices.create_template(here.rest, DOMAIN)
        here.rest.create(here.runtime(of_gang={"resourceClaims": [{"name": "domain", "resourceClaimTemplateName": DOMAIN}]}))
        here.submit("first", seconds="never")
        until_it_waits(here, "first")
        here.resize("node-4", 1)
        assert domains_of(here.until_runs("first")) == {"b"}
        here.submit("second", seconds="never")
        until_it_waits(here, "second")
        here.resize("node-2", 1)
        assert domains_of(here.until_runs("second")) == {"a"}


def a_gang_goes_to_nodes_with_one_value_of_its_topology_key(room):
    with room({"node-1": 1, "node-3": 1}) as here:
        here.rest.create(here.runtime(of_gang={"topologyKey": DOMAIN_LABEL}))
        here.submit("first", seconds="never")
        until_it_waits(here, "first")
        here.resize("node-4", 1)
        assert domains_of(here.until_runs("first")) == {"b"}
        # Each domain has one place.
        here.resize("node-3", 2)
        here.submit("second", seconds="never")
        until_it_waits(here, "second")
        here.resize("node-1", 2)
        assert domains_of(here.until_runs("second")) == {"a"}


def a_gang_whose_pods_claim_a_channel_of_their_own_node_stays_in_one_domain(room):
    # As NVIDIA's driver for ComputeDomains has it: a channel for each node, and a label of the nodes that NVLink connects.
    with room({"node-1": 1, "node-3": 1}) as here:
        devices.create_template(here.rest, CHANNEL)
        made = here.runtime()
        pod = template_of(made)["spec"]
        pod["resourceClaims"] = [{"name": "channel", "resourceClaimTemplateName": CHANNEL}]
        pod["containers"][0]["resources"]["claims"] = [{"name": "channel"}]
        pod["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": DOMAIN_LABEL, "labelSelector": {}, "matchLabelKeys": ["jobset.sigs.k8s.io/jobset-uid"]}]}}
        here.rest.create(made)
        here.submit("linked", seconds="never")
        until_it_waits(here, "linked")
        here.resize("node-2", 1)
        assert domains_of(here.until_runs("linked")) == {"a"}
        assert len(devices.allocated(here.rest)) == 2


STORIES = {story.__name__: story for story in (
    one_of_two_gangs_runs_whole_and_the_other_waits_whole, a_suspended_gang_frees_its_room_and_waits_again,
    a_gang_is_as_large_as_its_job_became_while_it_was_suspended, gangs_do_not_wait_for_initializers_of_each_other,
    a_launcher_joins_the_gang_that_it_does_not_count_in, launchers_wait_for_the_room_that_nodes_of_others_have, an_elastic_gang_begins_with_the_fewest_nodes,
    an_urgent_gang_evicts_another_one_as_a_whole, a_gang_whose_pods_are_evicted_one_by_one_keeps_the_others,
    a_pod_waits_for_members_that_have_ended_until_the_gang_is_smaller, a_gang_that_is_resumed_does_not_wait_for_those_that_have_ended,
    a_gang_that_is_resumed_does_not_wait_for_an_index_that_has_failed, a_gang_that_is_resumed_does_not_wait_for_a_job_that_is_complete,
    a_gang_that_a_queue_resumes_while_a_pod_of_before_ends_counts_what_is_left, twenty_gangs_pass_through_room_for_three,
    another_attempt_is_another_gang,
    a_pod_group_of_others_is_not_taken_over, a_gang_runs_although_somebody_deletes_its_pod_group, the_devices_of_a_gang_are_shared_and_released_with_it,
    a_gang_gets_one_domain_of_nodes_or_none, a_gang_goes_to_nodes_with_one_value_of_its_topology_key, a_gang_whose_pods_claim_a_channel_of_their_own_node_stays_in_one_domain)}


@pytest.fixture(scope="module")
def outcomes(request, native_room, admin):
    admin.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": URGENT}, "value": 1000}, "priorityclasses")
    devices.install(admin, MODEL, number=2)
    devices.install_class(admin, DOMAIN)
    devices.install_class(admin, CHANNEL)
    for node, domain in DOMAIN_OF.items():
        admin.patch("nodes", node, {"metadata": {"labels": {DOMAIN_LABEL: domain}}})
        devices.install_slice(admin, f"{CHANNEL}-{node}", {"nodeName": node}, CHANNEL, 1)
    for domain in set(DOMAIN_OF.values()):
        of_domain = {"matchExpressions": [{"key": DOMAIN_LABEL, "operator": "In", "values": [domain]}]}
        devices.install_slice(admin, f"{DOMAIN}-{domain}", {"nodeSelector": {"nodeSelectorTerms": [of_domain]}}, DOMAIN, 1)
    with SideBySide(request, "story", lambda name: STORIES[name](native_room)) as stories:
        yield stories


@pytest.mark.parametrize("story", STORIES)
def test_a_native_gang(outcomes, story):
    outcomes.result(story)


def test_a_native_gang_waits_for_a_cluster_that_can_place_it(outcomes, cluster, native_room):
    """The last one, since it switches the API off under all of them."""
    cluster.switch_pod_groups()
    with native_room({"node-1": 2}) as here:
        here.rest.create(here.runtime())
        here.submit("early", seconds="never")
        created = wait_for("what is missing", lambda: conditions(here.rest.get("trainjobs", "early")).get("Created"))
        assert (created["status"], created["reason"]) == ("False", "PodGroupUnavailable")
        assert "needs scheduling.k8s.io/v1beta1 (Kubernetes 1.37 with the feature gate GenericWorkload)" in created["message"]
        here.submit("held", seconds="never", suspend=True)
        wait_for("the same of a suspended one", lambda: conditions(here.rest.get("trainjobs", "held")).get("Created", {}).get("status") == "False")
        assert here.rest.list("jobsets") == []
        # What needs another gate is said, and not lost without a word.
        needs = {"claims": ({"resourceClaims": [{"name": "shared", "resourceClaimTemplateName": MODEL}]}, gates.NAMES[1]),
                 "topology": ({"topologyKey": DOMAIN_LABEL}, gates.NAMES[2])}
        for name, (of_gang, _) in needs.items():
            here.rest.create(here.runtime(f"of-{name}", of_gang=of_gang))
            here.submit(name, runtime_name=f"of-{name}", seconds="never", suspend=name == "topology")
        cluster.switch_pod_groups(gates.NAMES[0])
        here.until_runs("early")
        for name, (_, gate) in needs.items():
            wait_for("the gate that is missing", lambda: f"needs the feature gate {gate}" in
                     conditions(here.rest.get("trainjobs", name)).get("Created", {}).get("message", ""))
            assert here.rest.get("jobsets", name) is None and group_of(here, name) is None
        cluster.switch_pod_groups(*gates.NAMES)
        here.finish("early")
        resume(here.rest, "held")
        assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in here.until_runs("held")} == {"held"}
        here.finish("held")
        wait_for("the job with claims to begin", lambda: group_of(here, "claims"))
