"""Clients that mean harm, over real sockets. While each of them is at work, honest calls get their answers on old and new
connections, and afterwards the process is alive and has kept to its memory."""

import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import threading

import pytest
from memory import SANITIZED, peak_memory, stated_bound
from webhook_program import (MUTATE_PATH, RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, Webhook, read_answer, review, runtime,
                          train_job, wait_for)

LIMIT = 7 * 1024 * 1024
CONNECTIONS = 256
# The sanitizer makes everything slower by an order of magnitude, on both sides of a deadline.
WIDTH = 1_000 if SANITIZED else 8_000
ALL_PATCHES = 300_000 if SANITIZED else 3_000_000  # bytes
ACCEPTED_AT_ONCE = 16  # per thread; they are there for a moment before somebody makes room
IN_FLIGHT = 16 * 1024 * 1024
HONEST_TIMEOUT = 10  # seconds: what the API server waits
class KnowsPlain(ApiServer):
    def answer(self, request, url, body):
        if "watch" in url.query and url.path.endswith("/clustertrainingruntimes"):
            return self.watch(request, [runtime(), wide_runtime()])
        return super().answer(request, url, body)


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def place(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    options = [f"--threads={request.param}", f"--max-connections={CONNECTIONS}", f"--max-bytes-in-flight={IN_FLIGHT}",
               "--handshake-timeout=3s", "--header-timeout=3s", "--body-timeout=3s", "--write-timeout=3s"]
    with KnowsPlain() as api, Webhook(directory, api.port, *options) as webhook:
        webhook.wait_until_ready()
        wait_for("the runtime", lambda: webhook.metric("signalbox_runtimes") == 2)
        yield api, webhook
        assert peak_memory(webhook) < stated_bound(request.param, CONNECTIONS, IN_FLIGHT)
        assert webhook.metric("signalbox_http_handler_errors_total") == 0
        assert webhook.end() == 0


@pytest.fixture
def webhook(place):
    return place[1]


class Honest:
    """The API server, as far as these tests need one: a connection that it keeps, and new ones."""

    def __init__(self, webhook):
        self.webhook = webhook
        self.kept = webhook.connect()
        self.answered = 0

    def call(self):
        uid = f"honest-{self.answered}"
        once = self.answered % 5 == 4
        connection = self.webhook.connect() if once else self.kept
        connection.timeout = HONEST_TIMEOUT
        status, _, body = self.webhook.post(TRAIN_JOB_PATH, review(train_job(), uid=uid), connection=connection)
        assert status == 200 and body["response"] == {"uid": uid, "allowed": True}, body
        if once:
            connection.close()
        self.answered += 1


@contextlib.contextmanager
def honest_calls(webhook, at_least=25):
    """Makes them for as long as the block runs, and checks that each got its answer."""
    honest, over, failures = Honest(webhook), threading.Event(), []
    honest.call()

    def work():
        try:
            while not over.is_set() or honest.answered < at_least:
                honest.call()
        except BaseException as failure:  # also of an assertion
            failures.append(failure)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield honest
    finally:
        over.set()
        thread.join()
        honest.kept.close()
    assert failures == [] and honest.answered >= at_least
    assert webhook.process.poll() is None


def head(path=RUNTIME_PATH, *lines, method="POST"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: webhook", "Content-Type: application/json", *lines]).encode() + b"\r\n\r\n"


def sized(body, path=RUNTIME_PATH):
    body = body if isinstance(body, bytes) else body.encode()
    return head(path, f"Content-Length: {len(body)}") + body


def say(connection, data):
    """Sends as much as the other side takes; it may hang up in between."""
    with contextlib.suppress(OSError):
        connection.sendall(data)


def answer_to(connection):
    """Status and body of one answer; 0 if the connection ended without one."""
    answer = http.client.HTTPResponse(connection)
    try:
        answer.begin()
        status, _, body = read_answer(answer)
        return status, body
    except (OSError, http.client.HTTPException):
        return 0, None


def rest_of(connection):
    data = b""
    with contextlib.suppress(OSError):
        while piece := connection.recv(65536):
            data += piece
    return data


def job_text(spec="", metadata=""):
    """A review of a TrainJob with text put in as it is."""
    text = json.dumps(review(train_job()))
    text = text.replace('"suspend": false', '"suspend": false' + spec)
    return text.replace('"uid": "job-uid"', '"uid": "job-uid"' + metadata)


def many_patches(size):
    patch = json.dumps({"manager": "acme.io/%07d", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}}]}}}})
    return ', "runtimePatches": [' + ",".join(patch % i for i in range(size // len(patch))) + "]"


def one_patch(pod_spec):
    return ', "runtimePatches": [{"manager": "acme.io/x", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [' \
        '{"name": "node", "template": {"spec": {"template": {"spec": %s}}}}]}}}}]' % pod_spec


def wide_runtime():
    """Lists and maps as large as etcd takes, at the top of a Pod and as deep down as there are keys to merge by."""
    made = runtime("wide")
    pod = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": f"v{i}", "emptyDir": {}} for i in range(WIDTH)]
    pod["nodeSelector"] = {f"k{i}": "v" for i in range(WIDTH)}
    pod["containers"].append({"name": "side", "image": "registry.example.com/side:1",
                              "env": [{"name": f"E{i}", "value": "v"} for i in range(WIDTH)],
                              "volumeMounts": [{"name": f"v{i}", "mountPath": f"/v{i}"} for i in range(WIDTH)]})
    return made


def merge_into_the_wide_one(patches, pod_spec):
    """The runtime of the watch cache, patched in reverse order, so that everything has to be found and moved."""
    job = train_job("wide")
    job["spec"]["runtimePatches"] = [
        {"manager": f"acme.io/x{i}", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
            {"name": "node", "template": {"spec": {"template": {"spec": pod_spec}}}}]}}}} for i in range(patches)]
    return sized(json.dumps(review(job), separators=(",", ":")), TRAIN_JOB_PATH)


BACKWARDS = range(WIDTH - 1, -1, -1)
VOLUMES = [{"name": f"v{i}", "emptyDir": {"medium": "Memory"}} for i in BACKWARDS]
SIDE = {"name": "side", "env": [{"name": f"E{i}", "value": "w"} for i in BACKWARDS],
        "volumeMounts": [{"name": f"v{i}", "mountPath": f"/v{i}", "readOnly": True} for i in BACKWARDS]}


def deep(levels, opening, closing, leaf="1"):
    return opening * levels + leaf + closing * levels


def chunked(chunk, times):
    return head(RUNTIME_PATH, "Transfer-Encoding: chunked") + (b"%x\r\n" % len(chunk) + chunk + b"\r\n") * times


DENIED, ALLOWED = False, True
# What is sent on a new connection, and what comes back: a status, or for 200 a verdict, or a part of its message; None = any.
MESSAGES = {
    "a body one byte over the limit": (head(RUNTIME_PATH, f"Content-Length: {LIMIT + 1}") + b"x" * 100_000, 413),
    "a body of the limit that is no JSON": (sized(b"x" * LIMIT), 400),
    "a length of 2^64": (head(RUNTIME_PATH, "Content-Length: 18446744073709551616"), 400),
    "a length of 2^63": (head(RUNTIME_PATH, "Content-Length: 9223372036854775808"), 413),
    "a negative length": (head(RUNTIME_PATH, "Content-Length: -1"), 400),
    "a length in words": (head(RUNTIME_PATH, "Content-Length: ten"), 400),
    "two lengths that differ": (head(RUNTIME_PATH, "Content-Length: 2", "Content-Length: 3") + b"{}x", 400),
    "a length and chunks": (head(RUNTIME_PATH, "Content-Length: 2", "Transfer-Encoding: chunked") + b"0\r\n\r\n", 400),
    "a length that is too small": (head(RUNTIME_PATH, "Content-Length: 1") + b"{}{}{}", 400),
    "chunks without end": (chunked(b"x" * 65536, 1 + LIMIT // 65536), 413),
    "a chunk of 2^64": (head(RUNTIME_PATH, "Transfer-Encoding: chunked") + b"10000000000000000\r\n", 400),
    "a chunk whose size is no number": (head(RUNTIME_PATH, "Transfer-Encoding: chunked") + b"zz\r\n", 400),
    "a chunk extension without end": (head(RUNTIME_PATH, "Transfer-Encoding: chunked") + b"1;" + b"x" * 100_000, 400),
    "an unknown coding": (head(RUNTIME_PATH, "Transfer-Encoding: gzip, chunked"), 400),
    "HTTP/0.9": (b"GET /\r\n\r\n", 400),
    "HTTP/1.0 without a host": (b"POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n", 404),
    "HTTP/3.0": (b"POST / HTTP/3.0\r\nHost: x\r\n\r\n", 400),
    "the HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 50, 400),
    "no host": (b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400),
    "a header of a megabyte": (head(RUNTIME_PATH, "X: " + "x" * 1_000_000), 431),
    "a thousand headers": (head(RUNTIME_PATH, *(f"X-{i}: y" for i in range(1000))), 431),
    "a request line of a megabyte": (head("/" + "x" * 1_000_000), 431),
    "a header with NUL": (head(RUNTIME_PATH, "X: a\0b"), 400),
    "a folded header": (head(RUNTIME_PATH, "Content-Length: 0", "X: a\r\n b"), None),
    "a header without a name": (head(RUNTIME_PATH, ": x"), 400),
    "a space before the colon": (head(RUNTIME_PATH, "Content-Length : 2") + b"{}", 400),
    "bare line feeds": (b"POST / HTTP/1.1\nHost: x\nContent-Length: 0\n\n", 400),
    "only NULs": (b"\0" * 20_000, 400),
    "a path that climbs": (head("/validate/../../etc/passwd", "Content-Length: 0"), 404),
    "an encoded path that climbs": (head("/%2e%2e/%2e%2e/etc/passwd", "Content-Length: 0"), 404),
    "a path of another's server": (head("http://127.0.0.1:1" + RUNTIME_PATH, "Content-Length: 0"), 404),
    "a tunnel": (head("kubernetes.default:443", "Content-Length: 0", method="CONNECT"), 404),
    "a method without end": (b"X" * 20_000, 431),
    "500,000 arrays": (sized(deep(500_000, "[", "]")), 413),
    "500,000 objects": (sized(deep(500_000, '{"a":', "}")), 413),
    "500,000 arrays without end": (sized("[" * 500_000), 400),
    "500,000 levels in a label": (sized(job_text(metadata=', "labels": ' + deep(500_000, '{"a":', "}")), TRAIN_JOB_PATH), 413),
    "500,000 levels in a patch": (sized(job_text(one_patch(deep(500_000, '{"a":', "}"))), TRAIN_JOB_PATH), 413),
    "400,000 arrays": (sized(deep(400_000, "[", "]")), 400),
    "400,000 arrays without end": (sized("[" * 400_000), 400),
    "200,000 objects": (sized(deep(200_000, '{"a":', "}")), 400),
    "400,000 levels in a label": (sized(job_text(metadata=', "labels": ' + deep(400_000, "[", "]")), TRAIN_JOB_PATH), 400),
    "200 levels in a patch": (sized(job_text(one_patch(deep(200, '{"a":', "}"))), TRAIN_JOB_PATH), None),
    "NUL in a body": (sized(b'{"kind": "\0"}'), 400),
    "NUL in a name": (sized(json.dumps(review(train_job())).replace('"job"', '"j\\u0000b"'), TRAIN_JOB_PATH), None),
    "invalid UTF-8": (sized(json.dumps(review(train_job())).encode().replace(b'"job"', b'"\xff\xc0\x80"'), TRAIN_JOB_PATH), 400),
    "half a surrogate pair": (sized(job_text(metadata=r', "labels": {"a": "\ud800"}'), TRAIN_JOB_PATH), None),
    "UTF-16": (sized(json.dumps(review(train_job())).encode("utf-16"), TRAIN_JOB_PATH), 400),
    "duplicate keys": (sized(job_text(', "suspend": true, "suspend": false'), TRAIN_JOB_PATH), None),
    "a number without end": (sized(job_text(', "trainer": {"numNodes": ' + "9" * 100_000 + "}"), TRAIN_JOB_PATH), None),
    "a number out of range": (sized(job_text(', "activeDeadlineSeconds": 1e999'), TRAIN_JOB_PATH), None),
    "a number below any": (sized(job_text(', "trainer": {"numNodes": -9223372036854775809}'), TRAIN_JOB_PATH), None),
    "not a number": (sized(job_text(', "activeDeadlineSeconds": NaN'), TRAIN_JOB_PATH), 400),
    "what follows a review": (sized(json.dumps(review(train_job())) + "{}", TRAIN_JOB_PATH), 400),
    "a list of patches as long as fits": (sized(job_text(many_patches(ALL_PATCHES)), TRAIN_JOB_PATH), None),
    "the same to be stamped": (sized(job_text(many_patches(ALL_PATCHES)), MUTATE_PATH), ALLOWED),
    "wide and deep merges": (merge_into_the_wide_one(2, {
        "volumes": VOLUMES, "containers": [SIDE], "nodeSelector": {f"k{i}": "w" for i in BACKWARDS}}), ALLOWED),
    "a wide merge that fails at its end": (merge_into_the_wide_one(1, {"volumes": [*VOLUMES, {"emptyDir": {}}]}),
                                           f"volumes[{WIDTH}]: needs a name, which it is merged by"),
    "a deep merge that fails at its end": (
        merge_into_the_wide_one(1, {"containers": [{**SIDE, "volumeMounts": [*SIDE["volumeMounts"], {"name": "v"}]}]}),
        f"volumeMounts[{WIDTH}]: needs a mountPath, which it is merged by"),
    "merges without number into a wide one": (merge_into_the_wide_one(4_000, {"volumes": VOLUMES[:1]}),
                                              "spec.runtimePatches: Invalid value: null: must have at most 16 items"),
    "a million small values": (sized(job_text(metadata=', "x": [' + "0," * 3_000_000 + "0]"), TRAIN_JOB_PATH), 413),
    "half a million small values": (sized(job_text(metadata=', "x": [' + "0," * 490_000 + "0]"), TRAIN_JOB_PATH), None),
    "a quarter of a million members": (sized(job_text(metadata=', "x": {' + '"":0,' * 245_000 + '"a": 0}'), TRAIN_JOB_PATH), None),
    "a million small objects": (sized(job_text(metadata=', "x": [' + "{}," * 2_000_000 + "{}]"), TRAIN_JOB_PATH), 413),
    "a name of 4,000 letters": (sized(json.dumps(review(train_job())).replace('"job"', json.dumps("j" * 4_000)), TRAIN_JOB_PATH), DENIED),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_malicious_message_gets_an_answer_and_holds_up_nobody(webhook, name):
    data, want = MESSAGES[name]
    got = []
    with honest_calls(webhook):
        for _ in range(3):
            with webhook.socket() as connection:
                say(connection, data)
                got.append(answer_to(connection))
    for status, body in got:
        if want in (ALLOWED, DENIED):
            assert status == 200 and body["response"]["allowed"] is want
        elif isinstance(want, str):
            assert status == 200 and want in body["response"]["status"]["message"]
        elif want:
            assert status == want
        else:
            assert status in (200, 400)
        # Nobody is sent back what he sent, but for the place in it that is wrong.
        assert len(json.dumps(body)) < 20_000 or want is ALLOWED


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


@pytest.mark.parametrize("what", SLOW)
def test_who_trickles_is_sent_away_and_holds_up_nobody(webhook, what):
    over = threading.Event()
    before = webhook.metric("signalbox_http_timeouts_total")
    with honest_calls(webhook):
        thread = threading.Thread(target=trickle, args=(webhook, over, SLOW[what]))
        thread.start()
        wait_for("all to be sent away", lambda: webhook.metric("signalbox_http_timeouts_total") >= before + 50)
        over.set()
        thread.join()


def test_large_bodies_that_never_end_hold_up_neither_small_nor_large_ones(webhook):
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


def test_large_reviews_that_wait_for_a_slow_api_server_hold_up_nobody(place):
    api, webhook = place
    waiting = review(train_job("nowhere"))
    waiting["request"]["object"]["metadata"]["x"] = [0] * 20_000
    text = sized(json.dumps(waiting, separators=(",", ":")), TRAIN_JOB_PATH + "?timeout=10s")
    series = 'signalbox_admission_requests_total{code="503",path="other",verdict="none"}'
    before = webhook.metric(series)
    api.delay = 5
    try:
        with honest_calls(webhook), contextlib.ExitStack() as stack:
            crowd = [stack.enter_context(webhook.socket()) for _ in range(60)]
            for connection in crowd:
                say(connection, text)
            wait_for("those that are too many to be refused", lambda: webhook.metric(series) >= before + 30)
    finally:
        api.delay = 0


def test_thousands_of_idle_connections_hold_up_nobody(webhook):
    # Each costs a handshake; what is beyond the limit makes room for the next, and never those that are in use.
    total = 1_000 if SANITIZED else 10_000
    refused = webhook.metric("signalbox_connections_refused_total")
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        for _ in range(total):
            with contextlib.suppress(OSError):
                stack.enter_context(webhook.socket())
        assert webhook.metric("signalbox_connections") <= CONNECTIONS + 2 * ACCEPTED_AT_ONCE
        assert webhook.metric("signalbox_connections_refused_total") >= refused + total - CONNECTIONS - 50


def test_ten_thousand_connections_without_a_client_hello_hold_up_nobody(webhook):
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        for _ in range(10_000):
            stack.enter_context(socket.create_connection(("127.0.0.1", webhook.port)))
        assert webhook.metric("signalbox_connections") <= CONNECTIONS + 2 * ACCEPTED_AT_ONCE


@pytest.mark.parametrize("bytes_sent", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                        b"\x16\x03\x01\xff\xff" + b"\1" * 70_000, b"\x80\x2e\x01\x00\x02"],
                         ids=["nothing", "a byte", "half a hello", "plain HTTP", "an endless record", "SSL 2"])
def test_what_is_no_handshake_is_sent_away(webhook, bytes_sent):
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", webhook.port), timeout=HONEST_TIMEOUT))
                   for _ in range(20)]
        for plain in sockets:
            say(plain, bytes_sent)
        for plain in sockets:
            # At most an alert; never an answer in plain text.
            assert b"HTTP" not in rest_of(plain)


def test_who_wants_to_renegotiate_is_refused(webhook):
    with honest_calls(webhook):
        for _ in range(5):
            talk = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{webhook.port}", "-tls1_2"],
                                  input=b"R\n", capture_output=True, timeout=30)
            assert b"RENEGOTIATING" in talk.stdout + talk.stderr
            assert b"no renegotiation" in talk.stdout + talk.stderr


def test_who_goes_in_the_middle_leaves_nothing_behind(webhook):
    text = sized(json.dumps(review(train_job())), TRAIN_JOB_PATH)
    with honest_calls(webhook) as honest:
        for cut in range(0, len(text), 13):
            with webhook.socket() as connection:
                say(connection, text[:cut])
                # A reset instead of an orderly end, for every other one.
                if cut % 2:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    wait_for("all to be gone", lambda: webhook.metric("signalbox_connections") == 0)
    assert honest.answered >= 25


def test_who_closes_his_half_still_gets_his_answer(webhook):
    with honest_calls(webhook):
        for _ in range(10):
            with webhook.socket() as connection:
                say(connection, sized(json.dumps(review(runtime()))))
                # The TCP half: Python's unwrap() would wait for the other side's farewell.
                socket.socket.shutdown(connection, socket.SHUT_WR)
                assert answer_to(connection)[0] == 200


def test_pipelined_requests_are_answered_in_order(webhook):
    with honest_calls(webhook), webhook.socket() as connection:
        reviews = [review(train_job(), uid=f"pipelined-{i}") for i in range(500)]
        say(connection, b"".join(sized(json.dumps(r), TRAIN_JOB_PATH) for r in reviews))
        for one in reviews:
            answer = http.client.HTTPResponse(connection)
            # Unbuffered: what follows belongs to the next answer.
            answer.fp = connection.makefile("rb", 0)
            answer.begin()
            assert read_answer(answer)[2]["response"]["uid"] == one["request"]["uid"]


def test_who_never_reads_his_answers_is_sent_away(webhook):
    over = webhook.metric("signalbox_http_timeouts_total")
    text = sized("{}", "/" + "x" * 100) * 2000
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        threads = []
        for _ in range(10):
            connection = stack.enter_context(webhook.socket())
            threads.append(threading.Thread(target=flood, args=(connection, text)))
            threads[-1].start()
        wait_for("them to be sent away", lambda: webhook.metric("signalbox_http_timeouts_total") >= over + 10)
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
def test_who_floods_the_admin_port_holds_up_neither_calls_nor_probes(webhook, text):
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


def test_idle_connections_to_the_admin_port_hold_up_nobody(webhook):
    with honest_calls(webhook), contextlib.ExitStack() as stack:
        for _ in range(2_000):
            stack.enter_context(socket.create_connection(("127.0.0.1", webhook.admin_port)))
        for _ in range(25):
            assert webhook.admin("/healthz")[0] == 200
