"""Calls of a webhook that requires a bearer token or a certificate, over a real socket."""

import base64
import contextlib
import json
import ssl
import time

import pytest
from webhook_program import MUTATE_PATH, RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, Webhook, make_certificate, review, runtime, wait_for

AUDIENCE = "signalbox-webhook"
CALLER = "system:serviceaccount:kube-system:caller"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


class Authenticator(ApiServer):
    """Reviews the tokens in `users`, for one audience."""

    def __init__(self):
        super().__init__()
        self.users = {"other-token": "system:serviceaccount:default:other"}
        self.error_status = None
        self.asked = []

    def new_token(self):
        """Returns a valid token that no webhook has had reviewed yet, because results are cached."""
        token = f"good-token-{len(self.users)}"
        self.users[token] = CALLER
        return token

    def answer(self, request, url, body):
        if url.path != REVIEWS:
            return super().answer(request, url, body)
        spec = json.loads(body)["spec"]
        self.asked.append(spec["token"])
        self.hold(self.delay)
        if self.error_status:
            return self.send(request, self.error_status, {"kind": "Status", "code": self.error_status, "reason": "Forbidden",
                                                     "message": "tokenreviews is forbidden"})
        user = self.users.get(spec["token"])
        status = {"authenticated": False}
        if user and AUDIENCE in spec["audiences"]:
            status = {"authenticated": True, "audiences": [AUDIENCE], "user": {"username": user}}
        return self.send(request, 201, {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "status": status})


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def shared(request, tmp_path_factory):
    options = [f"--threads={request.param}", f"--token-audience={AUDIENCE}", f"--token-users=another-user,{CALLER}", "--log-level=debug"]
    with Authenticator() as api, Webhook(tmp_path_factory.mktemp("webhook"), api.port, *options) as webhook:
        webhook.wait_until_ready()
        yield api, webhook
        api.release()
        log = json.dumps(webhook.log())
        assert api.asked and not any(token in log for token in api.asked)
        assert webhook.end() == 0


@pytest.fixture
def place(shared):
    api, webhook = shared
    api.error_status = None
    api.release()
    wait_for("calls of the last test to end", lambda: webhook.metric("signalbox_admission_in_flight") == 0)
    return shared


def call(webhook, token, path=RUNTIME_PATH, body=None, connection=None):
    headers = {"Authorization": token} if token is not None else {}
    return webhook.post(path, review(runtime()) if body is None else body, headers, connection)


def turned_away(webhook, code):
    return webhook.metric(f'signalbox_admission_requests_total{{code="{code}",path="other",verdict="none"}}') or 0


def test_a_good_token_gets_its_verdict(place):
    api, webhook = place
    token = f"Bearer {api.new_token()}"
    status, _, body = call(webhook, token)
    assert (status, body["response"]["allowed"]) == (200, True)
    status, _, body = call(webhook, token, MUTATE_PATH, "no review")
    assert status == 400


BAD_TOKENS = [None, "", "Bearer", "Bearer ", "Basic {basic}", "{good}", "Bearer bad-token", "Bearer {good}2", "Bearer {good}, Bearer bad"]


def test_a_call_without_a_good_token_learns_only_that_it_needs_one(place):
    api, webhook = place
    good = api.new_token()
    before = turned_away(webhook, 401)
    for pattern in BAD_TOKENS:
        token = pattern and pattern.format(good=good, basic=base64.b64encode(good.encode()).decode())
        texts = set()
        for path, body in ((RUNTIME_PATH, None), (TRAIN_JOB_PATH, "no review"), ("/nowhere", "{}"), (MUTATE_PATH, "[" * 100_000)):
            status, headers, text = call(webhook, token, path, body)
            assert status == 401, token
            assert headers["WWW-Authenticate"] == "Bearer"
            # Connections are only for authenticated callers.
            assert headers["Connection"] == "close"
            texts.add(text)
        assert texts == {"a valid bearer token is needed\n"}
    assert turned_away(webhook, 401) == before + 4 * len(BAD_TOKENS)


def test_another_user_with_a_good_token_may_not_call(place):
    _, webhook = place
    before = turned_away(webhook, 403)
    status, headers, text = call(webhook, "Bearer other-token")
    assert (status, text) == (403, "this user may not call\n")
    assert turned_away(webhook, 403) == before + 1


def test_no_call_is_accepted_when_the_api_server_cannot_review_tokens(place):
    api, webhook = place
    codes = [401, 403, 404, 409, 422, 429, 500, 503]
    before = turned_away(webhook, 503)
    for code in codes:
        token = f"Bearer {api.new_token()}"
        api.error_status = code
        for _ in range(3):
            status, _, text = call(webhook, token)
            assert (status, text) == (503, "the caller cannot be checked now, try again\n"), code
        api.error_status = None
        assert call(webhook, token)[0] == 200, code
    assert turned_away(webhook, 503) == before + 3 * len(codes)
    # At most one for each change and thread; unit tests check how often a change is logged.
    assert 1 <= len(webhook.logged("cannot review tokens; refusing unreviewed callers")) <= 2 * len(codes)


def test_no_call_is_accepted_when_the_api_server_is_gone(tmp_path):
    with Webhook(tmp_path, 1, f"--token-audience={AUDIENCE}") as webhook:
        assert call(webhook, "Bearer any-token")[0] == 503
        assert call(webhook, None)[0] == 401


def test_an_unresponsive_api_server_takes_no_more_than_half_of_the_timeout(place):
    api, webhook = place
    api.delay = 20
    began = time.monotonic()
    assert call(webhook, f"Bearer {api.new_token()}", RUNTIME_PATH + "?timeout=2s")[0] == 503
    assert time.monotonic() - began < 2


def test_known_callers_do_not_wait_while_the_api_server_is_unresponsive(place):
    api, webhook = place
    before = len(api.asked)
    good = f"Bearer {api.new_token()}"
    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(contextlib.closing(webhook.connect())) for _ in range(10)]
        for connection in kept:
            assert call(webhook, good, connection=connection)[0] == 200
        # One review for each thread.
        assert len(api.asked) <= before + 2
        api.delay = 20
        unknown = [stack.enter_context(webhook.socket()) for _ in range(60)]
        for number, caller in enumerate(unknown):
            caller.sendall(f"POST {RUNTIME_PATH}?timeout=30s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer unknown-{number}\r\n"
                             "Content-Length: 2\r\n\r\n{}".encode())
        wait_for("reviews of the unknown tokens", lambda: sum(t.startswith("unknown") for t in api.asked[before:]) >= 8)
        wait_for("all to wait", lambda: webhook.metric("signalbox_admission_in_flight") == 60)
        for _ in range(5):
            for connection in kept:
                assert call(webhook, good, connection=connection)[0] == 200
        # No more token reviews at a time than the limit: eight for each thread.
        assert len(api.asked) <= before + 2 + 2 * 8


def test_unknown_callers_that_wait_leave_room_for_others(tmp_path):
    options = ["--threads=1", "--max-connections=30", f"--token-audience={AUDIENCE}"]
    with Authenticator() as api, Webhook(tmp_path, api.port, *options) as webhook, contextlib.ExitStack() as stack:
        webhook.wait_until_ready()
        good = f"Bearer {api.new_token()}"
        assert call(webhook, good)[0] == 200
        api.delay = 20
        for number in range(60):
            caller = stack.enter_context(webhook.socket())
            caller.sendall(f"POST {RUNTIME_PATH}?timeout=30s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer unknown-{number}\r\n"
                             "Content-Length: 2\r\n\r\n{}".encode())
            # One after the other, so that none has to make room before it has sent its request. A third of the connections may wait, and
            # half of these from one address.
            if number < 5:
                wait_for("it to wait", lambda: webhook.metric("signalbox_admission_in_flight") == number + 1)
            else:
                assert b" 503 " in caller.recv(1000)
        assert turned_away(webhook, 503) == 55
        assert webhook.metric("signalbox_admission_in_flight") == 5
        for _ in range(5):
            assert call(webhook, good)[0] == 200
        api.release()


def test_a_certificate_and_a_token_may_both_be_demanded(tmp_path):
    client = make_certificate(tmp_path, "client")
    caller = make_certificate(tmp_path, "caller")
    with Authenticator() as api, Webhook(tmp_path, api.port, "--client-ca", str(client[0]), f"--token-audience={AUDIENCE}") as webhook:
        with contextlib.closing(webhook.connect(client)) as connection:
            assert call(webhook, None, connection=connection)[0] == 401
            assert call(webhook, "Bearer other-token", connection=connection)[0] == 200
        for refused in (None, caller):
            with contextlib.closing(webhook.connect(refused)) as connection, pytest.raises((ssl.SSLError, OSError)):
                call(webhook, "Bearer other-token", connection=connection)
        wait_for("both to be counted", lambda: webhook.metric("signalbox_tls_handshake_errors_total") == 2)
