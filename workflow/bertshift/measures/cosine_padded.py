from bertshift.measures.metric import Metric

# Its rows are of the metric `cosine`.
METRIC = Metric(reads="inputs", by_heads=True)
