"""Names of what attention maps are sorted by, without the libraries that do it."""

CLASSES = ("vertical", "diagonal", "vertical_diagonal", "block", "heterogeneous")
FEATURES = ("v", "d", "b")
# Which map of which model a number of the sheet stands for.
PLACE = ["model", "init", "seed", "example", "layer", "head"]
SOURCES = PROPOSED, PERSON = "proposed", "person"
