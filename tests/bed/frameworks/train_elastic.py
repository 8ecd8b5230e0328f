"""Trains elastically until the file `stop` exists: each step adds up the ones of all processes. Appends the number of processes to the
file `sizes` when they have found each other. A process whose peer is gone fails, and torchrun starts it again."""

import datetime
import os
import pathlib
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
if dist.get_rank() == 0:
    with open("sizes", "a", encoding="utf-8") as file:
        print(dist.get_world_size(), file=file)
while True:
    # Rank 0 decides, so that all end with the same step.
    ends = torch.tensor([float(dist.get_rank() == 0 and pathlib.Path("stop").exists())])
    dist.all_reduce(ends)
    if ends.item():
        break
    time.sleep(0.05)
dist.barrier()
print("done", os.environ["GROUP_WORLD_SIZE"], flush=True)
