"""Fixtures of this folder: `kubectl trainjob` as plain users run it."""

import os
import pathlib
import subprocess

import pytest

from rest import Rest, wait_for

PROGRAMS = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])


@pytest.fixture
def user(cluster, kubectl, namespace):
    """Returns a function that makes a user with this role in the test's namespace, and returns the function that runs `kubectl trainjob` as
    that user."""
    def make(role):
        name = f"{role}-of-{namespace}"
        kubectl("create", "rolebinding", name, f"--clusterrole={role}", f"--user={name}")
        kubeconfig = cluster.user_kubeconfig(name, name)
        client = Rest(kubeconfig, namespace)
        wait_for("the role to count", lambda: is_allowed(client))
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}

        def run(command, *arguments):
            return subprocess.run([cluster.kubectl_path, "trainjob", command, "-n", namespace, *arguments], capture_output=True, text=True,
                                  timeout=60, check=False, env=environment)
        return run
    return make


def is_allowed(client):
    answer = client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {
        "namespace": client.namespace, "verb": "list", "group": "trainer.kubeflow.org", "resource": "trainjobs"}}})
    return answer["status"]["allowed"]
