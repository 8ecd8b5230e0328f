"""The program of docs/python-sdk.md, by Kubeflow's SDK, on real nodes."""

import os
import re
import subprocess
import sys

import pytest

from node.training import pod_specs
from paths import ROOT

PROGRAM, = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python-sdk.md").read_text(), re.DOTALL)
# The nodes reach no registry of packages, and have two cores for all tests: the number is a limit as well. The SDK writes the function into the
# working directory, where Pods of the other runtime have programs that are only to be read.
RUNTIME = "torch-of-functions"
CHANGES = {'"torch-distributed"': f'"{RUNTIME}"', '        packages_to_install=["einops"],\n': "", '"cpu": 2': '"cpu": "500m"'}


@pytest.fixture
def runtime(runtimes, admin):
    made = admin.get("clustertrainingruntimes", "torch-distributed")
    made["metadata"] = {"name": RUNTIME, "labels": made["metadata"]["labels"]}
    for pod in pod_specs(made):
        pod.pop("volumes")
        for container in pod["containers"]:
            container.pop("volumeMounts")
    admin.create(made)
    yield
    admin.delete("clustertrainingruntimes", RUNTIME)


def test_a_function_trains_on_two_nodes_and_its_output_comes_back(runtime, cluster, rest, tmp_path):
    program = PROGRAM
    for before, after in CHANGES.items():
        assert program.count(before) == 1
        program = program.replace(before, after)
    (tmp_path / "submit.py").write_text(program)
    run = subprocess.run([sys.executable, tmp_path / "submit.py"], capture_output=True, text=True, timeout=600, check=False,
                         env={**os.environ, "KUBECONFIG": str(cluster.admin_kubeconfig(rest.namespace))})
    assert run.returncode == 0, run.stdout + run.stderr + cluster.kubectl(
        "--namespace", rest.namespace, "logs", "--selector", "jobset.sigs.k8s.io/replicatedjob-name=node", "--tail=50")
    assert "rank 0 trains at 0.1" in run.stdout.splitlines()
    assert rest.list("trainjobs") == []
