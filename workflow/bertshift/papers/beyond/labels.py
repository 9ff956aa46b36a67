"""Labels that the figures and claims beyond the papers share."""

# Distances of hidden states.
STATES = {
    "rsa": "RSA",
    "svcca": "SVCCA",
    "pwcca": "PWCCA",
    "cka": "CKA",
    "procrustes": "Procrustes",
}
