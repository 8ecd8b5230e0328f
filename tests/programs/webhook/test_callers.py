"""Who may call, where a bearer token is demanded, as a client over a real socket sees it."""

import contextlib
import json
import threading
import time

import pytest
from webhook_program import MUTATE_PATH, RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, Webhook, make_certificate, review, runtime, wait_for

AUDIENCE = "signalbox-webhook"
CALLER = "system:serviceaccount:kube-system:caller"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


class Authenticator(ApiServer):
    """Stands for the tokens in `users`, for one audience."""

    def __init__(self):
        super().__init__()
        self.users = {"good-token": CALLER, "other-token": "system:serviceaccount:default:other"}
        self.trouble = None
        self.silent = threading.Event()
        self.asked = []

    def answer(self, request, url, body):
        if url.path != REVIEWS:
            return super().answer(request, url, body)
        spec = json.loads(body)["spec"]
        self.asked.append(spec["token"])
        if self.silent.is_set():
            self.ended.wait(20)
        if self.trouble:
            return self.send(request, self.trouble, {"kind": "Status", "code": self.trouble, "reason": "Forbidden",
                                                     "message": "tokenreviews is forbidden"})
        user = self.users.get(spec["token"])
        status = {"authenticated": False}
        if user and AUDIENCE in spec["audiences"]:
            status = {"authenticated": True, "audiences": [AUDIENCE], "user": {"username": user}}
        return self.send(request, 201, {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "status": status})


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def place(request, tmp_path):
    with Authenticator() as api, Webhook(tmp_path, api.port, f"--threads={request.param}", f"--token-audience={AUDIENCE}",
                                         f"--token-users=somebody,{CALLER}", "--log-level=debug") as webhook:
        webhook.wait_until_ready()
        yield api, webhook
        log = json.dumps(webhook.log())
        assert not any(token in log for token in api.asked)
        assert webhook.end() == 0


def call(webhook, token, path=RUNTIME_PATH, body=None, connection=None):
    headers = {"Authorization": token} if token is not None else {}
    return webhook.post(path, review(runtime()) if body is None else body, headers, connection)


def turned_away(webhook, code):
    return webhook.metric(f'signalbox_admission_requests_total{{code="{code}",path="other",verdict="none"}}')


def test_who_has_a_good_token_gets_his_verdict(place):
    api, webhook = place
    status, _, body = call(webhook, "Bearer good-token")
    assert (status, body["response"]["allowed"]) == (200, True)
    status, _, body = call(webhook, "Bearer good-token", MUTATE_PATH, "no review")
    assert status == 400


@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer ", "Basic Z29vZC10b2tlbg==", "good-token", "Bearer bad-token",
                                   "Bearer good-token2", "Bearer good-token, Bearer bad"])
def test_who_has_none_learns_only_that_he_needs_one(place, token):
    api, webhook = place
    texts = set()
    for path, body in ((RUNTIME_PATH, None), (TRAIN_JOB_PATH, "no review"), ("/nowhere", "{}"), (MUTATE_PATH, "[" * 100_000)):
        status, headers, text = call(webhook, token, path, body)
        assert status == 401
        assert headers["WWW-Authenticate"] == "Bearer"
        # Connections are for those who may call.
        assert headers["Connection"] == "close"
        texts.add(text)
    assert texts == {"a valid bearer token is needed\n"}
    assert turned_away(webhook, 401) == 4


def test_somebody_else_with_a_good_token_may_not_call(place):
    _, webhook = place
    status, headers, text = call(webhook, "Bearer other-token")
    assert (status, text) == (403, "this user may not call\n")
    assert turned_away(webhook, 403) == 1


@pytest.mark.parametrize("code", [401, 403, 404, 409, 422, 429, 500, 503])
def test_nobody_is_let_in_when_the_api_server_will_not_say(place, code):
    api, webhook = place
    api.trouble = code
    for _ in range(3):
        status, _, text = call(webhook, "Bearer good-token")
        assert (status, text) == (503, "who calls cannot be checked now, try again\n")
    assert turned_away(webhook, 503) == 3
    assert 1 <= len(webhook.logged("cannot review tokens; refusing whoever calls")) <= 2  # one per thread
    api.trouble = None
    assert call(webhook, "Bearer good-token")[0] == 200


def test_nobody_is_let_in_when_the_api_server_is_gone(tmp_path):
    with Webhook(tmp_path, 1, f"--token-audience={AUDIENCE}") as webhook:
        assert call(webhook, "Bearer good-token")[0] == 503
        assert call(webhook, None)[0] == 401


def test_an_api_server_that_says_nothing_costs_no_more_than_half_of_the_time(place):
    api, webhook = place
    api.silent.set()
    began = time.monotonic()
    assert call(webhook, "Bearer good-token", RUNTIME_PATH + "?timeout=2s")[0] == 503
    assert time.monotonic() - began < 2


def test_those_who_are_known_wait_for_nobody(place):
    api, webhook = place
    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(contextlib.closing(webhook.connect())) for _ in range(10)]
        for connection in kept:
            assert call(webhook, "Bearer good-token", connection=connection)[0] == 200
        # One for each thread.
        assert len(api.asked) <= 2
        api.silent.set()
        strangers = [stack.enter_context(webhook.socket()) for _ in range(60)]
        for number, stranger in enumerate(strangers):
            stranger.sendall(f"POST {RUNTIME_PATH}?timeout=30s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stranger-{number}\r\n"
                             "Content-Length: 2\r\n\r\n{}".encode())
        wait_for("the strangers to be asked for", lambda: sum(t.startswith("stranger") for t in api.asked) >= 8)
        assert webhook.metric("signalbox_admission_in_flight") == 60
        for _ in range(5):
            for connection in kept:
                assert call(webhook, "Bearer good-token", connection=connection)[0] == 200
        # No more questions at a time than we allow ourselves: eight for each thread.
        assert len(api.asked) <= 2 + 2 * 8


def test_strangers_who_wait_leave_room_for_others(tmp_path):
    options = ["--threads=1", "--max-connections=30", f"--token-audience={AUDIENCE}"]
    with Authenticator() as api, Webhook(tmp_path, api.port, *options) as webhook, contextlib.ExitStack() as stack:
        webhook.wait_until_ready()
        assert call(webhook, "Bearer good-token")[0] == 200
        api.silent.set()
        for number in range(60):
            stranger = stack.enter_context(webhook.socket())
            stranger.sendall(f"POST {RUNTIME_PATH}?timeout=30s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stranger-{number}\r\n"
                             "Content-Length: 2\r\n\r\n{}".encode())
            # One after the other: nobody has to make room before he is heard.
            if number < 10:
                wait_for("him to wait", lambda: webhook.metric("signalbox_admission_in_flight") == number + 1)
            else:
                assert b" 503 " in stranger.recv(1000)
        assert turned_away(webhook, 503) == 50
        assert webhook.metric("signalbox_admission_in_flight") == 10
        for _ in range(5):
            assert call(webhook, "Bearer good-token")[0] == 200
        api.ended.set()


def test_without_the_option_tokens_are_ignored(tmp_path):
    with Authenticator() as api, Webhook(tmp_path, api.port) as webhook:
        assert call(webhook, None)[0] == 200
        assert call(webhook, "Bearer bad-token")[0] == 200
        assert api.asked == []


def test_a_certificate_and_a_token_may_both_be_demanded(tmp_path):
    client = make_certificate(tmp_path, "client")
    with Authenticator() as api, Webhook(tmp_path, api.port, "--client-ca", str(client[0]), f"--token-audience={AUDIENCE}") as webhook:
        with contextlib.closing(webhook.connect(client)) as connection:
            assert call(webhook, None, connection=connection)[0] == 401
            assert call(webhook, "Bearer other-token", connection=connection)[0] == 200
        with contextlib.closing(webhook.connect()) as connection, pytest.raises(OSError):
            call(webhook, "Bearer good-token", connection=connection)
