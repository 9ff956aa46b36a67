"""What fine-tuning changes in BERT: measures of two models. `bertshift.api` lists what to call;
nothing is imported before."""


def __getattr__(name: str):
    # The list is in a module of its own, as the digest of every job's code includes this file.
    from importlib import import_module

    places = import_module("bertshift.api").PLACES
    if name not in places:
        raise AttributeError(f"bertshift has no {name}; it has {', '.join(places)}")
    return getattr(import_module(places[name]), name)


def __dir__() -> list[str]:
    from importlib import import_module

    return [*globals(), *import_module("bertshift.api").PLACES]
