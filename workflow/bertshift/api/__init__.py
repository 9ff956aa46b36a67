"""The measures as a library: `import bertshift`, then `bertshift.compare(...)`. Where each name of
it stands."""

PLACES = {
    "compare": "bertshift.api.comparing",
    "Change": "bertshift.api.change",
    **dict.fromkeys(("rsa", "svcca", "cka", "js", "cosine"), "bertshift.api.arrays"),
    "UserError": "bertshift.errors",
    "__version__": "bertshift.version",
}
