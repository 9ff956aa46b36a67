import os
import re

# Names of variables of the environment that hold secrets.
SECRET = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY)$", re.IGNORECASE
)
# Shorter values are settings such as "true".
SHORTEST = 8
HIDDEN = "[hidden]"
PATTERNS = [
    (re.compile(r"\bhf_\w{16,}"), HIDDEN),  # the hub's tokens
    (re.compile(r"(\bBearer )[\w.~+/=-]{16,}", re.IGNORECASE), rf"\1{HIDDEN}"),
    (
        re.compile(r"(\bAuthorization\W+(?:Basic|token) )[\w.~+/=-]+", re.IGNORECASE),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(\w://)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    # The hub redirects to addresses with a signature.
    (re.compile(r"(https?://[^\s?'\"<>]+\?)[^\s'\"<>)]+", re.IGNORECASE), rf"\1{HIDDEN}"),
]


def redact(text: str) -> str:
    """Mask passwords and tokens in a text: those of the environment, and texts that look like
    one."""
    for name, value in os.environ.items():
        if SECRET.search(name) and len(value) >= SHORTEST:
            text = text.replace(value, HIDDEN)
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text
