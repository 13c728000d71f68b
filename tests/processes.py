"""Two processes of a distributed training. They are forks of the test process, which saves the imports."""

import os
import pickle

import torch.distributed
import torch.multiprocessing


def in_two_processes(function, folder, *arguments):
    """Calls `function(rank, *arguments)` in both processes of a group (gloo) and returns the two results."""
    folder.mkdir(exist_ok=True)
    torch.multiprocessing.start_processes(
        _run, args=(function, str(folder), arguments), nprocs=2, start_method="fork"
    )
    return [pickle.loads((folder / str(rank)).read_bytes()) for rank in (0, 1)]


def _run(rank, function, folder, arguments):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)  # a fork has none of the threads of its parent
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2
    )
    try:
        result = function(rank, *arguments)
        with open(os.path.join(folder, str(rank)), "wb") as file:
            pickle.dump(result, file)
        torch.distributed.barrier()
    finally:
        torch.distributed.destroy_process_group()
