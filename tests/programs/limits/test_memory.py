"""Clients that use as much memory as possible, over real sockets, from the shipped program: more of them than --max-connections, each with
as much as it can get, and the largest possible reviews. The process stays below the bound of docs/webhook-limits.md, and honest calls
get their answers meanwhile.

AddressSanitizer adds to every allocation and keeps freed memory, so the bound does not apply to the sanitized program. The release
program is taken from SIGNALBOX_RELEASE_DIR, by default build/release/bin."""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import re

import pytest
from hostile import (ALLOWED, DENIED, SNAPSHOT_PATH, SNAPSHOTS, KnowsRuntimes, Wide, connect_with_little_room, deep, honest_calls, job_text,
                     large_runtime, many_small_patches, many_values, namespaced, send_and_check, sized, snapshot, update_by_snapshot)
from paths import ROOT, shipped
from webhook_program import RUNTIME_PATH, TRAIN_JOB_PATH, Webhook, review, runtime, train_job, wait_for

CONNECTIONS = 128
IN_FLIGHT = 16_000_000
ATTACKERS = CONNECTIONS + 32
WIDE = Wide(2_700)
CLIENTS = 2  # senders of the largest reviews: one of two threads has room for that many
UPDATES = 64
LONG_NAME = 6_900_000  # almost a body
DEEP = {
    "400,000 arrays": (sized(deep(400_000, "[", "]")), 400),
    "200,000 objects": (sized(deep(200_000, '{"a":', "}")), 400),
    "400,000 levels in a label": (sized(job_text(metadata=', "labels": ' + deep(400_000, "[", "]")), TRAIN_JOB_PATH), 400),
}
DIRECTIVES = [{"name": f"job-{i}", "template": {"metadata": {"labels": {f"${k}": "" for k in range(250)}}}} for i in range(20)]
MANY_ERRORS = {"more errors than an answer has room for": (sized(json.dumps(review(
    {**train_job(), "spec": {**train_job()["spec"], "runtimePatches": [
        {"manager": f"acme.io/{i}", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": DIRECTIVES}}}} for i in range(16)]}})),
    TRAIN_JOB_PATH), " more")}
LARGEST = {**MANY_ERRORS, **many_small_patches(3_000_000), **WIDE.messages(), **many_values(490_000), **DEEP}


def stated_bound(threads, with_trees=True):
    """Returns bytes, by the formula in the documentation, so that both agree; of the last term all or what lookups take."""
    formula = r"(\d+) MB \+ (\d+) kB x connections \+ bytes in flight \+ (\d+) MB \+ (\d+) MB x threads"
    text = (ROOT / "docs" / "webhook-limits.md").read_text()
    base, connection, runtimes, thread = map(int, re.search(formula, text).groups())
    if not with_trees:
        thread = int(re.search(r"(\d+) MB of it are for lookups", text)[1])
    return (base + runtimes + thread * threads) * 1_000_000 + connection * 1000 * CONNECTIONS + IN_FLIGHT


def peak_memory(webhook):
    """Returns the peak in bytes since its start."""
    with open(f"/proc/{webhook.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def place(request, tmp_path):
    options = [f"--threads={request.param}", f"--max-connections={CONNECTIONS}", f"--max-bytes-in-flight={IN_FLIGHT}",
               "--header-timeout=60s", "--body-timeout=60s", "--write-timeout=60s"]
    with (KnowsRuntimes(runtime(), WIDE.runtime()) as api,
          Webhook(tmp_path, api.port, *options, binary=shipped("signalbox-webhook")) as webhook):
        webhook.wait_until_ready()
        wait_for("the runtimes", lambda: webhook.metric("signalbox_runtimes") == 2)
        yield api, webhook
        assert peak_memory(webhook) < stated_bound(request.param)
        assert webhook.metric("signalbox_http_handler_errors_total") == 0
        assert webhook.end() == 0


def message(body, path=TRAIN_JOB_PATH, *headers):
    text = (body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(text)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + text


def nothing():
    return []


def large_answers():
    """The answer repeats the uid of its review."""
    return [message(review(train_job(), uid="u" * 2_000_000))]


def large_answers_in_a_row():
    return [message(review(train_job(), uid="u" * 300_000))] * 8


def rests_of_large_bodies():
    """A complete large request, and the beginning of another one, which keeps the buffers."""
    return [message(json.dumps(review(runtime())) + " " * 3_000_000, RUNTIME_PATH) + b"POST"]


def rests_of_large_headers():
    """In each request another one of many headers is large."""
    def one(large):
        headers = [f"X-{i}: " + "x" * (11_000 if i == large else 16) for i in range(120)]
        return message("{}", "/", *headers)
    return [b"".join(one(large) for large in range(120)) + b"POST"]


def bodies_without_end():
    return [f"POST {RUNTIME_PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 7000000\r\n\r\n".encode() + b" " * 3_000_000]


def waiting(values, text):
    """A review that waits for a lookup."""
    one = review(train_job("nowhere"))
    one["request"]["object"]["metadata"]["x"] = [0] * values + ["x" * text]
    return [message(one, TRAIN_JOB_PATH + "?timeout=30s")]


def small_reviews_that_wait():
    return waiting(900, 28_000)


def large_texts_that_wait():
    return waiting(10, 3_000_000)


def large_trees_that_wait():
    return waiting(100_000, 10)


ATTACKS = [nothing, large_answers, large_answers_in_a_row, rests_of_large_bodies, rests_of_large_headers, bodies_without_end,
           small_reviews_that_wait, large_texts_that_wait, large_trees_that_wait]


@pytest.mark.parametrize("attack", ATTACKS)
def test_greedy_clients_take_no_more_memory_than_documented(place, attack):
    api, webhook = place
    pieces = attack()
    api.delay = 60
    with contextlib.ExitStack() as stack:
        stack.callback(api.release)
        for number in range(ATTACKERS):
            with contextlib.suppress(OSError):
                one = stack.enter_context(connect_with_little_room(webhook))
                one.settimeout(1)  # the webhook does not read what it has not read by then
                for piece in pieces:
                    one.sendall(piece)
            if number % 10 == 0:
                verdict = webhook.post(TRAIN_JOB_PATH, review(train_job()))[2]
                assert verdict["response"]["allowed"], verdict
        assert webhook.process.poll() is None


def test_the_largest_reviews_take_no_more_memory_and_time_than_documented(place):
    _, webhook = place

    def client():
        for name, (data, want) in LARGEST.items():
            send_and_check(webhook, name, data, want)
    with honest_calls(webhook), concurrent.futures.ThreadPoolExecutor() as clients:
        for done in [clients.submit(client) for _ in range(CLIENTS)]:
            done.result()


@pytest.mark.parametrize("place", [1], indirect=True, ids=["one thread"])
def test_reviews_of_runtimes_with_long_names_leave_nothing_behind(place):
    """More bytes of names than the bound, over one connection."""
    _, webhook = place
    with honest_calls(webhook), contextlib.closing(webhook.connect()) as connection:
        for number in range(stated_bound(1) // LONG_NAME + 1):
            deletion = review(None, "DELETE", runtime(), name=f"{number}-".ljust(LONG_NAME, "x"))
            status, _, answer = webhook.post(RUNTIME_PATH, deletion, connection=connection)
            assert status == 200 and answer["response"]["allowed"]


def many_runtimes():
    """Yields runtimes of the largest size that etcd stores, two for each of some namespaces: one with as many values as reviews accept, and
    one with more, which is stored only with the label that turns its reviews off."""
    for number in range(24):
        yield namespaced(large_runtime(f"usable-{number}", args=["x"] * 45_000 + ["x" * 1_200_000]), f"ns-{number}"), ALLOWED
        yield namespaced(large_runtime(f"refused-{number}", args=[""] * 480_000), f"ns-{number}"), DENIED


def test_runtimes_of_tenants_take_no_more_memory_than_documented(tmp_path):
    runtimes = list(many_runtimes())
    options = ["--threads=2", f"--max-connections={CONNECTIONS}", f"--max-bytes-in-flight={IN_FLIGHT}"]
    with (KnowsRuntimes(runtime(), *(one for one, _ in runtimes)) as api,
          Webhook(tmp_path, api.port, *options, binary=shipped("signalbox-webhook")) as webhook):
        wait_for("readiness", lambda: webhook.admin("/readyz")[0] == 200, timeout=120)

        def verdict(one):
            ns, name = one["metadata"]["namespace"], one["metadata"]["name"]
            api.objects[f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{ns}/trainingruntimes/{name}"] = one
            job = train_job(name)
            job["metadata"]["namespace"] = ns
            job["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
            return webhook.post(TRAIN_JOB_PATH + "?timeout=30s", review(job))[2]["response"]
        with honest_calls(webhook), concurrent.futures.ThreadPoolExecutor(4) as clients:
            # The cache keeps the usable ones; the others are read for each review.
            for (one, want), answer in zip(runtimes, clients.map(verdict, [one for one, _ in runtimes])):
                assert answer["allowed"] is want, one["metadata"]["name"]
                assert want or "a runtime may hold 50000" in answer["status"]["message"]
        assert peak_memory(webhook) < stated_bound(2)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_snapshots_take_no_more_memory_than_documented(place, name):
    api, webhook = place
    api.objects[SNAPSHOT_PATH] = snapshot(SNAPSHOTS[name])
    with honest_calls(webhook), concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        for done in [clients.submit(webhook.post, TRAIN_JOB_PATH, update_by_snapshot()) for _ in range(2 * CLIENTS)]:
            assert done.result()[0] == 200


def test_objects_that_lookups_read_take_no_more_memory_than_is_stated(place, request):
    """From several addresses, since one gets a part of the places. What is read comes but for its last byte, until all wait."""
    api, webhook = place
    api.objects[SNAPSHOT_PATH] = snapshot("x" * 2_000_000)
    text = json.dumps(update_by_snapshot())
    arriving = []

    def send_but_for_the_end(answer, status, body):
        data = json.dumps(body).encode()
        arriving.append(answer)
        try:
            answer.send_response(status)
            answer.send_header("Content-Length", str(len(data)))
            answer.end_headers()
            answer.wfile.write(data[:-1])
        finally:
            arriving.remove(answer)
        api.hold(60)
        answer.wfile.write(data[-1:])
    api.send = send_but_for_the_end

    def update(number):
        connection = http.client.HTTPSConnection("127.0.0.1", webhook.port, timeout=40, context=webhook.tls(),
                                                 source_address=(f"127.0.0.{2 + number % 8}", 0))
        with contextlib.closing(connection):
            return webhook.post(TRAIN_JOB_PATH + "?timeout=30s", text, connection=connection)[0]

    def all_wait():
        answered = sum(one.done() for one in sent)
        return not arriving and webhook.metric("signalbox_admission_in_flight") + answered >= UPDATES
    with honest_calls(webhook), concurrent.futures.ThreadPoolExecutor(UPDATES) as clients:
        sent = [clients.submit(update, number) for number in range(UPDATES)]
        wait_for("all updates", all_wait)
        api.send = KnowsRuntimes.send
        api.release()
        assert {one.result() for one in sent} <= {200, 503}
    assert peak_memory(webhook) < stated_bound(request.node.callspec.params["place"], with_trees=False)
