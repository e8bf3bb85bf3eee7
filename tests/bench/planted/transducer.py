"""RNN-T: recurrent encoder, prediction network, joint network and the lattice loss."""
from typing import Optional

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

NEG_INF = -1e30


class Recurrent(eqx.Module):
    cell: eqx.nn.GRUCell
    proj: eqx.nn.Linear
    hidden: int = eqx.field(static=True)

    def __init__(self, inp: int, hidden: int, out: int, *, key: PRNGKeyArray):
        k1, k2 = jax.random.split(key)
        self.hidden = hidden
        self.cell = eqx.nn.GRUCell(inp, hidden, key=k1)
        self.proj = eqx.nn.Linear(hidden, out, key=k2)

    def __call__(
        self, xs: Float[Array, "steps inp"], h0: Optional[Float[Array, " hidden"]] = None
    ) -> tuple[Float[Array, "steps out"], Float[Array, " hidden"]]:
        if h0 is None:
            h0 = jnp.zeros(self.hidden)

        def step(h: Float[Array, " hidden"], x: Float[Array, " inp"]):
            h = self.cell(x, h)
            return h, h

        last, hs = jax.lax.scan(step, h0, xs)
        return jax.vmap(self.proj)(hs), last


class Predictor(eqx.Module):
    table: Float[Array, "vocab emb"]
    rnn: Recurrent
    start: Float[Array, " emb"]

    def __init__(self, vocab: int, emb: int, hidden: int, joint: int, *, key: PRNGKeyArray):
        k1, k2 = jax.random.split(key)
        self.table = 0.1 * jax.random.normal(k1, (vocab, emb))
        self.rnn = Recurrent(emb, hidden, joint, key=k2)
        self.start = jnp.zeros(emb)

    def __call__(self, labels: Int[Array, " u"]) -> Float[Array, "u+1 joint"]:
        emb: Float[Array, "u emb"] = self.table[labels]
        inputs: Float[Array, "u+1 emb"] = jnp.concatenate([self.start[None, :], emb], axis=0)
        out, _ = self.rnn(inputs)
        return out


class Joint(eqx.Module):
    w: Float[Array, "joint vocab"]
    b: Float[Array, " vocab"]

    def __call__(self, enc: Float[Array, "t joint"], pred: Float[Array, "u1 joint"]) -> Float[Array, "t u1 vocab"]:
        h: Float[Array, "t u1 joint"] = jnp.tanh(enc[:, None, :] + pred[None, :, :])
        return jax.nn.log_softmax(h @ self.w + self.b, axis=-1)


class Transducer(eqx.Module):
    encoder: Recurrent
    predictor: Predictor
    joint: Joint

    def __init__(self, feat: int, vocab: int, emb: int, hidden: int, joint: int, *, key: PRNGKeyArray):
        ke, kp, kj = jax.random.split(key, 3)
        self.encoder = Recurrent(feat, hidden, joint, key=ke)
        self.predictor = Predictor(vocab, emb, hidden, joint, key=kp)
        self.joint = Joint(jax.random.normal(kj, (joint, vocab)) / jnp.sqrt(joint), jnp.zeros(vocab))

    def __call__(self, feats: Float[Array, "t feat"], labels: Int[Array, " u"]) -> Float[Array, "t u+1 vocab"]:
        enc, _ = self.encoder(feats)
        return self.joint(enc, self.predictor(labels))


def split_lattice(
    labels: Int[Array, " u"], logp: Float[Array, "t u+1 vocab"], blank: int
) -> tuple[Float[Array, "t u+1"], Float[Array, "t u"]]:
    """Log-probabilities of `blank` and of the next label at every node."""
    t = logp.shape[0]
    idx: Int[Array, "t u 1"] = jnp.broadcast_to(labels[None, :, None], (t, labels.shape[0], 1))
    emit: Float[Array, "t u 1"] = jnp.take_along_axis(logp[:, :-1, :], idx, axis=2)
    return logp[:, :, blank], emit[..., 0]


def forward_row(carry: Float[Array, " u1"], inp):
    blank_prev, emit = inp
    stay: Float[Array, " u1"] = carry + blank_prev

    def along(a: Float[Array, ""], pair):
        s, e = pair
        a = jnp.logaddexp(s, a + e)
        return a, a

    _, rest = jax.lax.scan(along, stay[0], (stay[1:], emit))
    row: Float[Array, " u1"] = jnp.concatenate([stay[:1], rest])
    return row, row


def lattice_alphas(emit: Float[Array, "t u"], blank: Float[Array, "t u+1"]) -> Float[Array, "t u+1"]:
    first: Float[Array, " u+1"] = jnp.concatenate([jnp.zeros(1), jnp.cumsum(emit[0])])
    _, rest = jax.lax.scan(forward_row, first, (blank[:-1], emit[1:]))
    return jnp.concatenate([first[None], rest], axis=0)


def transducer_loss(
    labels: Int[Array, " u"],
    logp: Float[Array, "t u+1 vocab"],
    t_len: Int[Array, ""],
    u_len: Int[Array, ""],
    blank: int = 0,
) -> Float[Array, ""]:
    blank_lp, emit_lp = split_lattice(labels, logp, blank)
    valid = jnp.arange(labels.shape[0]) < u_len  # (u,)
    emit_lp = jnp.where(valid[None, :], emit_lp, NEG_INF)  # (t, u)
    alpha: Float[Array, "t u+1"] = lattice_alphas(emit_lp, blank_lp)
    return -(alpha[t_len - 1, u_len] + blank_lp[t_len - 1, u_len])


def batch_loss(
    model: Transducer,
    feats: Float[Array, "b t feat"],
    labels: Int[Array, "b u"],
    t_len: Int[Array, " b"],
    u_len: Int[Array, " b"],
) -> Float[Array, ""]:
    logp: Float[Array, "b t u+1 vocab"] = jax.vmap(model)(feats, labels)
    losses: Float[Array, " b"] = jax.vmap(transducer_loss)(labels, logp, t_len, u_len)
    return jnp.mean(losses / jnp.maximum(u_len, 1))


@eqx.filter_jit
def train_step(model: Transducer, opt_state, batch, optim: optax.GradientTransformation):
    loss, grads = eqx.filter_value_and_grad(batch_loss)(model, *batch)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), opt_state, loss
