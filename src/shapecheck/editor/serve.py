"""The server with all that it answers, over stdio."""

from __future__ import annotations

import os
import signal

from shapecheck.editor.document_events import add_documents, add_lifecycle, add_notebooks
from shapecheck.editor.language_server import ShapecheckServer
from shapecheck.editor.questions import add_questions


def create_server() -> ShapecheckServer:
    """The server with all that it answers."""
    server = ShapecheckServer()
    add_lifecycle(server)
    add_documents(server)
    add_notebooks(server)
    add_questions(server)
    return server


def serve() -> None:
    """Serve one client over stdio until it says exit, or goes away."""
    server = create_server()

    def stop(number: int, frame: object) -> None:
        server.close()
        os._exit(128 + number)  # a thread waits for the client's next word, which may never come

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    try:
        server.start_io()
    finally:
        server.close()
