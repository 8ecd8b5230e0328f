"""The program of docs/python-sdk.md, by Kubeflow's SDK, on real nodes."""

import os
import re
import subprocess
import sys

import pytest

from paths import ROOT

PROGRAM, = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python-sdk.md").read_text(), re.DOTALL)
# The nodes reach no registry of packages, and have two cores for all tests.
CHANGES = {'        packages_to_install=["einops"],\n': "", '"cpu": 2': '"cpu": "10m"'}


@pytest.mark.together
def test_a_function_trains_on_two_nodes_and_its_output_comes_back(runtimes, cluster, rest, tmp_path):
    program = PROGRAM
    for before, after in CHANGES.items():
        assert program.count(before) == 1
        program = program.replace(before, after)
    (tmp_path / "submit.py").write_text(program)
    run = subprocess.run([sys.executable, tmp_path / "submit.py"], capture_output=True, text=True, timeout=600, check=False,
                         env={**os.environ, "KUBECONFIG": str(cluster.admin_kubeconfig(rest.namespace))})
    assert run.returncode == 0, run.stdout + run.stderr
    assert "rank 0 trains at 0.1" in run.stdout.splitlines()
    assert rest.list("trainjobs") == []
