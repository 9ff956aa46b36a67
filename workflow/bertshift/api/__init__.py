"""The measures as a library: `import bertshift`, then `bertshift.compare(...)`. PLACES has the
module of each public name."""

PLACES = {
    "compare": "bertshift.api.comparing",
    "Change": "bertshift.api.change",
    "along": "bertshift.api.along",
    "Watch": "bertshift.api.watch",
    "weights": "bertshift.api.weights",
    **dict.fromkeys(("rsa", "svcca", "cka", "js", "cosine"), "bertshift.api.arrays"),
    "UserError": "bertshift.errors",
    "__version__": "bertshift.version",
}
