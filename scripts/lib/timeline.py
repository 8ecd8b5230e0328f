"""Follows one TrainJob and prints its changes, with the seconds since it was submitted."""

import sys
import time

BOLD, DIM, GREEN, RED, YELLOW, PLAIN = "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[33m", "\033[0m"
COLOURS = {"Complete": GREEN, "Failed": RED, "Suspended": YELLOW}


def paint(text, *codes):
    return "".join(codes) + text + PLAIN if sys.stdout.isatty() else text


class StoryFailed(Exception):
    """The story did not end as expected. The text has the state that was seen instead."""


class Timeline:
    """The state of one TrainJob: polled a few times a second, printed when it differs from the last printed one."""

    def __init__(self, rest, name, namespace="default"):
        self._rest = rest
        self.name = name
        self._namespace = namespace
        self._started = time.monotonic()
        self._said = {}
        self.job = None
        self.job_set = None
        self.pods = []

    def note(self, text, *codes):
        print(f"  {time.monotonic() - self._started:6.1f} s  {paint(text, *codes)}", flush=True)

    def look(self):
        """Reads job, JobSet and pods once and prints the changes."""
        self.job = self._rest.get("trainjobs", self.name, self._namespace)
        self.job_set = self._rest.get("jobsets", self.name, self._namespace)
        self.pods = self._rest.list("pods", self._namespace, f"jobset.sigs.k8s.io/jobset-name={self.name}")
        self._say("state", self._state())
        self._say("jobset", self._job_set(self.job_set))
        self._say("pods", self._pods())
        self._say("progress", self._progress())

    def until(self, what, condition, timeout=30):
        """Polls until condition(self) holds. Raises StoryFailed if it does not within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            self.look()
            if condition(self):
                return
            if time.monotonic() > deadline:
                raise StoryFailed(f"{self.name}: after {timeout} s still not {what}; conditions: {self.conditions()}")
            time.sleep(0.2)

    def while_looking(self, seconds, what, condition):
        """Polls for `seconds`. Raises StoryFailed if condition(self) does not hold all the time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.look()
            if not condition(self):
                raise StoryFailed(f"{self.name}: not {what}; conditions: {self.conditions()}")
            time.sleep(0.2)

    def conditions(self):
        found = (self.job or {}).get("status", {}).get("conditions", [])
        return {c["type"]: f"{c['status']}/{c['reason']}" for c in found}

    def is_true(self, kind, reason=None):
        status = self.conditions().get(kind, "")
        return status.startswith("True/") and (reason is None or status == f"True/{reason}")

    def _say(self, topic, text):
        if text == self._said.get(topic):
            return
        first = topic not in self._said
        self._said[topic] = text
        if first and text.endswith(" none"):  # an object that does not exist yet is no change
            return
        colour = next((code for word, code in COLOURS.items() if text.startswith(f"TrainJob  {word}")), "")
        self.note(text, colour)

    def _state(self):
        if self.job is None:
            return "TrainJob  gone"
        if "deletionTimestamp" in self.job["metadata"]:
            return "TrainJob  being deleted, after what it owns"
        found = self.job.get("status", {}).get("conditions", [])
        if not found:
            return "TrainJob  submitted"
        last = found[-1]
        state = last["type"] if last["status"] == "True" else f"not {last['type']}"
        return f"TrainJob  {state} ({last['reason']})" + (f": {last['message']}" if last["message"] else "")

    def percentage(self):
        """Returns the reported percentage; None before the first report."""
        return (self.job or {}).get("status", {}).get("trainerStatus", {}).get("progressPercentage")

    def _progress(self):
        if self.percentage() is None:
            return "progress  none"
        metrics = self.job["status"]["trainerStatus"].get("metrics", [])
        return f"progress  {self.percentage()} %" + "".join(f", {metric['name']} {metric['value']}" for metric in metrics)

    @staticmethod
    def _job_set(job_set):
        if job_set is None:
            return "JobSet    none"
        return "JobSet    suspended" if job_set["spec"].get("suspend") else "JobSet    running"

    def _pods(self):
        if not self.pods:
            return "pods      none"
        nodes = {}
        for pod in self.pods:
            phase = "Terminating" if "deletionTimestamp" in pod["metadata"] else pod["status"].get("phase", "?")
            nodes.setdefault(pod["spec"].get("nodeName", "(no node yet)"), []).append(phase)
        return "pods      " + "  ".join(f"{node}: {', '.join(sorted(phases))}" for node, phases in sorted(nodes.items()))
