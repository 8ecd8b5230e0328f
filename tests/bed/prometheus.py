"""Debian's Prometheus, which scripts/setup has unpacked: promtool, and a server on loopback."""

import json
import pathlib
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import yaml

from controlplane.ports import free_ports
from controlplane.processes import Process, ProcessEnded
from paths import ROOT
from rest import wait_for
from tools import unpacked

_ATTEMPTS = 3
COMPONENT = ROOT / "manifests" / "components" / "prometheus"


def promtool(*arguments):
    run = subprocess.run([unpacked("prometheus", "promtool"), *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def alerts():
    """Returns the rules by name."""
    rule = yaml.safe_load((COMPONENT / "alerts.yaml").read_text())
    return {alert["alert"]: alert for group in rule["spec"]["groups"] for alert in group["rules"]}


def write_rules(path):
    """Writes the rules in Prometheus' form: the `spec` of the operator's object."""
    path.write_text(yaml.safe_dump(yaml.safe_load((COMPONENT / "alerts.yaml").read_text())["spec"]))
    return path


class Prometheus:
    """A context manager. targets: {job: port of loopback}."""

    def __init__(self, directory, targets):
        self._directory = pathlib.Path(directory)
        self._targets = targets

    def __enter__(self):
        self._directory.mkdir(parents=True, exist_ok=True)
        rules = write_rules(self._directory / "rules.yaml")
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": {"pod": f"{job}-0"}}]}
                               for job, port in self._targets.items()]}
        (self._directory / "prometheus.yaml").write_text(yaml.safe_dump(config))
        for attempt in range(_ATTEMPTS):
            try:
                self._start()
                break
            except ProcessEnded as ended:
                if not ended.port_was_taken or attempt + 1 == _ATTEMPTS:
                    raise
        return self

    def _start(self):
        port, = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self._process = Process("prometheus", [
            unpacked("prometheus", "prometheus"), f"--config.file={self._directory / 'prometheus.yaml'}",
            f"--storage.tsdb.path={self._directory / 'data'}", f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"],
            self._directory / "prometheus.log")
        try:
            wait_for("Prometheus to be ready", self._ready)
            # A rate needs two scrapes.
            wait_for("the first scrapes", lambda: self.query("count(up == 1)") == [({}, len(self._targets))])
        except BaseException:
            self._process.kill()
            raise

    def __exit__(self, *_):
        self._process.ask_to_end()
        if not self._process.wait(10):
            self._process.kill()

    def _ready(self):
        if not self._process.running():
            raise ProcessEnded(self._process)
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2):
                return True
        except (urllib.error.URLError, ConnectionError):
            return False

    def ask(self, path, **parameters):
        """Returns the data of an answer of /api/v1. Raises an error with Prometheus' message."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {parameters}: {error.read().decode()}") from None

    def query(self, expression):
        """Returns the series at this moment: [(labels, value)]."""
        data = self.ask("query", query=expression)
        assert data["resultType"] == "vector", expression
        return [(series["metric"], float(series["value"][1])) for series in data["result"]]

    def range(self, expression, start, end, step=1):
        """Returns [(labels, [(time, value)])]."""
        data = self.ask("query_range", query=expression, start=start, end=end, step=step)
        return [(series["metric"], [(float(time), float(value)) for time, value in series["values"]]) for series in data["result"]]
