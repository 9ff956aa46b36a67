"""No paper states anything of these figures, so nothing is decided."""

from bertshift.verdicts.deciding import Claims

CLAIMS = Claims("beyond")
