"""From what a classifier says to how common the classes are, and how good it is."""

import numpy as np
from scipy.optimize import nnls

SUM_TO_ONE = 1e3  # how much heavier than a share's error is the error of their sum


def confusion(gold: np.ndarray, said: np.ndarray, classes: int) -> np.ndarray:
    """Count labels [n] against answers [n]: [classes, classes], rows the labels, columns what the
    classifier says."""
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (gold, said), 1)
    return counts


def f1(counts: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Compute F1 from confusion counts: of each class (NaN where it is neither label nor answer),
    their mean (macro), and their mean weighted by labels."""
    labels, answers, right = counts.sum(1), counts.sum(0), np.diag(counts)
    with np.errstate(invalid="ignore"):
        each = 2 * right / (labels + answers)
    return each, float(np.nanmean(each)), float(np.nansum(each * labels) / labels.sum())


def corrected(shares: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Estimate class shares [K] from those of a classifier's answers [K] and its confusion on
    labelled data [K, K].

    A classifier that answers j with probability C_ij where i is right gives the shares q = C'p
    when the classes have shares p. Inverting that is adjusted counting (Forman 2005; Saerens et
    al. 2002, section 2.2, who call it the method of the confusion matrix). C, of n labelled maps,
    is known to about 1/sqrt(n), and its inverse can turn that noise, in a class with few labels,
    into half of all maps. Hence the distribution p that minimises

        |C'p - q|^2 + |p - q|^2 / n

    by non-negative least squares: of those that explain the answers about as well, the one nearest
    to the answers; with many labels the inverse. It takes C to be the same wherever shares are
    estimated. A class without a label is taken to be absent.
    """
    labelled = np.flatnonzero(counts.sum(1))
    answers = counts[labelled] / counts[labelled].sum(1, keepdims=True)
    near = np.eye(len(labelled)) / np.sqrt(counts.sum())
    system = np.vstack([answers.T, near, np.full(len(labelled), SUM_TO_ONE)])
    found = np.zeros(len(shares))
    found[labelled], _ = nnls(
        system, np.concatenate([shares, near @ shares[labelled], [SUM_TO_ONE]])
    )
    return found / found.sum()
