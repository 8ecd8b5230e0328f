"""A registry without images, on the loopback of both nodes: containerd.py tells containerd to ask there by plain HTTP."""

import http.server
import threading

from .network import enter

_PORT = 5000  # the namespaces of the nodes have nothing else there
ADDRESS = f"127.0.0.1:{_PORT}"
PRIVATE = f"{ADDRESS}/private"  # its repositories are only for those who log in


class Registry:
    """Answers until the context ends."""

    def __init__(self, network):
        self._servers = []
        self._listening = threading.Semaphore(0)
        self._paths = [network.path(number) for number in (1, 2)]

    def _serve(self, path):
        enter(path)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", _PORT), _Handler)
        self._servers.append(server)
        self._listening.release()
        server.serve_forever()

    def __enter__(self):
        for path in self._paths:
            threading.Thread(target=self._serve, args=[path], daemon=True).start()
            assert self._listening.acquire(timeout=10)
        return self

    def __exit__(self, *_):
        for server in self._servers:
            server.shutdown()
            server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_private = self.path.startswith("/v2/private/")
        self.send_response(401 if is_private else 404)
        if is_private:
            self.send_header("WWW-Authenticate", 'Basic realm="team"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_):
        pass
