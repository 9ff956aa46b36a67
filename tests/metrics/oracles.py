"""Measures by their definitions, from whole n x d and n x n matrices in extended precision where
that is possible."""

import numpy as np
from scipy.linalg import orthogonal_procrustes


def exact(x):
    """x in extended precision, divided by its largest magnitude."""
    return x.astype(np.longdouble) / np.abs(x).max()


def centred(x):
    z = exact(x)
    return z - z.mean(axis=0)


def pearson_of_distances(x, y):
    """RSA from the squared distances of unit rows, 2 - 2 cos, one for each pair."""
    upper = np.triu_indices(len(x), 1)

    def distances(z):
        unit = z / np.sqrt((z**2).sum(axis=1, keepdims=True))
        values = ((unit[:, None] - unit) ** 2).sum(axis=-1)[upper]
        return values - values.mean()

    return cosine_of_maps(distances(exact(x)), distances(exact(y)))


def debiased_cka(x, y):
    """Song et al. 2012, from n x n kernels."""
    n = len(x)
    k, l = (z @ z.T * (1 - np.eye(n)) for z in (centred(x), centred(y)))

    def hsic(a, b):
        means = a.sum() * b.sum() / ((n - 1) * (n - 2))
        return np.sum(a * b) + means - 2 * (a.sum(0) @ b.sum(0)) / np.longdouble(n - 2)

    return float(hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l)))


def biased_cka(x, y):
    return cosine_of_maps(*(z @ z.T for z in (centred(x), centred(y))))


def procrustes(x, y):
    """Half of what the best rotation leaves; narrower states have zeros for the other
    dimensions."""
    x, y = (centred(z).astype(float) for z in (x, y))
    y = np.hstack([y, np.zeros((len(y), x.shape[1] - y.shape[1]))])
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return np.linalg.norm(x - y @ orthogonal_procrustes(y, x)[0]) ** 2 / 2


def variates(x, y, share):
    """(correlations, canonical variates [n, c] of each side, the sides centred), by decompositions
    of n x d matrices."""

    def directions(z):
        u, s, _ = np.linalg.svd(z, full_matrices=False)
        return u[:, : np.argmax(np.cumsum(s**2) / np.sum(s**2) >= share - 1e-12) + 1]

    x, y = (centred(z).astype(float) for z in (x, y))
    u, v = directions(x), directions(y)
    a, rho, b = np.linalg.svd(u.T @ v, full_matrices=False)
    return rho, (u @ a, v @ b.T), (x, y)


def cca(x, y, share=0.99):
    return 1 - variates(x, y, share)[0].mean()


def google_mean(x, y):
    rho = variates(x, y, 0.99)[0]
    leading = next(i for i in range(1, len(rho) + 1) if rho[:i].sum() / rho.sum() >= 0.98)
    return 1 - rho[:leading].mean()


def pwcca(x, y, share, weighing):
    rho, both_variates, sides = variates(x, y, share)
    alpha = np.abs(both_variates[weighing].T @ sides[weighing]).sum(axis=1)
    return 1 - alpha @ rho / alpha.sum()


def cosine_of_maps(x, y):
    p, q = exact(x).ravel(), exact(y).ravel()
    return float(p @ q / np.sqrt(p @ p * (q @ q)))
