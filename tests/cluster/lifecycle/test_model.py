"""Compares the API server of the fault harness (tests/model) with a real one: the same requests to both, and the parts of the
answers on which controllers depend."""

import copy
import json
import os
import pathlib
import subprocess

import pytest
import yaml

from paths import DATA
from rest import ApiError, path_of, wait_for

MODEL = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "fault_model"
STORIES = yaml.safe_load((DATA / "model_stories.yaml").read_text())
NAMESPACE = "default"  # of all objects; each story uses its own names
# Field managers of the stories; others, such as the JobSet controller, are not compared.
MANAGERS = {"trainer", "kubectl", "other", "before-first-apply"}
TYPES = {"apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json"}


class Model:
    """The modelled server, as a program."""

    def __init__(self):
        self._process = subprocess.Popen([MODEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _ask(self, command):
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def send(self, method, target, body, kind):
        answer = self._ask({"method": method, "target": target, "body": body, "type": kind})
        return answer["status"], json.loads(answer["text"])

    def watch(self, target):
        return self._ask({"method": "GET", "target": target})["text"]

    def settle(self, _until):
        self._ask({"collect": True})

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Real:
    """A real server, with the garbage collector and the JobSet controller."""

    def __init__(self, rest):
        self._rest = rest

    def send(self, method, target, body, kind):
        try:
            return {"POST": 201}.get(method, 200), self._rest.request(method, target, body, kind)
        except ApiError as error:
            return error.code, error.status

    def watch(self, target):
        connection = self._rest.connection()
        try:
            connection.request("GET", target, headers={"Accept": "application/json"})
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def settle(self, until):
        wait_for("the garbage collector", until)

    def close(self):
        pass


class Side:
    """One of the two servers, and the values that a story has read from it."""

    def __init__(self, server):
        self._server = server
        self._known = {}

    def play(self, step):
        """Carries out a step. Returns its outcome in a form that is the same on both sides."""
        if "settled" in step:
            self._server.settle(lambda: self._looks(step["settled"]) == step["settled"])
            return self._looks(step["settled"])
        if "watch" in step:
            return self._watched(step)
        kind, name = step["of"].split("/")
        method, how, _ = (step["do"] + "  ").split(" ", 2)
        body = self._filled(copy.deepcopy(step.get("body")), f"{kind}/{name}")
        target = path_of(kind, NAMESPACE, None if method == "POST" else name)
        target += "/status" if step.get("status") else ""
        force = {"apply-force": "&force=true", "apply": "&force=false"}.get(how, "")
        target += f"?fieldManager={step.get('as', 'kubectl')}{force}" if method not in ("GET", "DELETE") else ""
        target += "&dryRun=All" if step.get("dry") else ""
        code, answer = self._server.send(method, target, body, TYPES.get(how.split("-")[0], "application/json"))
        outcome = {"code": min(code, 299) // 100 if code < 300 else code}
        if code >= 300:
            return {**outcome, "reason": answer.get("reason"), "immutable": _speaks_of_immutable(answer)}
        if step.get("only") == "code":
            return outcome
        seen = self._server.send("GET", path_of(kind, NAMESPACE, name), None, "application/json")
        if seen[0] != 200:
            return {**outcome, "gone": True}
        return {**outcome, **self._digest(f"{kind}/{name}", seen[1])}

    def _looks(self, wanted):
        found = {}
        for of in wanted:
            kind, name = of.split("/")
            code, answer = self._server.send("GET", path_of(kind, NAMESPACE, name), None, "application/json")
            meta = answer.get("metadata", {})
            found[of] = "gone" if code != 200 else "free" if not meta.get("ownerReferences") else "there"
            if meta.get("deletionTimestamp"):
                found[of] = "ending"
        return found

    def _watched(self, step):
        """Returns the events of a watch for the object, and how it begins or ends."""
        kind, name = step["watch"].split("/")
        since = self._filled(step.get("from"), step["watch"])
        how = f"resourceVersion={since}" if since else "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        target = path_of(kind, NAMESPACE) + f"?watch=true&allowWatchBookmarks=true&{how}&timeoutSeconds="
        for seconds in (1, 10):  # longer if the server has not sent all in time
            seen = self._events(target + str(seconds), name)
            if len(seen) >= len(step["want"]["seen"]):
                break
        return {"seen": seen}

    def _events(self, target, name):
        seen, last = [], 0
        for line in self._server.watch(target).splitlines():
            event = json.loads(line)
            meta = event["object"].get("metadata", {})
            if event["type"] == "ERROR":
                seen.append(["ERROR", event["object"]["code"], event["object"]["reason"]])
            elif event["type"] == "BOOKMARK":
                if meta.get("annotations", {}).get("k8s.io/initial-events-end") == "true":
                    seen.append(["LIST ENDS", int(meta["resourceVersion"]) >= last])
            elif meta["name"] == name:
                version = int(meta["resourceVersion"])
                seen.append([event["type"], meta.get("labels", {}), "deletionTimestamp" in meta, version > last])
                last = version
        return seen

    def _filled(self, tree, of):
        if isinstance(tree, dict):
            return {key: self._filled(value, of) for key, value in tree.items()}
        if isinstance(tree, list):
            return [self._filled(value, of) for value in tree]
        if isinstance(tree, str) and tree.startswith("$"):
            what, _, obj = tree[1:].partition(" of ")
            return self._known[obj or of][what]
        return tree

    def _digest(self, of, answer):
        meta = answer["metadata"]
        before = self._known.get(of, {})
        self._known[of] = {"uid": meta["uid"], "version": meta["resourceVersion"],
                           "older": before.get("version", meta["resourceVersion"])}
        digest = {
            "labels": meta.get("labels", {}),
            "finalizers": meta.get("finalizers", []),
            "owners": len(meta.get("ownerReferences", [])),
            "ending": "deletionTimestamp" in meta,
            "data": answer.get("data"),
            "managers": sorted(_managers(meta)),
        }
        if of.startswith("jobsets/"):
            job = answer["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
            digest["generation"] = meta["generation"]
            digest["status"] = None if "managedBy" not in answer["spec"] else answer.get("status")
            digest["suspend"] = answer["spec"].get("suspend", False)
            digest["rules"] = [rule["name"] for rule in answer["spec"].get("failurePolicy", {}).get("rules", [])]
            digest["pod"] = {"labels": job.get("metadata", {}).get("labels", {}),
                             **{name: job["spec"].get(name) for name in ("nodeSelector", "tolerations")},
                             "env": [c.get("env", []) for c in job["spec"]["containers"]],
                             "images": [c["image"] for c in job["spec"]["containers"]]}
        else:
            digest["written"] = meta["resourceVersion"] != before.get("version")
        return digest


def _speaks_of_immutable(answer):
    return any(words in answer.get("message", "") for words in ("field is immutable", "Value is immutable"))


def _managers(meta):
    for entry in meta.get("managedFields", []):
        if entry["manager"] in MANAGERS:
            fields = sorted(_leaves(entry["fieldsV1"], "", meta["uid"]))
            yield f"{entry['manager']} {entry['operation']} {entry.get('subresource', '')} {fields}"


def _leaves(fields, path, uid):
    below = {name: tree for name, tree in fields.items() if name != "."}
    if not below or "." in fields:
        yield path
    for name, tree in below.items():
        # An owner is identified by its UID, which differs.
        step = "k:owner" if path.endswith("f:ownerReferences") else name
        yield from _leaves(tree, f"{path}/{step}", uid)


def test_no_two_stories_use_an_object_of_the_same_name():
    used = [of for story in STORIES for of in {step["of"] for step in story["steps"] if "of" in step}]
    assert sorted(used) == sorted({*used})


@pytest.mark.together
@pytest.mark.parametrize("story", STORIES, ids=[story["story"] for story in STORIES])
def test_the_modelled_api_server_answers_as_the_real_one(admin, story):
    model, real = Model(), Real(admin)
    sides = Side(model), Side(real)
    try:
        for number, step in enumerate(story["steps"]):
            of_model, of_server = (side.play(step) for side in sides)
            assert of_model == of_server, f"step {number}: {json.dumps(step)}"
            if "want" in step:
                assert {key: of_server.get(key) for key in step["want"]} == step["want"], f"step {number}"
    finally:
        model.close()
        for of in {step["of"]: None for step in reversed(story["steps"]) if "of" in step}:
            kind, name = of.split("/")
            if admin.get(kind, name):
                admin.patch(kind, name, {"metadata": {"finalizers": None}})
                admin.delete(kind, name)
