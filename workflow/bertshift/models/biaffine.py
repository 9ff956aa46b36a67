"""The parser of Dozat & Manning 2017 on top of an encoder, which Merchant et al. 2020
fine-tune."""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertshift.models.family import needs_all_tokens, run
from bertshift.seeds import seed_from


class Biaffine(nn.Module):
    """Scores of arcs, d' W h + w' h, and of an arc's labels, d' W_r h + u_r' d + v_r' h + b_r; d
    dependent, h head.

    Four linear layers with LeakyReLU(0.1) compute d and h of arcs and of labels from the states of
    words; dropout drops the same features of all words of a sentence. The sizes are Dozat &
    Manning's for every width: a head that grew with the encoder would influence comparisons of
    encoders. All weights are drawn by Glorot & Bengio 2010; zeros, from which parsers with a
    higher learning rate start, would hardly move at BERT's. Orthogonal layers would need a QR
    decomposition, whose last bits, and so the digest of a run's start, differ between machines.
    """

    def __init__(
        self,
        width: int,
        labels: int,
        seed: int,
        arc: int = 500,
        label: int = 100,
        dropout: float = 0.33,
    ):
        super().__init__()
        self.dropout = dropout
        self.arc_dependent = nn.Linear(width, arc)
        self.arc_head = nn.Linear(width, arc)
        self.label_dependent = nn.Linear(width, label)
        self.label_head = nn.Linear(width, label)
        # The last row, and column, has the terms without d, and without h.
        self.arc_weight = nn.Parameter(torch.empty(arc + 1, arc))
        self.label_weight = nn.Parameter(torch.empty(labels, label + 1, label + 1))
        for name, parameter in self.named_parameters():
            generator = torch.Generator().manual_seed(seed_from(seed, "head", name))
            for matrix in parameter if parameter.dim() == 3 else [parameter]:
                if matrix.dim() == 2:
                    nn.init.xavier_uniform_(matrix, generator=generator)
                else:
                    nn.init.zeros_(matrix)

    def arc_scores(self, states: Tensor, real: Tensor) -> Tensor:
        """Score every word as the head of every other: [sentences, dependents, heads] float32.

        states: [sentences, words, width]
        real: [sentences, words]; a word that is not real gets the lowest number there is as a head
        """
        dependents = _append_one(self._compute_features(self.arc_dependent, states))
        heads = self._compute_features(self.arc_head, states)
        scores = (dependents @ self.arc_weight @ heads.mT).float()
        return scores.masked_fill(~real[:, None], torch.finfo(scores.dtype).min)

    def label_scores(self, states: Tensor, heads: Tensor) -> Tensor:
        """Score the labels of each word's arc from the head that `heads` [sentences, words] gives
        it: [sentences, words, labels] float32."""
        dependents = _append_one(self._compute_features(self.label_dependent, states))
        features = _append_one(self._compute_features(self.label_head, states))
        weighted = torch.einsum("bni,rij->bnrj", dependents, self.label_weight)
        head_features = states_at(features, heads)
        return (weighted @ head_features[..., None]).squeeze(-1).float()

    def _compute_features(self, layer: nn.Linear, states: Tensor) -> Tensor:
        features = F.leaky_relu(layer(states), 0.1)
        ones = features.new_ones(len(features), 1, features.shape[-1])
        return features * F.dropout(ones, self.dropout, self.training)


class DependencyParser(nn.Module):
    """`labels` are the names of the relations, in the order of the label scores."""

    def __init__(self, encoder: PreTrainedModel, labels: Sequence[str], seed: int = 0):
        super().__init__()
        needs_all_tokens(encoder, "parsing")
        self.encoder = encoder
        self.labels = tuple(labels)
        self.head = Biaffine(encoder.config.hidden_size, len(self.labels), seed)

    @classmethod
    def rebuilt(cls, encoder: PreTrainedModel, head: Mapping[str, Tensor]) -> "DependencyParser":
        return cls(encoder, encoder.config.labels)

    @property
    def outputs(self) -> str:
        width = self.head.arc_head.in_features
        return f"{len(self.labels)} labels ({', '.join(self.labels)}) of width {width}"

    def forward(self, first: Tensor, **inputs: Tensor | None) -> Tensor:
        """Compute the last layer's states [sentences, words, width] for the head to score.

        `first` [sentences, words] has the position of each word's first token. It is negative for
        padding, and 0, the token before the text, for the root before every sentence.
        """
        states = run(self.encoder, **inputs).last_hidden_state
        return states_at(states, first.clamp(min=0))


def states_at(states: Tensor, positions: Tensor) -> Tensor:
    width = states.shape[-1]
    return states.gather(1, positions[..., None].expand(-1, -1, width))


def _append_one(features: Tensor) -> Tensor:
    return F.pad(features, (0, 1), value=1.0)
