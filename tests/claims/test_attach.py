"""Which value a comment describes."""

from __future__ import annotations

import pytest

TRAILING = {
    "what is returned of a variable, or that itself": (
        """
        idx = argmin(d)
        return z, idx.reshape(b, t)  # idx: (b, t)
        """,
        ["[b t]: value idx.reshape(b, t) | idx before 3"],
    ),
    "an argument, above the statement that asks for its shape": (
        """
        def f(x):
            # x: (b, t)
            b, t = x.shape
            return x
        """,
        ["[b t]: param x"],
    ),
    "the result beside a state that is handed on, or both; of two results both": (
        """
        def f(x, state):
            return 2 * x, new_state  # (b, t)

        def g(x):
            return h, c  # (b, t)
        """,
        ["[b t]: value 2 * x, new_state | value 2 * x", "[b t]: value h, c"],
    ),
    "no array whose shape is asked for, where the comment tells what becomes of several": (
        """
        def f(nodes, idx):
            # Features [b, n, c] at indices [b, n, k] => [b, n, k, c]
            b, n, k = idx.shape
            return gather(nodes, idx)
        """,
        [],
    ),
    "what a condition asks the axes of, where its branch begins, or what the branches leave": (
        """
        if x.ndim == 2:  # (b, t)
            y = g(x)
        elif mask is not None:  # (t,)
            y = h(x, mask)
        if train:  # (b, t)
            y = y + noise
        if x.ndim == 3:  # (b, t, d) -> (b, t*d)
            x = x.reshape(len(x), -1)
        """,
        ["[b t]: x before 3", "[t]: mask before 5", "[b t]: y after 6", "[b t*d]: x after 9"],
    ),
    "what one branch leaves, where its header tells of a case": (
        """
        if axis == 0:  # faces: shape (n+1, m)
            y = g(x)
        else:
            y = h(x)
        """,
        ["[n+1 m]: y after 3"],
    ),
    "the parameter whose axes the function calls so, or what it returns": (
        """
        def f(x, w=None) -> Array:  # (B, H, C)
            b, h, c = x.shape
            return g(x)
        def f(x, w=None) -> Array:  # (B, N)
            b, h, c = x.shape
            return g(x)
        def f(x, w=None) -> Array:  # (B, H, C)
            batch, height, channels = x.shape
            return g(x)
        """,
        ["[B H C]: param x | return", "[B N]: return", "[B H C]: param x | return"],
    ),
    "what is computed so, and no code that was switched off": (
        """
        # y = x * exp(-x): (b, t, c)
        y = f(x)
        # z = lambda x: (x, y)
        z = f(x)
        # w = x[1 :(b, t)]
        w = f(x)
        """,
        ["[b t c]: value f(x)"],
    ),
    "what a call gives that takes the list in front of it": (
        """
        y = jnp.hstack(
            [
                a,
                b,
            ]  # (n, 5)
        )
        """,
        ["[n 5]: value jnp.hstack( [ a, b, ] ) | value [ a, b, ]"],
    ),
    "also the operand that an axis of one is written for": (
        """
        p = e - h[..., :, None]  # (b, h, 1)
        p = e - h[..., :, None]  # (b, h)
        p = e - h[..., :1]  # (b, 1)
        p = h[:, jnp.newaxis] * g(e)[jnp.newaxis]  # (1, h)
        """,
        [
            "[b h 1]: value e - h[..., :, None] | value h[..., :, None]",
            "[b h]: value e - h[..., :, None]",
            "[b 1]: value e - h[..., :1]",
            "[1 h]: value h[:, jnp.newaxis] * g(e)[jnp.newaxis] | value g(e)[jnp.newaxis]",
        ],
    ),
    "an assignment": (
        "y = f(x)  # (b, t)",
        ["[b t]: value f(x)"],
    ),
    "behind the closing bracket: the whole statement": (
        """
        y = f(
            x,
            g(z),
        )  # (b, t)
        """,
        ["[b t]: value f( x, g(z), )"],
    ),
    "behind the opening bracket: the whole statement": (
        """
        y = f(  # (b, t)
            x,
        )
        """,
        ["[b t]: value f( x, )"],
    ),
    "an argument's line": (
        """
        y = f(
            x + 1,  # (b, t)
            g(z),  # (t,)
            key=h(w),  # (b,)
        )
        """,
        ["[b t]: value x + 1", "[t]: value g(z)", "[b]: value h(w)"],
    ),
    "a starred argument": (
        """
        y = f(
            *parts,  # (b, t)
        )
        """,
        ["[b t]: value parts"],
    ),
    "an element's line": (
        """
        batch = {
            "tokens": f(x),  # (b, t)
            "mask": [
                g(x),  # (b, 1)
            ],
        }
        """,
        ["[b t]: value f(x)", "[b 1]: value g(x)"],
    ),
    "a method chain": (
        """
        y = (
            x.reshape(2, 3)  # (b, t, c)
            .sum(axis=-1)  # (b, t)
            .T
        )
        """,
        ["[b t c]: value x.reshape(2, 3)", "[b t]: value x.reshape(2, 3) .sum(axis=-1)"],
    ),
    "a sum": (
        """
        y = (a  # (b, t)
             + f(c)  # (b, s)
             + d)
        """,
        [
            "[b t]: value a | value a + f(c) + d",
            "[b s]: value f(c) | value a + f(c) | value a + f(c) + d",
        ],
    ),
    "operands that begin a line, with their sign, and not a factor inside of one": (
        """
        y = g(
            a * b  # (t,)
            - 0.5 * f(
                c,
            )  # (b, t)
            + c
        )
        """,
        [
            "[t]: value a * b | value a * b - 0.5 * f( c, ) + c",
            "[b t]: value 0.5 * f( c, ) | value a * b - 0.5 * f( c, ) | value a * b - 0.5 * f( c, ) + c",
        ],
    ),
    "operators at the ends of lines": (
        """
        y = (
            a +  # (t,)
            b *
            c  # (b, t)
        )
        """,
        ["[t]: value a | value a + b * c", "[b t]: value c | value b * c | value a + b * c"],
    ),
    "a bracket that opens inside": (
        """
        y = f(
            jnp.stack([  # (b, t)
                a,
            ]),
        )
        """,
        ["[b t]: value jnp.stack([ a, ])"],
    ),
    "a lambda's body": (
        """
        y = jax.vmap(
            lambda q: q @ k,  # (t, s)
        )(x)
        f = lambda q: q @ k  # (t, s)
        """,
        ["[t s]: value q @ k", "[t s]: value q @ k"],
    ),
    "a comprehension's element": (
        """
        ys = [
            f(x)  # (b, t)
            for x in xs
        ]
        """,
        ["[b t]: value f(x)"],
    ),
    "a return": (
        """
        def f(x):
            return g(x)  # (b, t)
        """,
        ["[b t]: value g(x)"],
    ),
    "an element of a returned tuple": (
        """
        def f(x):
            return (
                g(x),  # (b, t)
                h(x),  # (b,)
            )
        """,
        ["[b t]: value g(x)", "[b]: value h(x)"],
    ),
    "an augmented assignment": ("y += f(x)  # (b, t)", ["[b t]: y after 1"]),
    "a loop variable": (
        """
        for x in xs:  # (b, t)
            pass
        """,
        ["[b t]: x body 2"],
    ),
    "what with binds": (
        """
        with f() as x:  # (b, t)
            pass
        """,
        ["[b t]: x body 2"],
    ),
    "an annotated variable": ("y: Array = f(x)  # (b, t)", ["[b t]: value f(x)"]),
    "a call for its effect": ("update(x)  # (b, t)", ["[b t]: value update(x)"]),
    "what is printed or asserted": (
        """
        print(x.shape)  # (b, t)
        assert y.ndim == 2  # (b, t)
        chex.assert_rank(z, 2)  # (b, t)
        self.assertEqual(w.shape, shape)  # (b, t)
        """,
        ["[b t]: value x", "[b t]: y after 3", "[b t]: value z", "[b t]: value w"],
    ),
    "what is unpacked on the next line, which says anew what the names are": (
        """
        for layer in layers:
            x = layer(x)  # (n, d)
            n, d = x.shape
        y = f(x)  # (m,)
        m = z.shape[0]
        """,
        ["[n d]: value layer(x) | x after 4", "[m]: value f(x)"],
    ),
    "an unpacked shape": ("rows, cols = x.shape  # (b, t)", ["[b t]: x after 1"]),
    "statements without a value": (
        """
        if x:  # (b, t)
            pass
        else:  # (b, t)
            del y  # (b, t)
        import jax  # (b, t)
        n = 3  # (b, t)
        """,
        [],
    ),
    "two statements on a line": ("x = f(a); y = g(a)  # (b, t)", ["[b t]: value g(a)"]),
    "wide characters before it": ('y = f("日本", "é")  # (b, t)', ['[b t]: value f("日本", "é")']),
    "behind brackets that only group: what stands in them": (
        """
        out = {
            "mask": (
                f(x)
            ),  # (b, t)
            "sum": (
                a
                + b
            ),  # (b, s)
        }
        """,
        ["[b t]: value f(x)", "[b s]: value a + b"],
    ),
    "behind a key or a keyword: the value to come": (
        """
        out = f({
            "mask":  # (b, t)
                g(x),
        }, key=  # (b, s)
            h(x),
        )
        """,
        ["[b t]: value g(x)", "[b s]: value h(x)"],
    ),
    "behind the bracket of an entry's value: the whole value": (
        """
        out = {
            "ids": jnp.array([  # (b, t)
                a,
            ]),
            "rest": f(  # (b, s)
                a,
            ).sum(0),
        }
        """,
        ["[b t]: value jnp.array([ a, ])", "[b s]: value f( a, ).sum(0)"],
    ),
    "in an index, a comparison, a choice": (
        """
        y = x[
            i,  # (b, t)
        ]
        z = (
            f(x)  # (b, t)
            if a
            else g(x)  # (b, s)
        )
        w = h(
            a < b  # (b, t)
        )
        """,
        ["[b t]: value i", "[b t]: value f(x)", "[b s]: value g(x) | value f(x) if a else g(x)", "[b t]: value a < b"],
    ),
    "behind a clause that is no statement, or a decorator": (
        """
        y = f(x)
        try:
            y = g(x)
        except ValueError:  # (b, t)
            pass
        @h  # (b, t)
        def k():
            pass
        """,
        [],
    ),
}

HEADERS = {
    "a parameter's line": (
        """
        def f(
            x,  # (b, t)
            y: Array = None,  # (t,)
            *rest,  # (s,)
            key,  # (2,)
        ):
            pass
        """,
        ["[b t]: param x", "[t]: param y", "[s]: param rest", "[2]: param key"],
    ),
    "the end of the header: the return": (
        """
        def f(
            x,
        ) -> Array:  # (b, t)
            pass
        """,
        ["[b t]: return"],
    ),
    "a header on one line": (
        """
        def f(x) -> Array:  # (b, t)
            pass
        def g(x):  # (b, t) -> (t,)
            pass
        def h(self, x):  # (b, t)
            pass
        def k(x, y):  # (b, t)
            pass
        """,
        ["[b t]: return", "[b t]: param x", "[t]: return", "[b t]: param x | return", "[b t]: return"],
    ),
    "several comments behind one header": (
        """
        def f(x) -> Array:  # shape (n, 3)  # shape (n,)
            pass
        def g(x, y) -> Array:  # shape (n, 3)  # shape (n,)
            pass
        """,
        ["[n 3]: param x", "[n]: return", "[n 3]: return | param y | param x", "[n]: return | param y | param x"],
    ),
    "own line above a parameter": (
        """
        def f(
            # (b, t)
            x,
        ):
            pass
        """,
        ["[b t]: param x"],
    ),
    "a body on the header's line": ("def f(x): return g(x)  # (b, t)", ["[b t]: value g(x)"]),
    "the last parameter, where the others have comments too": (
        """
        def f(x,  # (b, t)
              y):  # (b, s)
            pass
        def g(x,
              y):  # (b, s)
            pass
        def h(x,  # (b, t)
              y) -> Array:  # (b, s)
            pass
        """,
        ["[b t]: param x", "[b s]: param y | return", "[b s]: return | param y", "[b t]: param x", "[b s]: return"],
    ),
    "a comment on the header's line, and one below it": (
        """
        def f(x):  # (b, t)
            # (b, s)
            y = g(x)
        """,
        ["[b t]: param x | return", "[b s]: value g(x)"],
    ),
    "an argument in the header of a loop": (
        """
        for x in zip(
            f(y),  # (b, t)
            g(y),  # (b, s)
        ):
            pass
        """,
        ["[b t]: value f(y)", "[b s]: value g(y)"],
    ),
}

OWN_LINE = {
    "what its words tell of, or what is made of that": (
        """
        # Transpose back to [b, t, h, d]
        y = x.transpose(0, 2, 1, 3).reshape(b, t, -1)
        # Reshape to (b, t)
        z = x.transpose(0, 1).reshape(b, t)
        # (b, t)
        w = x.transpose(0, 1).reshape(b, t)
        """,
        [
            "[b t h d]: value x.transpose(0, 2, 1, 3).reshape(b, t, -1) | value x.transpose(0, 2, 1, 3)",
            "[b t]: value x.transpose(0, 1).reshape(b, t) | value x.transpose(0, 2, 1, 3).reshape(b, t, -1)",
            "[b t]: value x.transpose(0, 1).reshape(b, t) | value x.transpose(0, 1).reshape(b, t)",
        ],
    ),
    "above the first link of a chain, it or the chain": (
        """
        y = (
            # (b, t)
            x.sum(0)
            .T
        )
        """,
        ["[b t]: value x.sum(0) .T | value x.sum(0)"],
    ),
    "the next statement, or else the one above": (
        """
        y = f(x)
        # (b, t)
        z = g(y)
        """,
        ["[b t]: value g(y) | value f(x)"],
    ),
    "the one above, if a blank line parts it from the next": (
        """
        y = f(x)
        # (b, t)

        z = g(y)
        """,
        ["[b t]: value f(x) | value g(y)"],
    ),
    "what every branch of the `if` below assigns last": (
        """
        y = f(x)
        # (b, t)
        if a:
            t = g(y)
            z = g(t)
            log(z)
        elif b:
            raise ValueError
        else:
            z = y * 2
        """,
        ["[b t]: z after 4 | value f(x)"],
    ),
    "only the next": (
        """
        y = f(x)

        # (b, t)
        z = g(y)
        """,
        ["[b t]: value g(y)"],
    ),
    "only the one above, at the end of a block": (
        """
        def f(x):
            y = g(x)
            # (b, t)
        z = h(x)
        """,
        ["[b t]: value g(x)"],
    ),
    "an element of a call": (
        """
        y = f(
            # (b, t)
            x,
            # (t,)
            g(z) + 1,
        )
        """,
        ["[b t]: value x", "[t]: value g(z) + 1"],
    ),
    "the first line of a function": (
        """
        def f(x):
            # (b, t)
            y = g(x)
            return y
        """,
        ["[b t]: value g(x)"],
    ),
    "a heading of several statements": (
        """
        # Project and split heads: (b, t, d) -> (b, t, h, k)
        q = f(x)
        q = q.reshape(b, t, h, k)

        r = g(q)
        """,
        ["[b t h k]: value f(x) | value q.reshape(b, t, h, k)"],
    ),
    "a bare shape above statements that come to one value": (
        """
        # Shape (3, n, n): one matrix a direction
        zeros = f(n)
        half = g(n)
        both = concatenate([zeros, half])

        other = h(both)
        """,
        ["[3 n n]: value f(n) | value concatenate([zeros, half])"],
    ),
    "an arrow above two lines that do it together": (
        """
        # (b, t) -> (t, b)
        y = f(x)
        y = y.T
        z = g(y)
        return z
        """,
        ["[t b]: value f(x) | value g(y) | value y.T"],
    ),
    "a loop over what it calls": (
        """
        # (b, t) -> (b, d)
        for layer in layers:
            x = layer(x)

        for row in rows:  # (d,)
            x = f(row)
        """,
        ["[b d]: x after 3", "[d]: row body 6"],
    ),
    "a name that is bound again further down, in a loop too": (
        """
        # (b, t)
        y = f(x)
        for layer in layers:
            y = layer(y)
        z = g(y)
        """,
        ["[b t]: value f(x) | value g(y) | y after 4"],
    ),
    "several shapes above as many assignments": (
        """
        # (b, t), (b, t, d)
        y = f(x)
        z = g(x)

        # (b, t), (b, d)
        v = h(y, z)
        """,
        [
            "[b t] .0/2?: value f(x)",
            "[b t d] .1/2?: value g(x) | value f(x)",
            "[b t] .0/2: value h(y, z)",
            "[b d] .1/2: value h(y, z)",
        ],
    ),
    "the end of a branch, not the beginning of the other": (
        """
        if flag:
            y = f(x)
            z = g(y)
            # (b, t)
        else:
            y = h(x)
        """,
        ["[b t]: value g(y)"],
    ),
    "all the axes of another array": (
        """
        # (heads, bucket.shape)
        y = f(x)
        """,
        ["[heads ...]: value f(x)"],
    ),
    "several shapes right below the value that they describe": (
        """
        y = f(x)
        # (b, t), (b, d)

        z = g(y)
        """,
        ["[b t] .0/2: value f(x) | value g(y)", "[b d] .1/2: value f(x) | value g(y)"],
    ),
    "but not what has a shape of its own": (
        """
        # (b, t)
        y = f(x)
        y = g(y)  # (b, t, d)
        z = h(y)  # (b, d)
        """,
        ["[b t]: value f(x)", "[b t d]: value g(y)", "[b d]: value h(y)"],
    ),
    "nor what stands behind another comment": (
        """
        # (b, t)
        y = f(x)
        # Normalise.
        y = g(y)
        """,
        ["[b t]: value f(x)"],
    ),
    "below a comment that is prose": (
        """
        # Scores of all pairs.
        # (b, t, t)
        scores = f(q, k)
        """,
        ["[b t t]: value f(q, k)"],
    ),
    "an argument, not what else ends on its line": (
        """
        y = f(
            g(x),
            # (b, t)
            h(x), k(x)))
        """.replace(")))", "))"),
        ["[b t]: value h(x)"],
    ),
    "above a link of a chain, or an operand: that, or what it comes to": (
        """
        y = (
            f(x)
            # (b, t)
            .sum(0)[0].T
            .mean(1)
        )
        z = (
            a
            # (b, t)
            + f(b)
            + c
        )
        """,
        ["[b t]: value f(x)  .sum(0)[0].T", "[b t]: value f(b) | value a  + f(b)"],
    ),
    "above an entry: its value": (
        """
        out = {
            # (b, t)
            "mask": f(x),
            # (b, s)
            **g(x),
        }
        """,
        ["[b t]: value f(x)", "[b s]: value g(x)"],
    ),
    "the end of the branch, whatever follows further out": (
        """
        def f(x):
            if a:
                y = g(x)
                # (b, t)
            return y
        """,
        ["[b t]: value g(x)"],
    ),
    "of a paragraph that ends where a branch ends with a comment": (
        """
        # (b, t)
        y = f(x)
        if a:
            y = g(y)
            # Nothing more.
        y = h(y)
        """,
        ["[b t]: value f(x) | y after 4"],
    ),
    "nothing, if it is indented unlike what stands around it": (
        """
        def f(x):
            y = g(x)
        # (b, t)
            z = h(y)
        """,
        [],
    ),
}

NAMED = {
    "the target, as the lines below leave it": (
        """
        # y: (b, t)
        y = f(x)
        y = g(y)
        """,
        ["[b t]: value f(x) | value g(y)"],
    ),
    "the target itself": ("y = f(x)  # y: (b, t)", ["[b t]: value f(x)"]),
    "an entry in quotes, and no variable": ("y = f(x)  # 'x': [b, t]", ["[b t]: value f(x)"]),
    "another visible variable": (
        """
        def f(x):
            y = g(x)
            z = h(y)  # y: (b, t)
        """,
        ["[b t]: y after 4"],
    ),
    "a parameter, in a block under the header": (
        """
        def f(x, mask):
            # x: (b, t, d)
            # mask: (b, t)
            y = g(x, mask)
        """,
        ["[b t d]: param x", "[b t]: param mask"],
    ),
    "parameters above the function": (
        """
        # x: (b, t)
        def f(x):
            pass
        """,
        ["[b t]: param x"],
    ),
    "a variable that is assigned only later": (
        """
        def f(x):
            # scores: (b, t)
            y = g(x)
            scores = h(y)
        """,
        ["[b t]: scores after 5"],
    ),
    "an attribute of self": (
        """
        class A:
            def __init__(self, w):
                self.w = w

            def f(self, x):
                # self.w: (d, k)
                return x @ self.w
        """,
        ["[d k]: self.w before 8"],
    ),
    "a name that is an article elsewhere": (
        """
        def f(a, b):
            # a: (n,)
            # b: (m,)
            c = g(a, b)  # a (n,), b (m,)
            return c  # a (n, m) matrix
        """,
        ["[n]: param a", "[m]: param b", "[n]: a after 5", "[m]: b after 5", "[n m]: value c"],
    ),
    "several names": (
        """
        def f(q, k, v):
            # q, k, v: (b, t, d)
            y = g(q, k, v)
        """,
        ["[b t d]: param q", "[b t d]: param k", "[b t d]: param v"],
    ),
    "the shape attribute": (
        """
        def f(x):
            # x.shape = (b, t)
            y = g(x)
            return y  # x.shape: (b, t)
        """,
        ["[b t]: param x", "[b t]: param x"],
    ),
    "a sentence": (
        """
        def f(x):
            # `x` has shape (b, t) and holds the tokens.
            y = g(x)
        """,
        ["[b t]: param x"],
    ),
    "a condition": ("def f(x):\n    if x.any():  # x: (b, t)\n        pass", ["[b t]: param x"]),
    "the target, which may also be what goes in": (
        """
        def f(x):
            # x: (b, t)
            x = g(x)
        """,
        ["[b t]: value g(x) | param x"],
    ),
    "what a condition leaves, or finds": (
        """
        def f(x, first):
            for step in range(3):
                if first:  # x: (b, t)
                    x = g(x)
        """,
        ["[b t]: x after 4 | x before 4"],
    ),
    "a parameter called inputs": (
        """
        def f(inputs):
            # inputs: (b, t)
            y = g(inputs)
        """,
        ["[b t]: param inputs"],
    ),
    "elements of a tuple": (
        "q, (k, v) = f(x)  # q (b, t), k (b, s)",
        ["[b t]: q after 1", "[b s]: k after 1"],
    ),
}

TUPLES = {
    "element by element": ("q, k = f(x)  # (b, t), (b, s)", ["[b t]: q after 1", "[b s]: k after 1"]),
    "attributes and starred ones": (
        "self.q, k, *rest = f(x)  # (b, t), (b, s), (t,)",
        ["[b t]: self.q after 1", "[b s]: k after 1", "[t]: rest after 1"],
    ),
    "one shape for all": ("q, k = f(x)  # (b, t)", ["[b t] each: value f(x)"]),
    "one shape for what is not thrown away": (
        "_, y, _, z = f(x)  # (b, t)",
        ["[b t]: y after 1", "[b t]: z after 1"],
    ),
    "a count that does not fit": ("a, b, c = f(x)  # (n, m), (m,)", []),
    "a tuple in one variable": ("state = f(x)  # (b, t), (b, s)", ["[b t] .0/2: value f(x)", "[b s] .1/2: value f(x)"]),
    "of a loop": (
        """
        for q, k in pairs:  # (b, t), (b, s)
            pass
        """,
        ["[b t]: q body 2", "[b s]: k body 2"],
    ),
    "of what is returned": (
        """
        def f(x):
            return g(x), h(x)  # (b, t), (b,)
        """,
        ["[b t] .0/2: value g(x), h(x)", "[b] .1/2: value g(x), h(x)"],
    ),
}

BLOCKS = {
    "a line for each element": (
        """
        # (b, t)
        # (b, s)
        q, k = f(x)
        """,
        ["[b t]: q after 4", "[b s]: k after 4"],
    ),
    "a line for each name": (
        """
        # q: (b, t)
        # k: (b, s)
        q, k = f(x)
        """,
        ["[b t]: q after 4", "[b s]: k after 4"],
    ),
}

FIELDS = {
    "in a class body": (
        """
        class A(eqx.Module):
            w: Array  # (d, k)
            # (k,)
            b: Array
            scale = field(default=None)  # (k,)
            n: int = 3  # (b, t)
        """,
        ["[d k]: field w", "[k]: field b | field w", "[k]: field scale", "[b t]: field n"],
    ),
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(*example, id=f"{name} / {title}")
        for name, table in {
            "trailing": TRAILING,
            "headers": HEADERS,
            "own line": OWN_LINE,
            "named": NAMED,
            "tuples": TUPLES,
            "fields": FIELDS,
            "blocks": BLOCKS,
        }.items()
        for title, example in table.items()
    ],
)
def test_a_comment_describes(described, source, expected):
    assert described(source) == expected


FORMULA = """
def f(x, w):
    w = w + 1
    # {}: (m, m)
    wtw = w.T @ w
    return x @ wtw
"""


@pytest.mark.parametrize(
    ("lead", "places"),
    [
        ("w", "w before 5"),
        ("Shape of w", "w before 5"),
        ("w^T w shape", "value w.T @ w | value x @ wtw | value w + 1"),
        ("w.T @ w shape", "value w.T @ w | value x @ wtw | value w + 1"),
        ("w.T w shape", "value w.T @ w | value x @ wtw | value w + 1"),
    ],
)
def test_the_last_operand_of_a_formula_is_not_what_a_shape_is_of(described, lead, places) -> None:
    assert described(FORMULA.format(lead)) == [f"[m m]: {places}"]


def test_several_shapes_are_of_the_values_in_the_order_in_which_the_comment_names_them(read) -> None:
    text = (
        "def f(x, y, w):\n"
        "    # The key, value and query, respectively of shape\n"
        "    # [b, s, k], [b, s, v], and [b, t, k].\n"
        "    query_proj = g(x, w)\n"
        "    key_proj = g(y, w)\n"
        "    value_proj = g(y, w)\n"
    )
    named = {claim.text: claim.target for claim in read(text).claims}
    assert named == {"[b, s, k]": "key_proj", "[b, s, v]": "value_proj", "[b, t, k]": "query_proj"}
    unnamed = {claim.text: claim.target for claim in read(text.replace("key, value and query", "three")).claims}
    assert list(unnamed.values()) == ["query_proj", "key_proj", "value_proj"]


def test_a_comment_above_the_first_statement_says_what_the_function_returns(described) -> None:
    text = "def f(x):\n    # x: (b, t)\n    # returns: (b,)\n    y = x * 2\n{}    return y.sum(1)\n"
    assert described(text.format("")) == ["[b t]: param x", "[b]: return"]
    below = described(text.replace("    # returns: (b,)\n", "").format("    # returns: (b,)\n"))
    assert below == ["[b t]: param x", "[b]: value y.sum(1) | value x * 2"]
    pair = described(text.replace("(b,)", "(b,), (t,)").format(""))
    assert "[b]: return" not in pair
