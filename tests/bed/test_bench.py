"""The arithmetic of the benchmarks: ratios of turns, the cost of a controller to the API server, and latencies; and their driver."""

import collections
import concurrent.futures
import gzip
import importlib
import json
import sys
import threading
import types

import pytest
from paths import ROOT
from rest import wait_for

sys.path.insert(0, str(ROOT / "bench" / "support"))

from api_costs import Span, of_controller, parse_requests, request_of, requests_in_flight
from comparison import OURS, PEER, Comparison, spread, table
from cpu_profile import kind_of, samples, seconds_by_kind
from driver import RUNNING, WITHOUT_PODS, Driver, Starts, status_of
from load import offer, percentile
from phases import Life, Phase
from storms import says
from watching import Watch

MODULES = sorted(path.stem for path in (ROOT / "bench" / "support").glob("*.py"))
METRICS = """\
# HELP apiserver_request_total Counter
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="trainer.kubeflow.org",resource="trainjobs",scope="resource",\
subresource="status",verb="PATCH",version="v1alpha1"} 12
apiserver_request_total{code="201",component="apiserver",dry_run="",group="jobset.x-k8s.io",resource="jobsets",scope="resource",\
subresource="",verb="APPLY",version="v1alpha2"} 3e+01
apiserver_request_total{code="409",component="apiserver",dry_run="",group="jobset.x-k8s.io",resource="jobsets",scope="resource",\
subresource="",verb="APPLY",version="v1alpha2"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="",scope="",subresource="/readyz",verb="GET",version=""} 9
apiserver_request_duration_seconds_sum{resource="jobsets",verb="APPLY"} 4
apiserver_current_inflight_requests{request_kind="mutating"} 12
apiserver_current_inflight_requests{request_kind="readOnly"} 3
"""


@pytest.mark.parametrize("module", MODULES)
def test_every_module_finds_what_it_imports(module):
    importlib.import_module(module)


def turns(*pairs):
    comparison = Comparison()
    for ours, peer in pairs:
        comparison.note(OURS, "validate", "us", ours)
        comparison.note(PEER, "validate", "us", peer)
    return comparison


def test_a_ratio_is_that_of_one_turn():
    # The machine became twice as slow in the second turn: the ratio stays.
    [(name, unit, ratio)] = turns((10, 100), (20, 200), (30, 200)).ratios()
    assert (name, unit, ratio) == ("validate", "us", (0.1, 0.1, 0.15))


def test_a_turn_in_which_the_peer_has_nothing_has_no_ratio():
    assert [ratio for *_, ratio in turns((10, 0), (10, 20)).ratios()] == [(0.5, 0.5, 0.5)]


def test_a_cost_below_that_of_doing_nothing_has_no_ratio():
    # What was subtracted was more: there is nothing to see in that turn.
    assert [ratio for *_, ratio in turns((-1, -10), (-1, 10), (10, 20)).ratios()] == [(0.5, 0.5, 0.5)]


def test_a_figure_of_one_subject_alone_has_no_ratio():
    comparison = Comparison()
    comparison.note(OURS, "ready", "s", 1)
    assert not list(comparison.ratios())
    assert comparison.table_of_figures() == "|  | Signalbox |\n|---|---|\n| ready, s | 1.00 |"


def test_ratios_are_printed_with_their_spread_and_figures_in_a_table_of_their_own():
    comparison = turns((10, 100), (20, 200), (30, 200))
    assert comparison.table_of_ratios() == ("| Signalbox by peer | median | least | most |\n|---|---|---|---|\n"
                                            "| validate | 0.10 | 0.10 | 0.15 |")
    assert comparison.table_of_figures() == ("|  | Signalbox | peer |\n|---|---|---|\n"
                                             "| validate, us | 20.0 (10.0 to 30.0) | 200 (100 to 200) |")


def test_the_spread_of_nothing_is_nothing():
    assert spread([]) is None
    assert table(("a",), []) == "| a |\n|---|"


def test_requests_are_read_from_the_metrics_of_the_api_server():
    assert parse_requests(METRICS) == {"PATCH trainjobs/status": 12, "APPLY jobsets": 30, "APPLY jobsets 409": 2}


def test_requests_in_flight_are_those_that_read_and_those_that_write():
    assert requests_in_flight(METRICS) == 15


@pytest.mark.parametrize("method, path, want", [
    ("POST", "/apis/trainer.kubeflow.org/v1alpha1/namespaces/bench/trainjobs", "POST trainjobs"),
    ("PATCH", "/apis/jobset.x-k8s.io/v1alpha2/namespaces/bench/jobsets/job-1/status", "PATCH jobsets/status"),
    ("GET", "/apis/jobset.x-k8s.io/v1alpha2/namespaces/bench/jobsets/job-1", "GET jobsets"),
    ("GET", "/apis/jobset.x-k8s.io/v1alpha2/namespaces/bench/jobsets?limit=1", "LIST jobsets"),
    ("GET", "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch", "GET clustertrainingruntimes"),
    ("POST", "/api/v1/namespaces", "POST namespaces"),
    ("GET", "/api/v1/namespaces/bench", "GET namespaces"),
    ("GET", "/api/v1/namespaces/bench/pods", "LIST pods"),
    ("GET", "/metrics", ""),
])
def test_requests_of_the_driver_have_the_names_of_the_metrics(method, path, want):
    assert request_of(method, path) == want


def span(seconds, api_server, **counts):
    sent = counts.pop("sent", {})
    return Span(seconds, collections.Counter({"kube-apiserver": api_server, "etcd": 0.0}), collections.Counter(counts), collections.Counter(sent))


def test_what_driver_and_api_server_do_by_themselves_is_not_the_controllers():
    background = span(10, 0.5)  # a twentieth of a core
    cpu, requests = of_controller(span(20, 9.0, PATCH=300, LIST=4, sent={"PATCH": 100, "LIST": 4}), background, span(4, 2.2))
    assert cpu == {"kube-apiserver": pytest.approx(9.0 - 1.0 - (2.2 - 0.2)), "etcd": 0}
    assert requests == {"PATCH": 200}


def test_work_that_the_driver_alone_does_not_cause_is_the_controllers():
    worked = span(20, 9.0)
    worked.cpu["profile: PUT"] = 3.0
    assert of_controller(worked, span(10, 0.5), span(4, 2.2))[0]["profile: PUT"] == 3.0


def test_requests_of_the_api_server_to_itself_are_not_the_controllers():
    background = span(10, 0, GET=10)
    assert of_controller(span(20, 0, GET=21), background)[1] == {}
    assert of_controller(span(20, 0, GET=60), background)[1] == {"GET": 40}


HANDLERS = "k8s.io/apiserver/pkg/endpoints/handlers."


@pytest.mark.parametrize("stack, want", [
    (["encoding/json.Marshal", HANDLERS + "PatchResource.func1", "k8s.io/apiserver/pkg/server/filters.x", "net/http.serve"], "PATCH and APPLY"),
    (["k8s.io/apiserver/pkg/storage/cacher.(*Cacher).GuaranteedUpdate", HANDLERS + "(*patcher).patchResource.func2",
      HANDLERS + "finisher.finishRequest.func1"], "PATCH and APPLY"),
    # The compiler inlines some handlers, and names what remains after the outer function.
    (["runtime.mallocgc", HANDLERS + "CreateNamedResource.createHandler.func1.1", HANDLERS + "finisher.finishRequest.func1"], "POST"),
    ([HANDLERS + "GetResource.getResourceHandler.func1", "k8s.io/apiserver/pkg/endpoints/filters.x"], "GET"),
    (["k8s.io/apiserver/pkg/endpoints/filters.withAuthentication", "net/http.serve"], "before the handlers"),
    (["github.com/google/cel-go/cel.(*prog).Eval", "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel.(*Validator).Validate",
      "k8s.io/apiextensions-apiserver/pkg/registry/customresource.(*StatusREST).Update", HANDLERS + "(*patcher).patchResource.func2"],
     "rules of CRDs (CEL)"),
    (["runtime.scanobject", "runtime.gcBgMarkWorker"], "garbage collection"),
    (["runtime/pprof.profileWriter"], "profiling"),
    (["runtime.schedule"], "the rest"),
])
def test_a_stack_counts_for_the_request_that_it_serves(stack, want):
    assert kind_of(stack) == want


def field(number, value):
    """Encodes a field of protocol buffers; integers stay below 2**14."""
    def integer(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128, n >> 7])
    return integer(number << 3) + integer(value) if isinstance(value, int) else integer(number << 3 | 2) + integer(len(value)) + value


def test_a_profile_is_read_with_the_names_of_its_functions():
    texts = ["", "leaf", "inlined", HANDLERS + "UpdateResource", "runtime/pprof.x"]
    functions = [field(5, field(1, number) + field(2, number)) for number in (1, 2, 3, 4)]
    # The first location has two functions, one inlined into the other.
    locations = [field(4, field(1, 9) + field(4, field(1, 1)) + field(4, field(1, 2))), field(4, field(1, 7) + field(4, field(1, 3))),
                 field(4, field(1, 8) + field(4, field(1, 4)))]
    taken = [field(2, field(1, bytes([9, 7])) + field(2, bytes([1, 0x80 | 16, 39]))), field(2, field(1, 8) + field(2, 1) + field(2, 3))]
    profile = gzip.compress(b"".join([*taken, *locations, *functions, *(field(6, text.encode()) for text in texts)]))
    assert list(samples(profile)) == [(["leaf", "inlined", HANDLERS + "UpdateResource"], 16 + 39 * 128), (["runtime/pprof.x"], 3)]
    assert seconds_by_kind(profile) == {"PUT": pytest.approx(5008e-9)}


def test_a_phase_has_the_reconciles_of_each_job():
    span = Span(1, collections.Counter(), collections.Counter(), collections.Counter())
    phase = Phase(seconds=1, busy=0, span=span, cpu=0, anonymous=0, resident=0, peak=0, reconciles=None)
    phases = {"drain": phase._replace(reconciles=30), "finish": phase}
    life = Life(jobs=10, started=(0, 0), idle=0, phases=phases, alone={}, background=span, seconds_to_ready=None)
    assert (life.reconciles("drain"), life.reconciles("finish")) == (3, None)


@pytest.mark.parametrize("percent, want", [(50, 3), (60, 3), (61, 4), (99, 5), (100, 5), (0, 1)])
def test_a_percentile_is_one_of_the_values(percent, want):
    assert percentile([5, 1, 3, 2, 4], percent) == want


def test_work_is_due_at_its_rate_although_earlier_work_takes_long():
    last, taken = threading.Event(), []

    def work(item):
        taken.append(item)
        if item == "a":
            assert last.wait(30)
        if item == "c":
            last.set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        due = offer(pool, work, ["a", "b", "c"], 1000)
    assert sorted(taken) == ["a", "b", "c"]
    assert [at - due["a"] for at in due.values()] == pytest.approx([0, 0.001, 0.002], abs=1e-6)


def test_a_failure_of_offered_work_is_not_lost():
    def fail(item):
        raise RuntimeError(item)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="a"):
        offer(pool, fail, ["a"], 1000)


def event(kind, name, **spec):
    return json.dumps({"type": kind, "object": {"metadata": {"name": name}, "spec": spec}}).encode()


def test_a_watch_notes_the_first_event_that_shows_an_object_as_it_should_be():
    watch = Watch(None, "jobsets", "bench", lambda job_set: job_set["spec"].get("suspend"))
    assert watch.note(1.0, event("ADDED", "a")) is None
    assert watch.note(2.0, event("MODIFIED", "a", suspend=True)) == "a"
    watch.note(3.0, event("MODIFIED", "a", suspend=True))
    watch.note(4.0, event("DELETED", "b", suspend=True))
    assert watch.wait_for(["a"], 0) == {"a": (2.0, True)}
    with pytest.raises(AssertionError, match="still waiting for 1 of .*/jobsets: b"):
        watch.wait_for(["a", "b"], 0)


class Streams:
    """A client with one stream, of these lines and then nothing until it is left. Notes patches."""

    def __init__(self, *lines):
        self.patches, self._ended = {}, threading.Event()
        self._lines = lines

    def request(self, *_):
        return b'{"metadata": {"resourceVersion": "1"}}'

    def stream(self, _):
        def response():
            yield from self._lines
            assert self._ended.wait(30)
        socket = types.SimpleNamespace(settimeout=lambda _: None, shutdown=lambda _: self._ended.set())
        return types.SimpleNamespace(sock=socket, close=lambda: None), response()

    def patch(self, _, name, change, subresource, namespace):
        self.patches.setdefault((namespace, name, subresource), []).append(change)


def test_each_new_job_set_without_counts_of_jobs_runs_at_once():
    said = json.dumps({"type": "MODIFIED", "object": {"metadata": {"name": "a"}, **RUNNING}}).encode()
    client = Streams(event("ADDED", "a"), said, event("ADDED", "b"), event("DELETED", "c"))
    with Starts(client, "bench"):
        wait_for("the last status", lambda: len(client.patches) == 2, interval=0.01)
    assert client.patches == {("bench", "a", "/status"): [RUNNING], ("bench", "b", "/status"): [RUNNING]}


def test_a_watch_of_new_job_sets_that_fails_is_not_lost():
    client = Streams(b'{"type": "ERROR", "object": {"code": 410}}')
    with pytest.raises(AssertionError, match="failed: {'code': 410}"), Starts(client, "bench") as starts:
        wait_for("the failure", lambda: starts._done.done(), interval=0.01)


def test_the_driver_writes_a_status_to_each_job_set():
    client = Streams()
    client.patch = lambda resource, name, change, subresource: client.patches.setdefault(name, change)
    client.each = lambda call, items: [call(item) for item in items]
    Driver(client, 2).write(WITHOUT_PODS)
    assert client.patches == {"job-00000": WITHOUT_PODS, "job-00001": WITHOUT_PODS}


@pytest.mark.parametrize("status, active", [(RUNNING, 1), (WITHOUT_PODS, 0)])
def test_no_job_is_missing_of_what_runs_or_has_no_pods(status, active):
    [counts] = status["status"]["replicatedJobsStatus"]
    assert (counts["active"], counts["active"] + counts["suspended"]) == (active, 1)


@pytest.mark.parametrize("line, want", [(None, "ended"), (b'{"type": "ERROR", "object": {"code": 410}}', "failed: {'code': 410}")])
def test_a_watch_that_sees_nothing_more_says_so(line, want):
    with pytest.raises(AssertionError, match=want):
        Watch(None, "jobsets", "bench", bool).note(1.0, line)


def test_a_train_job_says_what_its_job_set_says_once_all_counts_are_the_same():
    status = status_of(jobs=10, ready=7, failed=3)
    [counts] = status["status"]["replicatedJobsStatus"]
    assert says({"status": {"jobsStatus": [counts]}}, status)
    assert not says({"status": {"jobsStatus": [{**counts, "ready": 8}]}}, status)
    assert not says({"status": {"jobsStatus": []}}, status)
    assert not says({}, status)
