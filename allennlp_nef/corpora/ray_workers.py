"""Tags shards in processes of Ray: on this machine, or on a cluster."""

import json
import logging
import os
import platform
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
from allennlp.common.plugins import import_plugins

from allennlp_nef.corpora.parts import Record, ShardTagger
from allennlp_nef.corpora.shards import Shard
from allennlp_nef.errors import UserError, needing, summary_of

_OBJECT_STORE = 100 * 2**20
"""Bytes of memory that processes share. What they send is small."""


class ShardWorker:
    """What `map_batches` calls: takes the number of a shard, writes its part, and gives the record as JSON.

    It works in the folder of the command, which every host has to have.
    """

    def __init__(self, folder: str, arguments: Mapping[str, Any], shards: Sequence[Shard]) -> None:
        self._folder = folder
        self._arguments = arguments
        self._shards = {shard.number: shard for shard in shards}
        self._tagger: ShardTagger | None = None

    def __call__(self, batch: dict[str, numpy.ndarray]) -> dict[str, list[str]]:
        (number,) = batch["shard"]
        try:
            if self._tagger is None:
                os.chdir(self._folder)
                import_plugins()
                self._tagger = ShardTagger(**self._arguments)
            record = self._tagger.tag(self._shards[int(number)])
        except UserError as error:
            record = {"mistake": str(error)}
        except OSError as error:
            got = f"{error.strerror or error!r} on {platform.node()}"
            record = {"mistake": f"{error.filename}: expected a file or folder, got {got}"}
        return {"record": [json.dumps(record)]}


@contextmanager
def ray_records(
    arguments: Mapping[str, Any],
    shards: Sequence[Shard],
    workers: int,
    threads: int,
    has_gpu: bool,
    address: str | None = None,
) -> Iterator[Iterator[Record]]:
    """The records of shards, each when it is done. Ray does a shard again whose process ends, such as with its host.

    # Parameters

    arguments : `Mapping[str, Any]`
        Those of the `ShardTagger`.
    shards : `Sequence[Shard]`
    workers : `int`
        How many processes tag.
    threads : `int`
        The CPUs that a process takes.
    has_gpu : `bool`
        Whether each process takes a GPU, too.
    address : `str`, optional (default = `None`)
        That of a cluster. Without it, Ray is started on this machine, and stopped at the end.

    # Raises

    `UserError`: Ray is not installed, no such cluster, a mistake that a process finds.
    """
    with needing("ray", "--workers"):
        import ray
        import ray.data
    _connect(address, workers * threads)
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        numbers = [{"shard": shard.number} for shard in shards]
        tagged = ray.data.from_items(numbers, override_num_blocks=len(numbers)).map_batches(
            ShardWorker,
            fn_constructor_args=(os.getcwd(), arguments, shards),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_cpus=threads,
            num_gpus=int(has_gpu),
        )
        yield map(_record_of, tagged.iter_rows())
    except ray.exceptions.RayTaskError:
        raise  # a bug, with its traceback
    except ray.exceptions.RayError as error:
        raise UserError(f"Ray: expected processes that work, got {summary_of(error)}") from error
    finally:
        ray.shutdown()


def _record_of(row: Mapping[str, str]) -> Record:
    record: Record = json.loads(row["record"])
    if "mistake" in record:
        raise UserError(record["mistake"])
    return record


def _connect(address: str | None, cpus: int) -> None:
    """Connects to a cluster, or starts one on this machine."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to the makers of Ray
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # errors come as exceptions
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        options.update(address="local", num_cpus=cpus, include_dashboard=False)
        options.update(object_store_memory=_OBJECT_STORE)
    else:
        options.update(address=address)
        _check_address(address)
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        name = "a cluster on this machine" if address is None else address
        raise UserError(
            f"--address: expected a cluster of Ray that answers, got {name} ({summary_of(error)})"
        ) from error


def _check_address(address: str) -> None:
    """Raises a `UserError` where nothing answers at a host and a port: Ray would try for many minutes."""
    host, _, port = address.rpartition("://")[2].partition(":")
    if not port:
        return  # such as "auto"
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError) as error:
        raise UserError(f"--address: expected a cluster of Ray, got {address} ({error})") from error
