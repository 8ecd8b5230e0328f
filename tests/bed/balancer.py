"""A TCP balancer on loopback that acts like a Service without kube-proxy: new connections go to ready backends, and open
connections stay where they are."""

import asyncio
import contextlib
import threading
import urllib.error
import urllib.request


class Backend:
    def __init__(self, port, admin_port):
        self.port = port
        self.admin_port = admin_port
        self.ready = False


class Balancer:
    """Listens on a free port, `port`. A context manager. `interval`: seconds between two requests to /readyz. A backend that has
    become unready gets new connections for that long, as in a cluster, where endpoints follow with a delay."""

    def __init__(self, interval=0.3):
        self.port = None
        self.lost = 0  # connections that were sent to a stopped backend
        self._interval = interval
        self._backends = {}
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def add(self, name, backend):
        """Adds a backend, or replaces the one of that name."""
        self._backends[name] = backend

    def remove(self, name):
        self._backends.pop(name, None)

    def ready(self):
        """Returns the names of the backends that get new connections."""
        return {name for name, backend in list(self._backends.items()) if backend.ready}

    def _run(self):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._loop.create_task(self._follow())
        self._started.set()
        self._loop.run_forever()

    async def _follow(self):
        while True:
            for backend in list(self._backends.values()):
                backend.ready = await self._loop.run_in_executor(None, is_ready, backend.admin_port)
            await asyncio.sleep(self._interval)

    async def _serve(self, reader, writer):
        for _ in range(50):
            ready = [backend for backend in self._backends.values() if backend.ready]
            if ready:
                self._turn += 1
                # A backend that has just stopped refuses the connection. Like kube-proxy, the balancer tries no other backend: the
                # call fails, and the test with it.
                try:
                    upstream = await asyncio.open_connection("127.0.0.1", ready[self._turn % len(ready)].port)
                except OSError:
                    self.lost += 1
                    break
                with contextlib.suppress(OSError):
                    await asyncio.gather(pump(reader, upstream[1]), pump(upstream[0], writer))
                break
            await asyncio.sleep(0.1)
        writer.close()


async def pump(reader, writer):
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


def is_ready(admin_port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{admin_port}/readyz", timeout=2) as answer:
            return answer.status == 200
    except (OSError, urllib.error.URLError):
        return False
