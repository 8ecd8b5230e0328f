"""Boosted trees over the data of all workers. Worker 0 also runs the tracker."""

import os

import numpy
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker

uri, port, task, workers = (os.environ[f"DMLC_{name}"] for name in ("TRACKER_URI", "TRACKER_PORT", "TASK_ID", "NUM_WORKER"))
tracker = RabitTracker(n_workers=int(workers), host_ip="0.0.0.0", port=int(port)) if task == "0" else None
if tracker:
    tracker.start()
with collective.CommunicatorContext(dmlc_tracker_uri=uri, dmlc_tracker_port=int(port), dmlc_task_id=task):
    rank = collective.get_rank()
    random = numpy.random.default_rng(rank)
    data = random.random((300, 3))
    measured = {}
    xgboost.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, (matrix := xgboost.DMatrix(data, data[:, 0] > 0.5)), 4,
                  evals=[(matrix, "train")], evals_result=measured, verbose_eval=False)
    losses = measured["train"]["logloss"]
    assert losses[-1] < losses[0]
    print(f"worker {rank} of {collective.get_world_size()}: the loss fell", flush=True)
if tracker:
    tracker.wait_for()
