"""Records every Secret, token and private key that a control plane has held, also deleted ones, and searches logs for them."""

import base64
import binascii
import json
import re

_POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"]}
_SECRETS = {"level": "RequestResponse", "resources": [{"group": "", "resources": ["secrets", "serviceaccounts/token"]}]}
_NOTHING_ELSE = {"level": "None"}
_SHORTEST = 8  # shorter ones occur in ordinary text
_SHORTEST_PART = 20  # of a value with several parts: the lines of a PEM file, the values of a configuration


class SecretWatch:
    """An observer of control planes. `logs`: a set of files, to which each control plane adds its own; all are searched when a control
    plane ends. `found` describes the findings."""

    def __init__(self, logs):
        self.found = []
        self._logs = logs

    def starting(self, plane):
        policy = plane.directory / "audit-policy.json"
        # A plane has one audit log: a test that needs more in it adds rules.
        more = getattr(plane, "audit_rules", [])
        policy.write_text(json.dumps({**_POLICY, "rules": [_SECRETS, *more, _NOTHING_ELSE]}))
        plane.api_server_options = (*plane.api_server_options, "--audit-policy-file", policy,
                                    "--audit-log-path", plane.directory / "audit.log")

    def ended(self, plane):
        held = dict(held_by(plane.directory))
        logs = [log for log in sorted(self._logs) if log.exists()]
        self._logs -= {log for log in logs if log.is_relative_to(plane.directory)}
        for log in logs:
            text = log.read_text(errors="replace")
            self.found += [f"{log.name} has {what}" for needle, what in held.items() if needle in text]


def held_by(directory):
    """Yields (text, description) of all values that must not appear in a log."""
    audit = directory / "audit.log"
    for line in audit.read_text().splitlines() if audit.exists() else ():
        event = json.loads(line)
        for part in {"requestObject", "responseObject"} & event.keys():
            obj = event[part] or {}
            if obj.get("kind") == "Status":  # a request that was denied
                continue
            for secret in obj.get("items") or [obj]:
                if event["objectRef"].get("subresource") == "token":
                    yield from forms((secret.get("status") or {}).get("token") or "", "a token")
                else:
                    name = f"Secret {event['objectRef'].get('namespace')}/{event['objectRef'].get('name') or '?'}"
                    yield from of_secret(secret, name)
    for key in directory.rglob("*.key"):
        yield from forms(key.read_text(), f"the private key {key.name}")


def of_secret(secret, name):
    for key, value in (secret.get("data") or {}).items():
        try:
            yield from forms(base64.b64decode(value or "", validate=True).decode(errors="replace"), f"{key} of {name}")
        except binascii.Error:
            pass  # of a request that was rejected for it
    for key, value in (secret.get("stringData") or {}).items():
        yield from forms(value or "", f"{key} of {name}")


def forms(value, what):
    """Yields all texts that would reveal the value, or a good part of it."""
    value = value.strip()
    # Keys of CURVE have equals signs inside, and keys of files are followed by one.
    parts = {part for text in (value, value.replace("=", " ")) for part in re.findall(rf"[^\s\"']{{{_SHORTEST_PART},}}", text)}
    if len(value) >= _SHORTEST and "\n" not in value:
        parts.add(value)
    if len(value) >= _SHORTEST:
        parts.add(base64.b64encode(value.encode()).decode().rstrip("=")[:-1])
    return [(part, what) for part in parts]
