from pathlib import Path

from bertshift.errors import UserError
from bertshift.models.loading import load_config


def check_shape(folder: Path, layers: int, heads: int) -> None:
    """Raise UserError if a checkpoint has other layers or heads than the configuration says of it."""
    config = load_config(folder)  # which knows what each family calls them
    real = config.num_hidden_layers, config.num_attention_heads
    if real != (layers, heads):
        raise UserError(
            f"{folder} has {real[0]} layers of {real[1]} heads, the configuration says {layers} of {heads}; "
            f"write layers: {real[0]} and heads: {real[1]} for it under bases."
        )
