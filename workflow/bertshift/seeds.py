from hashlib import blake2b


def seed_from(*parts: str | int) -> int:
    """Derive a seed in [0, 2**32) from names alone, never from the order in which jobs happen to
    run."""
    return int.from_bytes(
        blake2b("\x1f".join(map(str, parts)).encode(), digest_size=4).digest(), "big"
    )
