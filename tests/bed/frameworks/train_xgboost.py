"""Starts XGBoost's tracker in task 0, and joins it. Prints its rank and the number of processes that have joined."""

import os

import numpy
from xgboost import collective
from xgboost.tracker import RabitTracker

task, uri, port = os.environ["DMLC_TASK_ID"], os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"])
if task == "0":
    tracker = RabitTracker(n_workers=int(os.environ["DMLC_NUM_WORKER"]), host_ip=uri, port=port, sortby="task")
    tracker.start()
with collective.CommunicatorContext(dmlc_tracker_uri=uri, dmlc_tracker_port=port, dmlc_task_id=task):
    answered = collective.allreduce(numpy.ones(1), collective.Op.SUM)
    print(collective.get_rank(), collective.get_world_size(), int(answered[0]), flush=True)
if task == "0":
    tracker.wait_for()
