"""Environment and files that a kubelet provides for a pod's containers. The test bed's nodes only pretend to run them.

Sources: the Kubernetes API reference of EnvVar, EnvVarSource, EnvFromSource and Volume. The variables of Services are left out,
because they depend on when a node learns of them.
"""

import base64
import decimal
import math
import re

_SUFFIXES = {"": 1, "n": "1e-9", "u": "1e-6", "m": "0.001", "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
             "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


class CannotStart(Exception):
    """The container would wait for a missing object (CreateContainerConfigError)."""


class Kubelet:
    """The kubelet of one namespace; `rest` reads the objects that pods refer to."""

    def __init__(self, rest, namespace):
        self._rest = rest
        self._namespace = namespace

    def environment(self, pod, container):
        known = {}
        for source in container.get("envFrom", []):
            for kind, reference in (("configmaps", source.get("configMapRef")), ("secrets", source.get("secretRef"))):
                if reference:
                    data = self._data(kind, reference)
                    known |= {source.get("prefix", "") + key: value for key, value in (data or {}).items()}
        for variable in container.get("env", []):
            if "valueFrom" in variable:
                value = self._looked_up(pod, container, variable["valueFrom"])
            else:
                value = expand(variable.get("value", ""), known)
            if value is not None:
                known[variable["name"]] = value
        return known

    def command_line(self, pod, container):
        known = self.environment(pod, container)
        return [expand(word, known) for word in container.get("command", []) + container.get("args", [])]

    def files(self, pod, container):
        """Returns {path: (mode, text)} of the files from Secrets and ConfigMaps."""
        folders = {mount["name"]: mount["mountPath"] for mount in container.get("volumeMounts", [])}
        found = {}
        for volume in pod["spec"].get("volumes", []):
            kind = next((kind for kind in ("secret", "configMap") if kind in volume), None)
            if volume["name"] not in folders or not kind:
                continue
            source = volume[kind]
            reference = {"name": source.get("secretName") or source.get("name"), "optional": source.get("optional")}
            data = self._data(kind.lower() + "s", reference) or {}
            for item in source.get("items") or [{"key": key, "path": key} for key in data]:
                if item["key"] not in data:
                    raise CannotStart(f"volume {volume['name']} wants key {item['key']} of {reference['name']}")
                path = f"{folders[volume['name']]}/{item['path']}"
                found[path] = (item.get("mode", source["defaultMode"]), data[item["key"]])
        return found

    def _looked_up(self, pod, container, source):
        (kind, reference), = source.items()
        if kind == "fieldRef":
            return field(pod, reference["fieldPath"])
        if kind == "resourceFieldRef":
            return self._resource(pod, container, reference)
        if kind not in ("configMapKeyRef", "secretKeyRef"):
            raise CannotStart(f"a kubelet knows no {kind}")
        data = self._data("configmaps" if kind == "configMapKeyRef" else "secrets", reference)
        if data is not None and reference["key"] in data:
            return data[reference["key"]]
        if reference.get("optional"):
            return None
        raise CannotStart(f"{reference['name']} has no key {reference['key']}")

    def _data(self, kind, reference):
        found = self._rest.get(kind, reference["name"], self._namespace)
        if not found:
            if reference.get("optional"):
                return None
            raise CannotStart(f"there is no {reference['name']} among the {kind} of {self._namespace}")
        data = found.get("data") or {}
        return {key: base64.b64decode(text).decode() for key, text in data.items()} if kind == "secrets" else data

    def _resource(self, pod, container, reference):
        owner, name = reference["resource"].split(".", 1)
        containers = pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
        named = [each for each in containers if each["name"] == reference.get("containerName")] or [container]
        amounts = named[0].get("resources", {}).get(owner, {})
        if name not in amounts and owner == "limits":
            amounts = self._rest.get("nodes", pod["spec"]["nodeName"])["status"]["allocatable"]
        divisor = quantity(reference.get("divisor", "0")) or 1
        return str(math.ceil(quantity(amounts.get(name, "0")) / divisor))


def expand(text, known):
    """Replaces $(NAME) if NAME is defined earlier, and leaves it otherwise; $$ stands for one $."""
    return re.sub(r"\$(\$|\(([^)]*)\))",
                  lambda match: "$" if match[1] == "$" else known.get(match[2], match[0]), text)


def field(pod, path):
    if subscript := re.fullmatch(r"metadata\.(annotations|labels)\['(.+)'\]", path):
        return pod["metadata"].get(subscript[1], {}).get(subscript[2], "")
    fields = {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
              "status.hostIP", "status.podIP"}
    if path not in fields:
        raise CannotStart(f"a kubelet knows no field {path}")
    found = pod
    for step in path.split("."):
        found = found[step]
    return found


def quantity(text):
    number, suffix = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", text).groups()
    return decimal.Decimal(number) * decimal.Decimal(_SUFFIXES[suffix])
