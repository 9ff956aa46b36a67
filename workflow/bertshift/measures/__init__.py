"""The records of metrics of two models: what is known of each apart from how it is computed, in
the module of its name.

Rules, figures, the page and the plan are made from these records. No module imports a record by
its name: it is among the code of its metric's rule and of what is drawn from that metric, so an
edited record makes no other metric again.
"""
