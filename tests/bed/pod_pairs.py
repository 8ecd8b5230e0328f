"""Random Pod specs, and patches of them, from few names and values each, so that both often name the same entry."""

import random

NAMES = "abcde"
VOLUMES = [f"v{n}" for n in range(5)]
CONTAINERS = ["main", "side"]


class Pairs:
    """The same seed makes the same specs and patches. An API server accepts the specs."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def base(self):
        return self._pod(patch=False)

    def patch(self):
        pod = self._pod(patch=True)
        self._say_nothing_somewhere(pod)
        return pod

    def _pod(self, patch):
        chance = 0.45 if patch else 0.7
        pod = {}
        parts = {
            "volumes": lambda: [self._volume(name) for name in self._some(VOLUMES, patch)],
            "containers": lambda: [self._container(name, patch) for name in self._some(CONTAINERS, patch)],
            "initContainers": lambda: [self._container(name, patch) for name in self._some(["prepare", "warm"], patch)],
            "imagePullSecrets": lambda: [{"name": name} for name in self._some(NAMES, True)],
            "schedulingGates": lambda: [{"name": f"x.io/{name}"} for name in self._some(NAMES, True)],
            "tolerations": lambda: [self._toleration() for _ in range(self._random.randint(1, 3))],
            "nodeSelector": self._labels,
            "affinity": self._affinity,
            "securityContext": self._pod_security,
            "serviceAccountName": lambda: self._random.choice(["one", "two"]),
            "terminationGracePeriodSeconds": lambda: self._random.choice([0, 1, 30]),
            "resourceClaims": lambda: [self._claim(name) for name in self._some(NAMES, True)],
        }
        for field, make in parts.items():
            needed = not patch and field in ("containers", "initContainers", "volumes")
            if needed or self._maybe(chance):
                pod[field] = make()
        return pod

    def _maybe(self, chance=0.5):
        return self._random.random() < chance

    def _some(self, names, fewer):
        names = list(names)
        self._random.shuffle(names)
        return names[: self._random.randint(1, len(names))] if fewer else names

    def _optional(self, **choices):
        """Returns a random subset of these members."""
        return {name: self._random.choice(values) for name, values in choices.items() if self._maybe()}

    def _labels(self):
        return {f"x.io/{name}": self._random.choice(["", "1", "2"]) for name in self._some(NAMES, True)}

    def _items(self):
        return [{"key": name, "path": name, **self._optional(mode=[0, 256])} for name in self._some(NAMES, True)]

    def _volume(self, name):
        files = {"defaultMode": [0, 256], "optional": [True, False], "items": [self._items()]}
        sources = {
            "emptyDir": lambda: self._optional(medium=["Memory"], sizeLimit=["1Gi", "0"]),
            "hostPath": lambda: {"path": self._random.choice(["/a", "/b"]), **self._optional(type=["", "Directory"])},
            "secret": lambda: {"secretName": self._random.choice("ab"), **self._optional(**files)},
            "configMap": lambda: {"name": self._random.choice("ab"), **self._optional(**files)},
            "downwardAPI": lambda: {**self._optional(defaultMode=[0, 256]), "items": [
                {"path": name, "fieldRef": {"fieldPath": "metadata.name"}, **self._optional(mode=[0, 256])}
                for name in self._some(NAMES, True)]},
            "persistentVolumeClaim": lambda: {"claimName": self._random.choice("ab"), **self._optional(readOnly=[True, False])},
            "csi": lambda: {"driver": "x.io", **self._optional(readOnly=[True, False], fsType=["", "ext4"],
                                                               volumeAttributes=[self._labels()])},
            "nfs": lambda: {"server": "h", "path": "/a", **self._optional(readOnly=[True, False])},
            "projected": lambda: {**self._optional(defaultMode=[0, 256]), "sources": [
                self._random.choice([{"secret": {"name": "a", **self._optional(optional=[True, False])}},
                                     {"serviceAccountToken": {"path": "t", **self._optional(audience=["x"], expirationSeconds=[600])}}])
            ]},
            "ephemeral": lambda: {"volumeClaimTemplate": {"spec": {
                "accessModes": [self._random.choice(["ReadWriteOnce", "ReadOnlyMany"])], "resources": {"requests": {"storage": "1Gi"}},
                **self._optional(storageClassName=["", "fast"])}, **self._optional(metadata=[{"labels": self._labels()}])}},
        }
        return {"name": name, **self._one(sources)}

    def _one(self, makers):
        name = self._random.choice(list(makers))
        return {name: makers[name]()}

    def _claim(self, name):
        return {"name": name, self._random.choice(["resourceClaimName", "resourceClaimTemplateName"]): self._random.choice("xy")}

    def _variable(self, name):
        if self._maybe():
            return {"name": name, **self._optional(value=["", "1", "2"])}
        return {"name": name, "valueFrom": self._one({
            "fieldRef": lambda: {"fieldPath": self._random.choice(["metadata.name", "spec.nodeName"])},
            "resourceFieldRef": lambda: {"resource": self._random.choice(["limits.cpu", "requests.memory"])},
            "secretKeyRef": lambda: {"name": self._random.choice("ab"), "key": "k", **self._optional(optional=[True, False])},
            "configMapKeyRef": lambda: {"name": self._random.choice("ab"), "key": "k", **self._optional(optional=[True, False])},
        })}

    def _container(self, name, patch):
        container = {"name": name}
        # A patch cannot set images, and the API server requires one in every container: only existing containers are patched.
        if not patch:
            container["image"] = "i:1"
        if self._maybe(0.7):
            container["env"] = [self._variable(variable) for variable in self._some("ABCDE", True)]
        if self._maybe(0.7):
            container["volumeMounts"] = [
                {"name": self._random.choice(VOLUMES), "mountPath": f"/{path}",
                 **self._optional(readOnly=[True, False], subPath=["", "s"], mountPropagation=["None", "HostToContainer"])}
                for path in self._some(NAMES, True)]
        if self._maybe(0.5):
            container["securityContext"] = self._container_security()
        return container

    def _container_security(self):
        return {**self._optional(runAsUser=[0, 1], runAsNonRoot=[True, False], privileged=[False], readOnlyRootFilesystem=[True, False],
                                 procMount=["Default"], seccompProfile=[{"type": "RuntimeDefault"}, {"type": "Unconfined"}]),
                **({"capabilities": self._optional(add=[["A"], ["B", "C"]], drop=[["ALL"], ["D"]])} if self._maybe() else {})}

    def _pod_security(self):
        return self._optional(runAsUser=[0, 1], runAsGroup=[0, 1], fsGroup=[0, 1], runAsNonRoot=[True, False],
                              supplementalGroups=[[0], [1, 2]], sysctls=[[{"name": "a.b", "value": ""}], [{"name": "c.d", "value": "1"}]],
                              fsGroupChangePolicy=["Always", "OnRootMismatch"], seccompProfile=[{"type": "RuntimeDefault"}])

    def _toleration(self):
        return {"key": self._random.choice(NAMES), "operator": "Exists", "effect": "NoExecute", **self._optional(tolerationSeconds=[0, 5])}

    def _expression(self):
        return {"key": self._random.choice(NAMES), "operator": "In", "values": self._some(NAMES, True)}

    def _term(self):
        return {"matchExpressions": [self._expression() for _ in range(self._random.randint(1, 2))]}

    def _pod_term(self):
        return {"topologyKey": self._random.choice(["zone", "host"]),
                **self._optional(namespaces=[["a"], ["b", "c"]], labelSelector=[{"matchLabels": self._labels()}])}

    def _affinity(self):
        required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
        pods = {required: [[self._pod_term()], [self._pod_term(), self._pod_term()]],
                preferred: [[{"weight": 1, "podAffinityTerm": self._pod_term()}]]}
        return self._optional(
            nodeAffinity=[{**self._optional(**{required: [{"nodeSelectorTerms": [self._term()]}],
                                               preferred: [[{"weight": 2, "preference": self._term()}]]})}],
            podAffinity=[self._optional(**pods)], podAntiAffinity=[self._optional(**pods)])

    def _say_nothing_somewhere(self, tree):
        """Replaces some values by null or an empty list, which a typed client leaves out. They must have no effect."""
        for name in list(tree) if isinstance(tree, dict) else range(len(tree)):
            value = tree[name]
            if isinstance(value, (dict, list)):
                self._say_nothing_somewhere(value)
            if isinstance(tree, dict) and name in DISPENSABLE and self._maybe(0.1):
                tree[name] = self._random.choice([None, []]) if isinstance(value, list) else None


# Without these an object is still valid.
DISPENSABLE = {"env", "volumeMounts", "tolerations", "imagePullSecrets", "schedulingGates", "nodeSelector", "affinity",
               "securityContext", "serviceAccountName", "terminationGracePeriodSeconds", "resourceClaims", "optional", "defaultMode",
               "mode", "readOnly", "subPath", "value", "runAsUser", "fsGroup", "capabilities", "add", "drop", "supplementalGroups",
               "sysctls", "tolerationSeconds", "namespaces", "labelSelector", "medium", "sizeLimit", "volumeAttributes"}
