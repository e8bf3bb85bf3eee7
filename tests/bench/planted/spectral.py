"""Small unsupervised toolbox: PCA, k-means(++) and spectral clustering.

All functions are pure and jit-friendly; the fitted objects are NamedTuples.
"""
from functools import partial
from typing import NamedTuple, Optional

import jax
import jax.numpy as jnp


class PCA(NamedTuple):
    mean: jax.Array  # (d,)
    components: jax.Array  # (k, d), rows are orthonormal
    explained: jax.Array  # (k,)


class KMeans(NamedTuple):
    centers: jax.Array  # (k, d)
    labels: jax.Array  # (n,)
    inertia: jax.Array  # scalar


def pca_fit(x, k):
    """Principal components through the SVD of the centred data.

    Parameters
    ----------
    x : array (n, d)
        One observation per row.
    k : int
        How many components to keep (k <= min(n, d)).
    """
    mean = jnp.mean(x, axis=0)  # (d,)
    xc = x - mean  # (n, d)
    _, s, vt = jnp.linalg.svd(xc, full_matrices=False)
    var = s**2 / (x.shape[0] - 1)
    return PCA(mean=mean, components=vt[:k], explained=var[:k])


def pca_transform(pca, x):
    """Scores of `x`, an (n, k) array."""
    return (x - pca.mean) @ pca.components.T


def pca_inverse(pca, z):
    return z @ pca.components + pca.mean


def reconstruction_error(pca, x):
    """Squared error of each observation after a round trip, (n,)."""
    back = pca_inverse(pca, pca_transform(pca, x))
    return jnp.sum((x - back) ** 2, axis=1)


def pairwise_sq_dists(a, b):
    """Squared Euclidean distances.

    Parameters
    ----------
    a : (n, d)
    b : (m, d)

    Returns
    -------
    (n, m) array, never negative
    """
    a2 = jnp.sum(a * a, axis=1)[:, None]  # (n, 1)
    b2 = jnp.sum(b * b, axis=1)[None, :]  # (1, m)
    cross = a @ b.T  # (n, m)
    return jnp.maximum(a2 + b2 - 2 * cross, 0.0)


def kmeans_plus_plus(key, x, k):
    """Seeding of Arthur & Vassilvitskii; returns (k, d) centres."""
    n = x.shape[0]
    key, sub = jax.random.split(key)
    first = jax.random.randint(sub, (), 0, n)
    centers = [x[first]]
    closest = jnp.sum((x - centers[0]) ** 2, axis=-1)  # (n,)
    for _ in range(1, k):
        key, sub = jax.random.split(key)
        idx = jax.random.categorical(sub, jnp.log(closest + 1e-12))
        centers.append(x[idx])
        closest = jnp.minimum(closest, jnp.sum((x - x[idx]) ** 2, axis=-1))
    return jnp.stack(centers, axis=0)


@partial(jax.jit, static_argnames=("n_iter",))
def lloyd(x, centers, n_iter=25):
    k = centers.shape[0]

    def step(centers, _):
        d2 = pairwise_sq_dists(x, centers)  # (n, k)
        assign = jax.nn.one_hot(jnp.argmin(d2, axis=1), k)  # (n, k)
        counts = assign.sum(axis=0)  # (k,)
        sums = jnp.einsum("nk,nd->kd", assign, x)
        new = sums / jnp.maximum(counts, 1.0)[:, None]  # (k, d)
        new = jnp.where(counts[:, None] > 0, new, centers)  # empty clusters stay put
        return new, jnp.min(d2, axis=1).sum()

    centers, history = jax.lax.scan(step, centers, None, length=n_iter)
    d2 = pairwise_sq_dists(x, centers)
    labels = jnp.argmin(d2, axis=1)
    return KMeans(centers, labels, jnp.min(d2, axis=1).sum()), history


def kmeans(key, x, k, n_init=3, n_iter=25):
    """Best of `n_init` runs."""
    best = None
    for sub in jax.random.split(key, n_init):
        fit, _ = lloyd(x, kmeans_plus_plus(sub, x, k), n_iter)
        if best is None or fit.inertia < best.inertia:
            best = fit
    return best


def affinity(x, gamma: Optional[float] = None, n_neighbors: Optional[int] = None):
    """Gaussian affinity, optionally restricted to a symmetric k-nn graph.

    Returns an (n, n) matrix with zero diagonal.
    """
    n = x.shape[0]
    d2 = pairwise_sq_dists(x, x)
    if gamma is None:
        gamma = 1.0 / jnp.median(d2)
    w = jnp.exp(-gamma * d2) * (1.0 - jnp.eye(n))
    if n_neighbors is None:
        return w
    kth = jnp.sort(w, axis=1)[:, n - n_neighbors]  # (n,)
    keep = w >= kth[:, None]  # (n, n)
    return jnp.where(keep | keep.T, w, 0.0)


def normalized_laplacian(w):
    deg = w.sum(axis=1)  # (n,)
    inv = jnp.where(deg > 0, 1.0 / jnp.sqrt(jnp.maximum(deg, 1e-12)), 0.0)
    return jnp.eye(w.shape[0]) - inv[:, None] * w * inv[None, :]


def spectral_embedding(w, k):
    """First k eigenvectors of the normalised Laplacian.

    Parameters
    ----------
    w : (n, n) affinity
    k : int

    Returns
    -------
    embedding : (n, k) array
        Row-normalised.
    values : (k,) array
    """
    values, vectors = jnp.linalg.eigh(normalized_laplacian(w))
    u = vectors[:, :k]  # (n, k)
    u = u / jnp.maximum(jnp.linalg.norm(u, axis=1, keepdims=True), 1e-9)
    return u, values[:k]


def spectral_clustering(key, x, k, **kw):
    """Ng-Jordan-Weiss; labels have shape (n,)."""
    emb, _ = spectral_embedding(affinity(x, **kw), k)
    return kmeans(key, emb, k).labels


def silhouette(x, labels, k):
    """Silhouette coefficient of every sample, shape (n,)."""
    dist = jnp.sqrt(pairwise_sq_dists(x, x) + 1e-12)
    onehot = jax.nn.one_hot(labels, k)  # (n, k)
    sums = dist @ onehot  # (n, k)
    sizes = onehot.sum(axis=0)  # (k,)
    own = jnp.take_along_axis(sums, labels[:, None], axis=1)[:, 0]
    a = own / jnp.maximum(sizes[labels] - 1, 1)  # (n,)
    other = jnp.where(onehot > 0, jnp.inf, sums / jnp.maximum(sizes, 1))
    b = other.min(axis=1)  # (n,)
    return (b - a) / jnp.maximum(a, b)
