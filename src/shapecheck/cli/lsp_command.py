"""`shapecheck lsp`: the language server, over stdio."""

from __future__ import annotations

import sys

import click

from shapecheck.cli.terminal import CLEAN, FAILED, say

_MISSING = """\
Error: the language server needs the package pygls, version 2 or newer ({error})
Install it beside shapecheck: pip install 'jax-shapecheck[lsp]'
"""


@click.command(short_help="Serve editors over stdio.")
@click.option("--stdio", is_flag=True, help="Accepted, for clients that say so: it is the only way.")
def lsp(stdio: bool) -> int:
    """Serve an editor over stdin and stdout, as the language server protocol has it.

    Editors start it; README has what to paste for Neovim, Vim, Helix, Emacs and VS Code. It checks what is typed as it
    is typed, in processes of your models' interpreter, and the whole folder, tests included, when a file is saved.

    \b
    Settings of the client (initializationOptions, or the section `shapecheck`):
      inlayHints   show proved shapes behind assignments  [default: false]
      debounce     milliseconds after an edit before it is checked  [default: 250]
      python       the interpreter of your code, if [tool.shapecheck] shall not say

    It sends `$/shapecheck/status` with `uri`, `version` and `text`: "verified 31 of 33, version 12".
    """
    if sys.stdin.isatty():
        say("This is a language server: it waits for an editor on stdin. Ctrl-C ends it.\n")
    try:
        from shapecheck.editor.serve import serve  # noqa: PLC0415  # an extra
    except ImportError as error:
        say(_MISSING.format(error=error))
        return FAILED
    serve()
    return CLEAN
