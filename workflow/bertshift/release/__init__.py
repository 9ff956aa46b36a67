"""Archives of finished runs: writing, verifying, redrawing and comparing them."""

import os

# Before matplotlib is imported, as it looks once: a notebook's shell names a backend that may not
# be installed.
os.environ["MPLBACKEND"] = "agg"
