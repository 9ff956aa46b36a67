"""Names of the classes and features of attention maps, in a module that imports no library."""

CLASSES = ("vertical", "diagonal", "vertical_diagonal", "block", "heterogeneous")
FEATURES = ("v", "d", "b")
# The columns that identify the map behind a number of the sheet.
PLACE = ["model", "init", "seed", "example", "layer", "head"]
SOURCES = PROPOSED, PERSON = "proposed", "person"
