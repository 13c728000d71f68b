"""A program of AllenNLP that is killed: `python killed_program.py EVENT PROGRAM ARGUMENTS...`.

PROGRAM is `allennlp` or `allennlp-nef`. Before the first event that matches EVENT, a regular expression, its process
gets SIGKILL; in a distributed training one of the processes does. With `term:EVENT` the program gets SIGTERM, and with
`full:EVENT` there is no room for the file. The events:

    forward NUMBER                   a forward pass of the model
    save FILE                        half of a file of torch.save is written
    replace FILE, remove FILE
    archive FILE                     a part of the archive
"""

import os
import re
import resource
import runpy
import signal
import sys
import tarfile
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import count

import allennlp.commands
import torch
from allennlp.commands import train
from allennlp.common import plugins

from allennlp_nef.models import NefTagger


def main(event, program, *arguments):
    # This process has imported all, and those of a distributed training are its forks.
    for module in (allennlp.commands, train, plugins):
        module.import_plugins = lambda: None
    train.mp.spawn = partial(torch.multiprocessing.start_processes, start_method="fork")
    install(*event.rpartition(":")[::2])
    sys.argv = [program, *arguments]
    if program == "allennlp":
        runpy.run_module("allennlp", run_name="__main__", alter_sys=True)
    else:
        from allennlp_nef_console import main

        sys.exit(main())


def install(kind, event):
    program = os.getpid()

    def happens(name):
        if not re.fullmatch(event, name):
            return
        if kind == "term":
            os.kill(program, signal.SIGTERM)
        else:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(owner, name, event_of):
        original = getattr(owner, name)

        def call(*arguments, **options):
            happens(event_of(*arguments))
            return original(*arguments, **options)

        setattr(owner, name, call)

    passes = count(1)
    before(os, "replace", lambda old, new: f"replace {name_of(new)}")
    before(os, "remove", lambda path: f"remove {name_of(path)}")
    before(NefTagger, "forward", lambda *_: f"forward {next(passes)}")
    before(tarfile.TarFile, "add", lambda archive, path, *_: f"archive {name_of(path)}")
    save = torch.save

    def save_half(state, file, **options):
        name = f"save {name_of(getattr(file, 'name', ''))}"
        is_event = re.fullmatch(event, name)
        with small_files() if is_event and kind == "full" else nullcontext():
            save(state, file, **options)
        if is_event and not kind:
            file.truncate(file.tell() // 2)
            happens(name)

    torch.save = save_half


@contextmanager
def small_files():
    """A file has room for 1,000 bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def name_of(path):
    """Without the ending of files that are being written."""
    return re.sub(r"\.\w+\.tmp$", "", os.path.basename(str(path)))


if __name__ == "__main__":
    main(*sys.argv[1:])
