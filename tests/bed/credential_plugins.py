"""Kubeconfigs whose user has tests/bed/credential-plugin."""

import json

from paths import ROOT

COMMAND = ROOT / "tests" / "bed" / "credential-plugin"


class CredentialPlugin:
    """The plugin with a folder of its own. `answers`: what it prints, call by call."""

    def __init__(self, folder, answers):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.answer(answers)

    def answer(self, answers):
        """Sets the list of answers. Calls that were made before count."""
        (self.folder / "answers.json").write_text(json.dumps(answers))

    def calls(self):
        """Returns what the plugin has noted of each call."""
        file = self.folder / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def user(self, version="v1", **fields):
        """Returns the user of a kubeconfig."""
        return {"exec": {"apiVersion": f"client.authentication.k8s.io/{version}", "command": str(COMMAND), "interactiveMode": "IfAvailable",
                         "env": [{"name": "PLUGIN_FOLDER", "value": str(self.folder)}], **fields}}
