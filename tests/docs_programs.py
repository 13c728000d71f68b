"""Programs of Python that start at once, for the many commands of the documentation.

Importing torch and AllenNLP takes seconds. Here one process does it, and each program is a fork of it. `programs`
starts the process and writes the programs `allennlp-nef`, `allennlp` and `python` into a folder for the PATH. They pass
their arguments, folder, environment and standard streams on, and end as their forks do.
"""

import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("allennlp-nef", "allennlp", "python")
PRELOADED = (
    *("allennlp.commands", "allennlp_nef", "allennlp_nef.calibration.fitting"),
    *("allennlp_nef.cli.allennlp_program", "allennlp_nef.predictors.archives"),
    *("matplotlib.pyplot", "sklearn.manifold", "torch._dynamo"),
)
ENVIRONMENT = {
    "PYTHONIOENCODING": "utf-8",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "TQDM_DISABLE": "1",  # no progress bars
    "PYTHONWARNINGS": "ignore:resource_tracker",  # Python 3.14: of a fork that ends at once
}
PROGRAM = """#!/bin/sh
exec '{python}' -ES '{folder}/client.py' {name} "$@"
"""
CONSOLE_SCRIPT = """import sys
from allennlp_nef_console import main
if __name__ == "__main__":
    sys.exit(main())
"""
CLIENT = """import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = [*sys.argv[1:2], sys.argv[2:], os.getcwd(), dict(os.environ)]
    socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
    sys.exit(int(server.recv(9) or b"1"))
"""


@contextlib.contextmanager
def programs(folder):
    """The folder of the programs."""
    address = str(folder / "socket")
    for name in NAMES:
        text = PROGRAM.format(python=sys.executable, folder=folder, name=name)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder / "client.py").write_text(CLIENT.format(address=address), encoding="utf-8")
    (folder / "allennlp_nef.py").write_text(CONSOLE_SCRIPT, encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, __file__, address], env=environment)
    try:
        end = time.monotonic() + 120
        while not os.path.exists(address):
            assert process.poll() is None and time.monotonic() < end, "no programs"
            time.sleep(0.05)
        yield folder
    finally:
        process.kill()
        process.wait()


def serve(address):
    """Forks for each connection, until it is killed."""
    for name in PRELOADED:
        importlib.import_module(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address + ".new")
    listener.listen()
    os.rename(address + ".new", address)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(connection)
        connection.close()


def answer(connection):
    """Runs one program, sends its exit status, and ends. The program is killed if who asked for it is."""
    request, streams, *_ = socket.recv_fds(connection, 2**20, 3)
    child = os.fork()
    if child == 0:
        connection.close()
        run(streams, *json.loads(request))
    ready, _, _ = select.select([connection, os.pidfd_open(child)], [], [])
    if connection in ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def run(streams, name, arguments, folder, environment):
    """The program: never returns."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    status = 0
    try:
        if name == "allennlp-nef":
            run_file(str(Path(sys.argv[1]).with_name("allennlp_nef.py")), arguments)
        elif name == "allennlp":
            run_module("allennlp", arguments)
        elif arguments[:1] == ["-m"]:
            run_module(arguments[1], arguments[2:])
        elif arguments:
            run_file(arguments[0], arguments[1:])
        else:
            run_blocks()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001  # what a program does last
        sys.excepthook(*sys.exc_info())
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError):  # the program has closed it
            stream.flush()
    os._exit(status % 256)


def run_file(path, arguments):
    sys.argv = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


def run_module(name, arguments):
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def run_blocks():
    """Runs the blocks of code that are on stdin, a JSON string a line. A null character ends the output of each."""
    names = {"__name__": "__main__"}
    sys.path.insert(0, "")
    for line in sys.stdin:
        exec(compile(json.loads(line), "<block>", "exec"), names)
        print(end="\0", flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
