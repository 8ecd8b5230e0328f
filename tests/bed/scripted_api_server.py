"""A small API server for faults that a real one cannot be made to have."""

import http.server
import json
import socket
import threading
import time
import urllib.parse


class ScriptedApiServer:
    """HTTP on loopback, of IPv6 if `host` is "::1", with TLS if `tls` is an SSLContext, one thread per connection. A derived class answers requests in answer(). A
    context manager."""

    def __init__(self, port=0, tls=None, host="127.0.0.1"):
        self.ended = threading.Event()  # set when the server is stopped; ends answers that hang
        self.seconds_ahead = 0  # offset of its clock, in the header `Date`
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.answer(self, urllib.parse.urlsplit(self.path), body)
            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

            def date_time_string(self, timestamp=None):
                return super().date_time_string((timestamp or time.time()) + outer.seconds_ahead)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 512  # with the five of Python, the kernel drops connections that come together, and clients wait

            def handle_error(self, *_):
                pass  # clients may disconnect at any time

        self._server = Server((host, port), Handler)
        self.port = self._server.server_port
        if tls:
            # Each connection's thread does its handshake.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, directory, **context):
        """Writes a kubeconfig of it, without TLS, and returns its path. context: further members of the context."""
        path = directory / "kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c", **context}}],
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}]}))
        return path

    def answer(self, request, url, body):
        raise NotImplementedError

    def watch(self, request, objects=()):
        """Serves a watch that lists `objects` and then sends nothing until the end."""
        events = [{"type": "ADDED", "object": o} for o in objects]
        events.append({"type": "BOOKMARK", "object": {"metadata": {
            "resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}})
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        request.wfile.write(b"%x\r\n%s\r\n" % (len(lines), lines))
        request.wfile.flush()
        self.ended.wait()
        request.close_connection = True

    @staticmethod
    def send(request, status, body):
        text = json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)
