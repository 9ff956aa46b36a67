"""Control tasks (Hewitt and Liang 2019, section 2): labels that only memory of the words can get
right."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bertshift.probes.spans import Sentence
from bertshift.seeds import seed_from


def control_labels(
    phrases: Sequence[tuple[Sentence, ...]], train_labels: np.ndarray, task: str, seed: int
) -> np.ndarray:
    """Draw for each target a label set, [T, C] bool, that depends on the words of its spans,
    `task` and `seed` alone.

    Label sets are drawn with their frequencies in training. Case is ignored, because an uncased
    encoder cannot see it.

    phrases: [T], the words of a target's spans
    train_labels: [T', C], the task's own labels in training
    """
    counts = Counter(map(bytes, train_labels))
    label_sets = sorted(counts)
    bounds = np.cumsum([counts[labels] for labels in label_sets]) / len(train_labels)
    drawn = {}
    for phrase in phrases:
        if phrase not in drawn:
            words = (" ".join(span).casefold() for span in phrase)
            share = seed_from("control task", task, seed, *words) / 2**32
            drawn[phrase] = label_sets[np.searchsorted(bounds, share, side="right")]
    flat = b"".join(drawn[phrase] for phrase in phrases)
    return np.frombuffer(flat, bool).reshape(len(phrases), -1)
