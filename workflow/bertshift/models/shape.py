from pathlib import Path

from bertshift.models.loading import load_config
from bertshift.models.published import same_shape


def check_shape(folder: Path, layers: int, heads: int) -> None:
    """Raise UserError if a checkpoint has other layers or heads than the configuration says of
    it."""
    config = load_config(folder)  # which knows what each family calls them
    real = {"layers": config.num_hidden_layers, "heads": config.num_attention_heads}
    same_shape(folder, real, {"layers": layers, "heads": heads})
