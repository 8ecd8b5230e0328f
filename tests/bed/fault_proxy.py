"""A proxy between Signalbox and the real API server, with TLS on both sides, that injects faults of networks, proxies and busy
servers. Its user chooses the fault of each request."""

import asyncio
import collections
import ctypes
import dataclasses
import json
import socket
import ssl
import struct
import threading
import urllib.parse
import weakref

_SO_ATTACH_FILTER = 26  # socket(7); Python has no name for it
_KEPT_VERSIONS = 5  # of one object
_LIMIT = 64 * 1024 * 1024  # of a line of a watch, which asyncio would else limit to 64 KiB


@dataclasses.dataclass
class Fault:
    """The fault of one request. Several members may be set; none is set by default."""

    delay: float = 0  # seconds before it is forwarded
    status: int = 0  # the proxy answers with this status, and does not forward
    retry_after: int = None  # seconds, a header of that answer
    lost: bool = False  # the connection is reset, and nothing is forwarded
    unanswered: bool = False  # forwarded and carried out, but the connection is reset before the answer
    cut_after: int = None  # the connection is reset after that many bytes of the answer's body; for a watch, of its stream
    stall_after: int = None  # that many bytes of the answer's body arrive, and then nothing, for ever
    lag: float = 0  # of a watch: each piece arrives that many seconds late
    hold: threading.Event = None  # forwarded when that is set
    old: bool = False  # of a GET: answered with an older version of the object that a GET or a watch has returned, if that differs


class Request:
    """The request for which a fault is chosen."""

    def __init__(self, method, target, authorization="", body=b""):
        self.method = method
        self.authorization = authorization
        self.body = body
        self.answered = None  # the API server's status, once it has answered
        self.path, _, query = target.partition("?")
        self.query = urllib.parse.parse_qs(query)

    @property
    def is_watch(self):
        return "watch" in self.query

    def __str__(self):
        return f"{'WATCH' if self.is_watch else self.method} {self.path}"


class FaultProxy:
    """A context manager; `url` is its address. `choose(request)` returns a Fault, on the proxy's thread; None or the default Fault is
    no fault."""

    def __init__(self, plane, choose=lambda request: None):
        self.choose = choose
        self.open_connections = 0  # of Signalbox
        self.faults = collections.Counter()  # injected faults by kind, or by status if they have one
        server = urllib.parse.urlsplit(plane.server)
        self._upstream = (server.hostname, server.port)
        cert, key = plane.authority.issue("fault-proxy", "kube-apiserver", hosts=["127.0.0.1"])
        self._inner_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.present(cert, key)
        self._outer_tls = ssl.create_default_context(cafile=plane.ca_file)
        self._loop = asyncio.new_event_loop()
        self._tasks = set()
        self._writers = set()  # towards Signalbox
        self._gone = weakref.WeakSet()  # of those, the ones that vanish() has silenced
        self._requests = {}  # requests under way with their times of arrival, by writer
        self._seen = {}  # heads and bodies of versions that GETs or watches have returned, by path

    def __enter__(self):
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._inner_tls, limit=_LIMIT))
        self.url = f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_):
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def state(self):
        """Describes the requests under way, for the message of a failed wait."""
        return f"proxy: {self.open_connections} connections; " + ", ".join(
            f"{request}: {seconds:.1f} s" for request, seconds in self._call(self._under_way()))

    async def _under_way(self):
        return [(request, self._loop.time() - since) for request, since in self._requests.values()]

    def reset_everything(self):
        """Resets every connection at once, like a restarted proxy."""
        async def reset():
            for task in self._tasks:
                task.cancel()
        self._call(reset())

    def vanish(self):
        """Silences the other end of every open connection, like a machine without power: not even the kernel answers, and nothing
        arrives. New connections are served."""
        drop_everything = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # a BPF program: return 0
        program = struct.pack("HP", 1, ctypes.addressof(drop_everything))
        async def silence():
            for writer in self._writers:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
                self._gone.add(writer)
        self._call(silence())

    def present(self, cert, key):
        """Sets the certificate for new connections."""
        self._inner_tls.load_cert_chain(cert, key)

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _stop(self):
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        self.open_connections += 1
        self._writers.add(writer)
        upstream = None
        try:
            upstream = await asyncio.open_connection(*self._upstream, ssl=self._outer_tls, limit=_LIMIT)
            while await self._exchange(reader, writer, *upstream):
                del self._requests[writer]
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # either side may close at any time, and the proxy may be stopped
        finally:
            self.open_connections -= 1
            self._tasks.discard(task)
            self._writers.discard(writer)
            self._requests.pop(writer, None)
            writer.transport.abort()
            if upstream:
                upstream[1].transport.abort()

    async def _exchange(self, reader, writer, server_reader, server_writer):
        """Forwards one request and its answer. Returns whether the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        body = await reader.readexactly(int(_field(head, b"content-length") or 0))
        request = Request(method, target, (_field(head, b"authorization") or b"").decode(), body)
        self._requests[writer] = request, self._loop.time()
        fault = self.choose(request) or Fault()
        for field in dataclasses.fields(Fault):
            if getattr(fault, field.name) != field.default and field.name not in ("retry_after", "old"):
                self.faults[fault.status if field.name == "status" else field.name] += 1
        if fault.hold:
            await self._loop.run_in_executor(None, fault.hold.wait)
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.lost:
            return False
        if fault.status:
            await self._send(writer, _answer(fault))
            return True
        server_writer.write(head + body)
        await server_writer.drain()
        answer = await server_reader.readuntil(b"\r\n\r\n")
        request.answered = int(answer.split(b" ", 2)[1])
        if fault.unanswered:
            return False
        pieces = _body(answer, server_reader)
        if request.is_watch and _is_chunked(answer):  # else the API server has denied it
            pieces = self._noted(request, pieces)
        elif request.method == "GET" and _is_object(answer):
            answer, pieces = await self._of_some_age(request, answer, pieces, fault.old)
        await self._send(writer, answer)
        left = fault.stall_after if fault.cut_after is None else fault.cut_after
        async for piece in pieces:
            if request.is_watch and fault.lag:
                await asyncio.sleep(fault.lag)
            if left is not None and len(piece) > left:
                await self._send(writer, piece[:left])
                if fault.cut_after is None:
                    await asyncio.Event().wait()
                return False
            left = None if left is None else left - len(piece)
            await self._send(writer, piece)
        return (_field(answer, b"connection") or b"").lower() != b"close"


    async def _of_some_age(self, request, head, pieces, old):
        """Returns head and pieces of an answer to a GET: this one, or an older one that differs."""
        now = head, b"".join([piece async for piece in pieces])
        older = [seen for seen in self._versions(request.path) if _version(seen[1]) != _version(now[1])]
        self._versions(request.path).append(now)
        if old and older:
            self.faults["old"] += 1
            now = older[0]
        async def body():
            if now[1]:
                yield now[1]
        return now[0], body()

    async def _send(self, writer, data):
        if writer in self._gone:
            await asyncio.Event().wait()
        writer.write(data)
        await writer.drain()

    def _versions(self, path):
        return self._seen.setdefault(path, collections.deque(maxlen=_KEPT_VERSIONS))

    async def _noted(self, request, pieces):
        """Yields the pieces of a watch unchanged, and records the objects in them."""
        text = b""
        async for piece in pieces:
            text += piece.split(b"\r\n", 1)[1][:-2]  # without the chunk's frame
            *lines, text = text.split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event["type"] in ("ADDED", "MODIFIED"):
                    group, _, collection = request.path.rpartition("/")
                    meta = event["object"]["metadata"]
                    namespace = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
                    body = json.dumps(event["object"]).encode()
                    self._versions(f"{group}{namespace}/{collection}/{meta['name']}").append((_head("200 OK", body), body))
            yield piece


def _field(head, name):
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip()
    return None


def _is_object(head):
    """Returns whether the answer is one object: a list is chunked, and the answer for an unknown path is text."""
    return _field(head, b"content-length") and _field(head, b"content-type") == b"application/json"


def _is_chunked(head):
    return (_field(head, b"transfer-encoding") or b"").lower() == b"chunked"


async def _body(head, reader):
    """Yields the bytes of a body as they are on the wire."""
    if _is_chunked(head):
        size = None
        while size != 0:
            line = await reader.readline()
            size = int(line, 16)
            yield line + await reader.readexactly(size + 2)
    elif length := int(_field(head, b"content-length") or 0):
        yield await reader.readexactly(length)


def _answer(fault):
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": fault.status, "message": "made up by a test"}
    body = json.dumps(status).encode()
    more = "" if fault.retry_after is None else f"Retry-After: {fault.retry_after}\r\n"
    return _head(f"{fault.status} Fault", body, more) + body


def _head(status, body, more=""):
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode()


def _version(body):
    """Returns the resource version of an object; None if the body is no object."""
    return json.loads(body)["metadata"].get("resourceVersion")
