"""A linear model learns y = 3x, by PyTorch on all ranks."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
print(f"rank {rank} of {size} on {os.uname().nodename}", flush=True)
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
first = last = None
for step in range(30):
    x = torch.rand(64, 1)
    loss = ((model(x) - 3 * x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    last = total.item() / size
    first = first or last
    if rank == 0 and step in (0, 4, 9, 19, 29):
        print(f"step {step} loss {last:.4f}", flush=True)
assert last < first / 2
print(f"rank {rank}: the loss fell", flush=True)
