"""Estimates of the shares of classes from a classifier's answers, and its quality."""

import numpy as np
from scipy.optimize import nnls

SUM_TO_ONE = 1e3  # weight of the error of the shares' sum, where the error of a share weighs 1


def confusion(gold: np.ndarray, answers: np.ndarray, classes: int) -> np.ndarray:
    """Count labels [n] against a classifier's answers [n]: [classes, classes], rows the labels,
    columns the answers."""
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (gold, answers), 1)
    return counts


def f1(counts: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Compute F1 from confusion counts: of each class (NaN where it is neither label nor answer),
    their mean (macro), and their mean weighted by labels."""
    labels = counts.sum(1)
    answers = counts.sum(0)
    right = np.diag(counts)
    with np.errstate(invalid="ignore"):
        scores = 2 * right / (labels + answers)
    weighted = np.nansum(scores * labels) / labels.sum()
    return scores, float(np.nanmean(scores)), float(weighted)


def corrected(shares: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Estimate class shares [K] from those of a classifier's answers [K] and its confusion on
    labelled data [K, K].

    A classifier that answers j with probability C_ij where i is right gives the shares q = C'p
    when the classes have shares p. Inverting that is adjusted counting (Forman 2005; Saerens et
    al. 2002, section 2.2, who call it the method of the confusion matrix). C, of n labelled maps,
    is known to about 1/sqrt(n), and its inverse can turn that noise, in a class with few labels,
    into half of all maps. Hence the distribution p that minimises

        |C'p - q|^2 + |p - q|^2 / n

    by non-negative least squares: among distributions that explain the answers about as well, the
    one nearest to the answers; with many labels the inverse. It takes C to be the same wherever
    shares are estimated. A class without a label is taken to be absent.
    """
    labelled = np.flatnonzero(counts.sum(1))
    answers = counts[labelled] / counts[labelled].sum(1, keepdims=True)
    nearness = np.eye(len(labelled)) / np.sqrt(counts.sum())
    system = np.vstack([answers.T, nearness, np.full(len(labelled), SUM_TO_ONE)])
    target = np.concatenate([shares, nearness @ shares[labelled], [SUM_TO_ONE]])
    estimate = np.zeros(len(shares))
    estimate[labelled], _ = nnls(system, target)
    return estimate / estimate.sum()
