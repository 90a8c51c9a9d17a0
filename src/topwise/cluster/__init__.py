"""Training on a cluster: the second stage of `MaxMF(stages=2)` on Ray, which is an extra of the package.

model = tw.MaxMF(tastes=5, stages=2).fit(train, cluster="auto", parts="/shared/run-1")
"""

from topwise.cluster.on_ray import check_available, fit_tastes

__all__ = ["check_available", "fit_tastes"]
