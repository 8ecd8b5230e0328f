"""Adds a number up over all processes, and prints it with the variables that torchrun has set."""

import os

import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
one = torch.ones(1)
torch.distributed.all_reduce(one)
print(os.environ["RANK"], int(one.item()), os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"], flush=True)
