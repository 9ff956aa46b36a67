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
    upper, found = np.triu_indices(len(x), 1), []
    for z in (exact(x), exact(y)):
        unit = z / np.sqrt((z**2).sum(axis=1, keepdims=True))
        distances = ((unit[:, None] - unit) ** 2).sum(axis=-1)[upper]
        found.append(distances - distances.mean())
    a, b = found
    return float(a @ b / np.sqrt(a @ a * (b @ b)))


def debiased_cka(x, y):
    """Song et al. 2012, from n x n kernels."""
    k, l = (z @ z.T for z in (centred(x), centred(y)))
    k, l = (one - np.diag(np.diag(one)) for one in (k, l))
    n = len(k)

    def hsic(a, b):
        means = a.sum() * b.sum() / ((n - 1) * (n - 2))
        return np.sum(a * b) + means - 2 * (a.sum(0) @ b.sum(0)) / np.longdouble(n - 2)

    return float(hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l)))


def biased_cka(x, y):
    k, l = (z @ z.T for z in (centred(x), centred(y)))
    return float(np.sum(k * l) / np.sqrt(np.sum(k**2) * np.sum(l**2)))


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
    sides, bases = [centred(z).astype(float) for z in (x, y)], []
    for z in sides:
        u, s, _ = np.linalg.svd(z, full_matrices=False)
        bases.append(u[:, : int(np.argmax(np.cumsum(s**2) / np.sum(s**2) >= share - 1e-12)) + 1])
    a, rho, b = np.linalg.svd(bases[0].T @ bases[1], full_matrices=False)
    return rho, (bases[0] @ a, bases[1] @ b.T), sides


def cca(x, y, share=0.99):
    return 1 - variates(x, y, share)[0].mean()


def google_mean(x, y):
    rho = variates(x, y, 0.99)[0]
    leading = next(i for i in range(1, len(rho) + 1) if rho[:i].sum() / rho.sum() >= 0.98)
    return 1 - rho[:leading].mean()


def pwcca(x, y, share, weighing):
    rho, both, sides = variates(x, y, share)
    alpha = np.abs(both[weighing].T @ sides[weighing]).sum(axis=1)
    return 1 - alpha @ rho / alpha.sum()


def cosine_of_maps(x, y):
    p, q = exact(x).ravel(), exact(y).ravel()
    return float(p @ q / np.sqrt(p @ p * (q @ q)))
