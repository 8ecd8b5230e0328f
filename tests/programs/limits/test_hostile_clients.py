"""Hostile clients over real sockets, against the sanitized program. While each of them is at work, honest calls on old and new
connections get their answers. Afterwards the process is alive."""

import collections
import contextlib
import json
import socket
import ssl
import subprocess
import threading

import pytest
from hostile import HONEST_LATENCY, HONEST_TIMEOUT, LIMIT, KnowsRuntimes, answer_to, connect_with_little_room, head, honest_calls, rest_of, say, sized
from raw_tls import RawTls
from webhook_program import RUNTIME_PATH, TRAIN_JOB_PATH, Webhook, review, runtime, train_job, wait_for

CONNECTIONS = 256
ACCEPTED_AT_ONCE = 16  # per thread; they exist for a moment before others are closed for them
IN_FLIGHT = 16 * 1024 * 1024


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def place(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    options = [f"--threads={request.param}", f"--max-connections={CONNECTIONS}", f"--max-bytes-in-flight={IN_FLIGHT}",
               "--handshake-timeout=3s", "--header-timeout=3s", "--body-timeout=3s", "--write-timeout=3s",
               "--source-rate=0"]  # as if clients had many addresses
    with KnowsRuntimes(runtime()) as api, Webhook(directory, api.port, *options) as webhook:
        webhook.wait_until_ready()
        wait_for("the runtime", lambda: webhook.metric("signalbox_runtimes") == 1)
        yield api, webhook
        assert webhook.metric("signalbox_http_handler_errors_total") == 0
        assert webhook.end() == 0


@pytest.fixture
def webhook(place):
    return place[1]


def trickle(webhook, over, start):
    """Slowloris: many connections that send a byte now and then, for ever."""
    connections = []
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            connections.append(stack.enter_context(webhook.socket()))
            say(connections[-1], start)
        while not over.is_set():
            for connection in connections:
                say(connection, b"x")
            over.wait(0.1)


SLOW = {
    "headers": b"POST / HTTP/1.1\r\nX: ",
    "a body": head(RUNTIME_PATH, "Content-Length: 7000000"),
    "chunks": head(RUNTIME_PATH, "Transfer-Encoding: chunked") + b"7000\r\n",
}


def test_slow_senders_are_closed_and_delay_no_other_call(webhook):
    over = threading.Event()
    before = webhook.metric("signalbox_http_timeouts_total")
    threads = [threading.Thread(target=trickle, args=(webhook, over, start)) for start in SLOW.values()]
    with honest_calls(webhook):
        for thread in threads:
            thread.start()
        wait_for("all to be closed", lambda: webhook.metric("signalbox_http_timeouts_total") >= before + 50 * len(SLOW))
        over.set()
        for thread in threads:
            thread.join()


def test_large_bodies_that_never_end_delay_neither_small_nor_large_ones(webhook):
    body = json.dumps(review(runtime()))
    large = sized(body + " " * (LIMIT - len(body)))
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(webhook.socket())
            say(connection, head(RUNTIME_PATH, f"Content-Length: {LIMIT}") + b" " * 6_000_000)

        def served():
            with webhook.socket() as connection:
                say(connection, large)
                return answer_to(connection)[0] == 200
        wait_for("an honest large one", served)


def test_large_reviews_that_wait_for_a_slow_api_server_delay_no_other_call(place):
    api, webhook = place
    waiting = review(train_job("nowhere"))
    waiting["request"]["object"]["metadata"]["x"] = [0] * 20_000
    text = sized(json.dumps(waiting, separators=(",", ":")), TRAIN_JOB_PATH + "?timeout=10s")
    series = 'signalbox_admission_requests_total{code="503",path="other",verdict="none"}'
    before = webhook.metric(series)
    api.delay = 5
    try:
        # A sanitized program takes four times as long for a large review.
        with honest_calls(webhook, within=3 * HONEST_LATENCY), contextlib.ExitStack() as stack:
            # A client address has half of the places, which are for half of the connections: 64 here.
            waiting_reviews = [stack.enter_context(webhook.socket()) for _ in range(100)]
            for connection in waiting_reviews:
                say(connection, text)
            wait_for("the surplus reviews to be rejected", lambda: webhook.metric(series) >= before + 30)
    finally:
        api.release()
        # All of them are answered now, though nobody reads it: a sanitized program takes seconds, which calls of the next test would
        # wait.
        wait_for("all to be gone", lambda: webhook.metric("signalbox_connections") == 0)


def test_idle_connections_beyond_the_limit_delay_no_other_call(webhook):
    # Each costs a handshake. Connections beyond the limit replace idle ones, never those in use.
    total = 2 * CONNECTIONS + 100
    refused = webhook.metric("signalbox_connections_refused_total")
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        for _ in range(total):
            with contextlib.suppress(OSError):
                stack.enter_context(webhook.socket())
        assert webhook.metric("signalbox_connections") <= CONNECTIONS + 2 * ACCEPTED_AT_ONCE
        assert webhook.metric("signalbox_connections_refused_total") >= refused + total - CONNECTIONS - 50


def test_ten_thousand_connections_without_a_client_hello_delay_no_other_call(webhook):
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        for _ in range(10_000):
            stack.enter_context(socket.create_connection(("127.0.0.1", webhook.port)))
        assert webhook.metric("signalbox_connections") <= CONNECTIONS + 2 * ACCEPTED_AT_ONCE


NO_HANDSHAKES = {
    "nothing": b"", "a byte": b"\x16", "half a hello": b"\x16\x03\x01\x02\x00\x01", "plain HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "an endless record": b"\x16\x03\x01\xff\xff" + b"\1" * 70_000, "SSL 2": b"\x80\x2e\x01\x00\x02",
}


def test_connections_without_a_tls_handshake_are_closed(webhook):
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        sockets = []
        for name, sent in NO_HANDSHAKES.items():
            for _ in range(20):
                sockets.append((name, stack.enter_context(
                    socket.create_connection(("127.0.0.1", webhook.port), timeout=HONEST_TIMEOUT))))
                say(sockets[-1][1], sent)
        for name, plain in sockets:
            # The answer is an alert at most, never plain text.
            assert b"HTTP" not in rest_of(plain), name


def ready_made_hello():
    """Returns what a client sends first, which it may send again and again without any work."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(received, sent, server_hostname="127.0.0.1").do_handshake()
    return sent.read()


def send_hellos(port, hello, over):
    pending = collections.deque(maxlen=100)  # the oldest one is closed
    while not over.is_set():
        with contextlib.suppress(OSError):
            pending.append(socket.create_connection(("127.0.0.1", port)))
            pending[-1].sendall(hello)


def test_ready_made_hellos_of_one_address_delay_no_connection_of_another_one(tmp_path):
    over = threading.Event()
    with KnowsRuntimes(runtime()) as api, Webhook(tmp_path, api.port, "--threads=2") as webhook:
        webhook.wait_until_ready()
        threads = [threading.Thread(target=send_hellos, args=(webhook.port, ready_made_hello(), over)) for _ in range(2)]
        with honest_calls(webhook, at_least=100):
            for thread in threads:
                thread.start()
            try:
                wait_for("many hellos", lambda: webhook.metric("signalbox_connections_accepted_total") > 5_000)
            finally:
                over.set()
                for thread in threads:
                    thread.join()
        assert webhook.metric("signalbox_connections_limited_total") > 1_000
        assert webhook.end() == 0


def test_renegotiation_is_refused(webhook):
    with honest_calls(webhook):
        for _ in range(5):
            talk = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{webhook.port}", "-tls1_2"],
                                  input=b"R\n", capture_output=True, timeout=30)
            assert b"RENEGOTIATING" in talk.stdout + talk.stderr
            assert b"no renegotiation" in talk.stdout + talk.stderr


# Records after a handshake. Without a limit, each of these floods keeps a thread busy past every deadline.
FLOODS = {
    "new keys and nothing else": lambda tls: tls.key_updates(2_000),
    "a request of single bytes with new keys between them": lambda tls: b"".join(
        tls.records(bytes([byte])) + tls.key_updates(2) for byte in head("/" + "x" * 1_000)),
}


@pytest.mark.parametrize("name", FLOODS)
def test_tls_records_without_data_keep_no_request_waiting(webhook, name):
    floods = webhook.metric("signalbox_tls_floods_total")
    with contextlib.ExitStack() as stack:
        plain = [stack.enter_context(socket.create_connection(("127.0.0.1", webhook.port), timeout=HONEST_TIMEOUT)) for _ in range(4)]
        sent = [FLOODS[name](stack.enter_context(RawTls(one))) for one in plain]
        with honest_calls(webhook):
            for connection, flood in zip(plain, sent):
                say(connection, flood)
            wait_for("them to be closed", lambda: webhook.metric("signalbox_tls_floods_total") == floods + len(plain))


def test_connections_that_end_in_the_middle_leave_nothing_behind(webhook):
    text = sized(json.dumps(review(train_job())), TRAIN_JOB_PATH)
    with honest_calls(webhook) as honest:
        for cut in range(0, len(text), 13):
            with webhook.socket() as connection:
                say(connection, text[:cut])
                # Every other connection ends with a reset instead of an orderly close.
                if cut % 2:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    wait_for("all to be gone", lambda: webhook.metric("signalbox_connections") == 0)
    assert honest.answered >= 5


def test_connections_that_never_read_their_answers_are_closed(webhook):
    over = webhook.metric("signalbox_http_timeouts_total")
    # The answer repeats the uid, and the kernel buffers some megabytes of answers.
    text = sized(json.dumps(review(train_job(), uid="u" * 100_000)), TRAIN_JOB_PATH)
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        threads = []
        for _ in range(10):
            connection = stack.enter_context(connect_with_little_room(webhook))
            threads.append(threading.Thread(target=flood, args=(connection, text)))
            threads[-1].start()
        wait_for("them to be closed", lambda: webhook.metric("signalbox_http_timeouts_total") >= over + 10)
        for thread in threads:
            thread.join()


def flood(connection, text):
    with contextlib.suppress(OSError, ssl.SSLError):
        while True:
            connection.sendall(text)


def plain_flood(port, text, over):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=HONEST_TIMEOUT) as connection:
        connection.settimeout(0.1)
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                connection.sendall(text)
            with contextlib.suppress(TimeoutError):
                connection.recv(1 << 20)


@pytest.mark.parametrize("text", [b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n" * 200, b"X"],
                         ids=["metrics", "readiness", "nothing"])
def test_floods_of_the_admin_port_delay_neither_calls_nor_probes(webhook, text):
    over = threading.Event()
    threads = [threading.Thread(target=plain_flood, args=(webhook.admin_port, text, over)) for _ in range(80)]
    with honest_calls(webhook):
        for thread in threads:
            thread.start()
        try:
            for _ in range(25):
                assert webhook.admin("/readyz")[0] == 200
        finally:
            over.set()
            for thread in threads:
                thread.join()


def test_idle_connections_to_the_admin_port_delay_no_other_call(webhook):
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        for _ in range(2_000):
            stack.enter_context(socket.create_connection(("127.0.0.1", webhook.admin_port)))
        for _ in range(25):
            assert webhook.admin("/healthz")[0] == 200
