"""relay.py LISTENING NAMESPACE PORT: lets programs of this machine reach a port of loopback in another network namespace. It listens on a
free port of this machine's loopback, and writes its number to the file LISTENING."""

import asyncio
import os
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from node.network import enter  # noqa: E402


async def main(listening, namespace, port):
    outside = socket.create_server(("127.0.0.1", 0))
    enter(namespace)  # its connections are made there; the socket above stays where it is
    number = outside.getsockname()[1]

    async def relay(reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))
    server = await asyncio.start_server(relay, sock=outside)
    unfinished = pathlib.Path(f"{listening}.unfinished")
    unfinished.write_text(str(number))
    os.rename(unfinished, listening)
    await server.serve_forever()


async def copy(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # one side has gone
    finally:
        writer.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
