"""Lengths of the vectors that a head moves to the queries that attend to a token (Kobayashi et al.
2020, section 2).

Head h moves alpha_ij f_j from token j to query i, with f_j = v_j W_O, v_j the head's value vector
and W_O the part of the output projection that reads the head. Its length is alpha_ij ||f_j||, as
no weight is negative: one length for each head and token. No d-wide vector is computed for each:
W_O' = Q R with orthonormal columns in Q, so that ||v W_O|| = ||R v||.
"""

import numpy as np
import torch

from bertshift.activations.rerun import Rerun
from bertshift.models.family import heads_of, output_columns

UNKNOWN = "the length of what a head hands over"


def value_norms(rerun: Rerun, layer: int, states: np.ndarray) -> np.ndarray:
    """Compute ||f_j|| [heads, N], float64, of every head and token. `layer`, counted from 1, reads
    `states` [N, d].

    UserError where the family's output projection is not known.
    """
    triangles = []
    for head in range(1, heads_of(rerun.model) + 1):
        columns = output_columns(rerun.model, layer, head, UNKNOWN).detach().double()
        triangles.append(torch.linalg.qr(columns, mode="r").R)
    triangles = torch.stack(triangles)
    norms = np.empty((len(triangles), len(states)))
    for run in rerun(layer, states, "values"):
        vectors = run.recorded["values"].double() @ triangles.mT
        lengths = vectors.norm(dim=-1)
        norms[:, run.positions] = lengths.transpose(0, 1).cpu()
    return norms
