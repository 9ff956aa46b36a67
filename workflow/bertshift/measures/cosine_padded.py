from bertshift.measures import Metric

# Its rows are of the metric `cosine`.
METRIC = Metric(reads="inputs", by_heads=True)
