"""Handlers of the user's code pass on what is a bug of ours: it is not what they are prepared for.

    try: y = f(x)               try: y = f(x)
    except Exception:           except Exception:
        y = x                       __shapecheck__.pass_own_error_on()
                                    y = x

A probe may be what raises. Else the program would go another way than it does without us, and nobody would hear of it.
"""

from __future__ import annotations

import ast

from shapecheck.evaluate.own_errors import HANDLE


def pass_own_errors_on(tree: ast.Module) -> ast.Module:
    """The tree with that call at the beginning of each handler."""
    changed: ast.Module = _Handlers().visit(tree)
    return changed


class _Handlers(ast.NodeTransformer):
    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        """Change one handler, and those in it."""
        self.generic_visit(node)
        function = ast.Attribute(ast.Name(HANDLE, ast.Load()), "pass_own_error_on", ast.Load())
        call = ast.Expr(ast.Call(function, [], []))
        for part in ast.walk(call):
            ast.copy_location(part, node.body[0])
        node.body.insert(0, call)
        return node
