"""What stands in the place of the interpreter: hands its caller's wishes to the fork server, and waits for the end.

It runs under `python -IS` and imports little, for its start is what a forked process costs.
"""

from __future__ import annotations

import json
import os
import socket
import sys


def main(address: str) -> None:
    """Run `sys.argv[1:]` in a process forked from the server at this address."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        files = [number for number in map(int, os.listdir("/proc/self/fd")) if _is_open(number)]
        files.remove(server.fileno())
        request = json.dumps(
            {"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "files": files}
        ).encode()
        socket.send_fds(server, [f"{len(request):012d}".encode()], files)
        server.sendall(request)
        null = os.open(os.devnull, os.O_RDWR)
        for number in files:
            if number > 2:
                os.close(number)
            else:
                os.dup2(null, number)  # who waits for the end of a pipe shall not wait for this process
        status = int(server.recv(64) or b"-9")
    os._exit(status if status >= 0 else 128 - status)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
