"""Clients of the progress server that begin large reports and never end them. Memory is that of the shipped program, as in
test_memory.py."""

import contextlib
import re

from paths import ROOT, shipped
from progress_program import ApiServer, Server, report, token_of
from test_memory import peak_memory
from webhook_program import wait_for

CONNECTIONS = 1500


def memory_limit():
    """Returns the bytes that the container of the Deployment may use."""
    text = (ROOT / "manifests" / "components" / "progress" / "deployment.yaml").read_text()
    return int(re.search(r"limits:\s+memory: (\d+)Mi", text)[1]) * 1024 * 1024


def test_unfinished_reports_take_less_memory_than_the_deployment_has(tmp_path):
    """With room to spare: half of it is for the jobs that report."""
    with (ApiServer() as api, Server(tmp_path, api, "--progress-source-rate=0", program=shipped("signalbox-webhook")) as server,
          contextlib.ExitStack() as flood):
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        for number in range(CONNECTIONS):
            flood.enter_context(contextlib.closing(server.begin_report("job", 59_000)))
            if number % 100 == 0:
                assert server.post("honest", report(number // 100), token_of("honest"))[0] == 200
        assert peak_memory(server) < memory_limit() / 2
