from hashlib import blake2b


def seed_from(*parts: str | int) -> int:
    """Derive a seed in [0, 2**32) from names alone, never from the order in which jobs happen to
    run."""
    name = "\x1f".join(map(str, parts))
    digest = blake2b(name.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big")
