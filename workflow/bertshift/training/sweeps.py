from collections.abc import Callable, Iterable
from pathlib import Path

from bertshift.models.loading import WEIGHTS


def sweep(names: Iterable[str], finetune: Callable[[str, Path], dict], folder: Path) -> dict[str, dict]:
    """Fine-tune one variant after the other, each in `folder`/<name>, and return the scores by name.

    What an earlier, interrupted call finished is kept; of a finished run all but the weights stays on disk, as a row of
    Merchant et al. 2020, Figure 3, would otherwise hold thirteen copies of BERT.
    """
    scores = {}
    for name in names:
        run = Path(folder) / name
        scores[name] = finetune(name, run)
        (run / WEIGHTS).unlink(missing_ok=True)
    return scores
