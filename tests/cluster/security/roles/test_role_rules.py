"""Each rule of Signalbox's roles is needed: without it, the story that is named here stops at a denial by the API server's authorizer,
and with it again the story continues. Roles in some namespaces are tested only for rules that differ there. test_rbac.py shows that
nothing else is allowed.

Each story has an installation of its own, with accounts and roles in namespaces of its own, so that several run at a time."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
from typing import Callable

import pytest

import stories
from deployment import NAMESPACE, ROOT, Program
from installation import OF_USERS, accounts_and_roles, elsewhere, path_of, system_of
from rest import Rest, wait_for

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])
ROLES = [*sorted((ROOT / "manifests" / "base" / "rbac").glob("*.yaml")),
         *sorted((ROOT / "manifests" / "components").rglob("rbac.yaml"))]
OURS, ANOTHER = "of-the-story", "another-one"  # placeholders for the namespaces of a limited installation
AT_A_TIME = 10


@dataclasses.dataclass
class Story:
    role: str
    what: str  # a resource, with a group and a verb if needed, that identify the rule
    begin: Callable
    options: tuple = ()
    limited: bool = False  # limited to namespaces

    @property
    def name(self):
        return re.sub("[^a-z]+", "-", f"{'limited' if self.limited else 'wide'}-{self.role}-{self.what}")

    @property
    def program(self):
        return self.role.partition("-")[0]

    def is_about(self, role, rule):
        name, _, verb = self.what.partition(" ")
        resource, _, group = name.partition(".")
        return (role["kind"].endswith("Role") and role["metadata"]["name"] == f"signalbox-{self.role}"
                and resource in rule["resources"] and (not group or group in rule["apiGroups"]) and (not verb or verb in rule["verbs"]))


SELF_SIGNED = ("--self-signed", f"--cert-secret={NAMESPACE}/signalbox-webhook-cert", f"--service={NAMESPACE}/signalbox-webhook")
PROGRESS = ("--serve=progress", "--progress-listen=127.0.0.1:0", f"--progress-cert-secret={NAMESPACE}/signalbox-progress-cert",
            f"--progress-service={NAMESPACE}/signalbox-progress", "--progress-source-rate=0")
GATE = ("--feature-gates=TrainJobStatus=true", f"--status-ca-secret={NAMESPACE}/signalbox-progress-cert")
DEADLINE_GATE = (*GATE, "--feature-gates=TrainJobProgressDeadline=true")
METRICS = ("--metrics-secure", "--metrics-listen=127.0.0.1:0")
STORIES = [
    Story("reconciler", "trainjobs", stories.job_is_seen),
    Story("reconciler", "trainjobs/status", stories.job_is_seen),
    Story("reconciler", "trainjobs/finalizers", stories.job_is_owned),
    Story("reconciler", "clustertrainingruntimes", stories.job_is_seen),
    Story("reconciler", "jobsets", stories.job_is_seen),
    Story("reconciler", "jobs", stories.label_is_withdrawn),
    Story("reconciler", "pods", stories.job_fails),
    Story("reconciler", "persistentvolumeclaims", stories.claim_is_made),
    Story("reconciler", "services", stories.service_is_in_the_way),
    Story("reconciler", "configmaps", stories.job_is_seen),
    Story("reconciler", "secrets", stories.keys_of_mpi),
    Story("reconciler", "podgroups.scheduling.x-k8s.io", stories.gang),
    Story("reconciler", "podgroups.scheduling.k8s.io", stories.gang_of_kubernetes_own_scheduler),
    Story("reconciler", "poddisruptionbudgets", stories.budget_of_a_job),
    Story("reconciler", "networkpolicies", stories.isolated_job),
    Story("webhook-certificate", "secrets", stories.certificate_is_shown, SELF_SIGNED),
    Story("reconciler", "limitranges", stories.gang),
    Story("reconciler", "runtimeclasses", stories.gang_in_sandboxes),
    Story("reconciler", "resourceclaimtemplates", stories.gpus_are_counted),
    Story("reconciler", "events", stories.job_has_events),
    Story("reconciler", "leases create", stories.leads),
    Story("reconciler", "leases get", stories.leads_on),
    Story("webhook", "clustertrainingruntimes", stories.webhook_is_ready),
    Story("webhook", "trainjobs", stories.jobs_of_a_runtime_are_counted),
    Story("webhook", "jobsets", stories.change_of_what_may_be_active),
    Story("webhook", "configmaps", stories.change_of_what_has_run),
    Story("webhook-certificate", "validatingwebhookconfigurations", stories.certificate_is_shown, SELF_SIGNED),
    Story("webhook", "services", stories.job_is_named_like_a_service),
    Story("webhook", "priorityclasses", stories.priority_of_a_volcano_gang),
    Story("webhook-callers", "tokenreviews", stories.token_is_asked_about, ("--token-audience=signalbox-webhook",)),
    Story("webhook-metrics", "tokenreviews", stories.client_of_metrics_is_asked_about, METRICS),
    Story("webhook-metrics", "subjectaccessreviews", stories.client_of_metrics_is_asked_about, METRICS),
    Story("reconciler-metrics", "tokenreviews", stories.client_of_metrics_is_asked_about, METRICS),
    Story("reconciler-metrics", "subjectaccessreviews", stories.client_of_metrics_is_asked_about, METRICS),
    Story("progress-metrics", "subjectaccessreviews", stories.client_of_metrics_is_asked_about, (*PROGRESS, *METRICS)),
    Story("progress", "tokenreviews", stories.pod_reports, PROGRESS),
    Story("progress", "trainjobs", stories.pod_reports, PROGRESS),
    Story("progress", "trainjobs/status", stories.pod_reports, PROGRESS),
    Story("progress", "jobsets", stories.pod_reports, PROGRESS),
    Story("progress", "pods", stories.pod_reports, PROGRESS),
    Story("progress", "leases create", stories.reports_are_vouched_for, PROGRESS),
    Story("progress", "leases get", stories.reports_are_vouched_for_again, PROGRESS),
    Story("progress", "secrets", stories.certificate_for_pods_is_shown, PROGRESS),
    Story("reconciler-progress", "secrets", stories.pods_get_the_ca, GATE, limited=True),
    Story("reconciler-progress-lease", "leases", stories.job_without_progress_fails, DEADLINE_GATE),
    # Rules that are split into a Role and a ClusterRole.
    Story("reconciler", "clustertrainingruntimes", stories.job_is_seen, limited=True),
    Story("reconciler", "trainingruntimes", stories.job_of_the_namespaces_runtime_is_seen, limited=True),
    Story("reconciler", "resourceclaimtemplates", stories.gpus_are_counted, limited=True),
    Story("reconciler", "deviceclasses", stories.gpus_are_counted, limited=True),
    Story("webhook", "clustertrainingruntimes", stories.webhook_is_ready, limited=True),
    Story("webhook", "trainingruntimes", stories.runtime_of_a_namespace_is_found, limited=True),
    Story("webhook-certificate", "mutatingwebhookconfigurations", stories.certificate_is_shown, SELF_SIGNED),
]


@pytest.fixture(scope="module")
def objects(plane, tmp_path_factory):
    """Returns {limited: accounts, roles and bindings of every component}"""
    return {limited: accounts_and_roles(plane, tmp_path_factory.mktemp("overlay"), [OURS, ANOTHER] if limited else [])
            for limited in (False, True)}


def rules_of(objects):
    """Returns (role, rule) of all of them."""
    return [(each, rule) for each in objects for rule in each.get("rules", [])]


def permissions(rule):
    return {(group, resource, verb, name) for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"] for name in rule.get("resourceNames", [""])}


def test_every_rule_has_one_story(objects):
    wide = [permissions(rule) for _, rule in rules_of(objects[False])]
    for limited in (False, True):
        for role, rule in rules_of(objects[limited]):
            if role["metadata"].get("namespace") == ANOTHER or limited and permissions(rule) in wide:
                continue
            matching = [story for story in STORIES if story.limited == limited and story.is_about(role, rule)]
            assert len(matching) == 1, (role["kind"], role["metadata"]["name"], rule)
    assert {f"signalbox-{story.role}" for story in STORIES} == {
        name for file in ROLES for name in re.findall(r"(?m)^kind: (?:Cluster)?Role\nmetadata:\n  name: (.*)$", file.read_text())
        if not name.startswith(OF_USERS)}


class Telling:
    """A story with its installation and its program."""

    def __init__(self, plane, story, objects, certificates):
        self.story = story
        self.name = f"story-{STORIES.index(story)}"
        self.system = system_of(self.name)
        self.another = f"{self.name}-another"
        self._plane = plane
        self._rest = Rest(plane.kubeconfig, self.name)
        self._tale = stories.Tale(self._rest, self.system, certificates)
        self._taken = {}  # path of the role: its complete rules
        self._install(objects)

    def _install(self, objects):
        spaces = {NAMESPACE: self.system, OURS: self.name, ANOTHER: self.another}
        for name in spaces.values():
            self._rest.request("POST", "/api/v1/namespaces", {
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        granted = []
        # Another component may give the same program the same permission.
        taken = [rule for each, rule in rules_of(objects) if self.story.is_about(each, rule)]
        for each in objects:
            made = elsewhere(each, self.name, spaces)
            path = path_of(made)
            if "rules" in each:
                about = [rule for rule in each["rules"] if self.story.is_about(each, rule)]
                same = each["metadata"]["name"].split("-")[1] == self.story.program
                left = [rule for rule in each["rules"] if rule not in about and not (same and rule in taken)]
                if about and each["metadata"].get("namespace") != ANOTHER:
                    self._taken[f"{path}/{made['metadata']['name']}"] = made["rules"]
                    made["rules"] = left
                elif same and each["kind"] == "ClusterRole":
                    made["rules"] = left
                granted += [(made, rule) for rule in made["rules"]]
            self._rest.request("POST", path, made)
        assert len(self._taken) == 1, self.name
        for role, rule in granted:
            wait_for(f"{rule} to be in force", lambda: self._may(role, rule), interval=0.02)

    def _may(self, role, rule):
        """Returns whether the authorizer, which watches roles, allows the first permission of the rule."""
        resource, _, subresource = rule["resources"][0].partition("/")
        account = "-".join(role["metadata"]["name"].split("-")[:2])
        answer = self._rest.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
                "user": f"system:serviceaccount:{self.system}:{account}", "resourceAttributes": {
                    "group": rule["apiGroups"][0], "resource": resource, "subresource": subresource, "verb": rule["verbs"][0],
                    "name": rule.get("resourceNames", [""])[0], "namespace": role["metadata"].get("namespace", "")}}})
        return answer["status"]["allowed"]

    def start(self):
        """Call it on the main thread: a program ends with the thread that has started it."""
        options = [each.replace(NAMESPACE, self.system) for each in self.story.options]
        if self.story.program == "webhook":
            options += ["--listen", "127.0.0.1:0", "--shutdown-delay=0s"]
            if "--self-signed" not in options:
                options += [f"--tls-{part}={self._tale.certificates}/tls.{suffix}" for part, suffix in (("cert", "crt"), ("key", "key"))]
        elif self.story.program == "progress":
            options += ["--shutdown-delay=0s"]
        else:
            options += [f"--lease={self.system}/trainer.kubeflow.org"]
        # A reconciler must leave the jobs of other stories alone, also if its roles are not limited.
        if self.story.limited or self.story.program == "reconciler":
            options += [f"--namespaces={self.name}"]
        if self.story.limited:
            options += [f"--namespaces={self.another}"]
        self._tale.program = Program(BINARIES / f"signalbox-{'reconciler' if self.story.program == 'reconciler' else 'webhook'}", self._plane.directory / f"{self.name}.log", [
            "--kubeconfig", self._plane.service_account_kubeconfig(
                self.system, f"signalbox-{self.story.program}", self.system if self.story.program == "progress" else "default"),
            "--admin-listen", "127.0.0.1:0", *options])
        return self._tale.program

    def tell(self):
        happened = self.story.begin(self._tale)
        denied = "finalizers of the owner" if self.story.begin is stories.job_is_owned else re.split("[ ./]", self.story.what)[0]
        wait_for("the denial", lambda: denied in self._refusals(), timeout=60)
        assert self.story.begin in (stories.gpus_are_counted, stories.job_has_events) or not happened()
        for path, rules in self._taken.items():
            self._rest.request("PATCH", path, {"rules": rules}, "application/merge-patch+json")
        wait_for("the story to continue", happened, timeout=120, interval=0.3)

    def _refusals(self):
        """Returns the resources for which the program has logged that a permission is missing."""
        lines = map(json.loads, self._tale.program.text().splitlines())
        return {line["resource"].split(".")[0] for line in lines if "a permission is missing" in line["msg"]}


@pytest.fixture(scope="module")
def outcomes_of_stories(plane, rest, objects, tmp_path_factory):
    """Returns {name of a story: its future}"""
    certificates = tmp_path_factory.mktemp("certificates") / "made"
    subprocess.run([ROOT / "certs" / "make-development-certificates", "--out", certificates, "--ip", "127.0.0.1"], check=True,
                   capture_output=True)
    outcomes = {}
    for first in range(0, len(STORIES), AT_A_TIME):
        batch = STORIES[first:first + AT_A_TIME]
        assert [story.begin for story in batch].count(stories.certificate_is_shown) <= 1, "they share the configurations"
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            tellings = list(pool.map(lambda story: Telling(plane, story, objects[story.limited], certificates), batch))
            programs = [telling.start() for telling in tellings]
            futures = {telling.story.name: pool.submit(telling.tell) for telling in tellings}
            concurrent.futures.wait(futures.values())
            assert [problem for problems in pool.map(Program.stop, programs) for problem in problems] == []
        outcomes |= futures
    stories.remove_configurations(rest)
    return outcomes


@pytest.mark.parametrize("story", STORIES, ids=lambda story: f"{story.name}-{story.begin.__name__}")
def test_a_story_stops_without_its_rule_and_continues_with_it(outcomes_of_stories, story):
    outcomes_of_stories[story.name].result()
