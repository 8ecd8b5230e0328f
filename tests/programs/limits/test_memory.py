"""Clients that want memory, over real sockets: more of them than --max-connections, each with as much as it is given. The
process keeps to the bound that docs/webhook-limits.md states, and honest calls get their answers meanwhile. scripts/test
runs this with the program that is shipped as well."""

import contextlib
import json
import socket

import pytest
from memory import peak_memory, stated_bound
from webhook_program import RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, Webhook, review, runtime, train_job, wait_for

CONNECTIONS = 128
IN_FLIGHT = 16_000_000
CROWD = CONNECTIONS + 32


class KnowsPlain(ApiServer):
    def answer(self, request, url, body):
        if "watch" in url.query and url.path.endswith("/clustertrainingruntimes"):
            return self.watch(request, [runtime()])
        return super().answer(request, url, body)


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def place(request, tmp_path):
    options = [f"--threads={request.param}", f"--max-connections={CONNECTIONS}", f"--max-bytes-in-flight={IN_FLIGHT}",
               "--header-timeout=60s", "--body-timeout=60s", "--write-timeout=60s"]
    with KnowsPlain() as api, Webhook(tmp_path, api.port, *options) as webhook:
        webhook.wait_until_ready()
        wait_for("the runtime", lambda: webhook.metric("signalbox_runtimes") == 1)
        yield api, webhook
        assert peak_memory(webhook) < stated_bound(request.param, CONNECTIONS, IN_FLIGHT)
        assert webhook.end() == 0


def message(body, path=TRAIN_JOB_PATH, *headers):
    text = (body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(text)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + text


def connect(webhook):
    """With room for little, so that what is not read stays with who sent it."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(5)
    plain.connect(("127.0.0.1", webhook.port))
    return webhook.tls().wrap_socket(plain, server_hostname="127.0.0.1")


def large_answers():
    """The uid of a review comes back in its answer."""
    return [message(review(train_job(), uid="u" * 2_000_000))]


def large_answers_in_a_row():
    return [message(review(train_job(), uid="u" * 300_000))] * 8


def rests_of_large_bodies():
    """A large request that is over, and the beginning of another one, which keeps the buffers."""
    return [message(json.dumps(review(runtime())) + " " * 3_000_000, RUNTIME_PATH) + b"POST"]


def rests_of_large_headers():
    """Another one of many headers is large in each request."""
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


ATTACKS = [large_answers, large_answers_in_a_row, rests_of_large_bodies, rests_of_large_headers, bodies_without_end,
           small_reviews_that_wait, large_texts_that_wait, large_trees_that_wait]


@pytest.mark.parametrize("attack", ATTACKS)
def test_who_wants_memory_gets_no_more_than_is_stated(place, attack):
    api, webhook = place
    pieces = attack()
    api.delay = 60
    with contextlib.ExitStack() as stack:
        stack.callback(api.ended.set)
        for number in range(CROWD):
            with contextlib.suppress(OSError):
                one = stack.enter_context(connect(webhook))
                for piece in pieces:
                    one.sendall(piece)
            if number % 10 == 0:
                verdict = webhook.post(TRAIN_JOB_PATH, review(train_job()))[2]
                assert verdict["response"]["allowed"], verdict
        assert webhook.process.poll() is None
