import os
import subprocess
import sys

import pytest

pytest.importorskip("ray.data")


def test_a_cluster_of_ray_tags_like_one_process(root):
    """In a process of its own: threads that Ray leaves behind may stop the forks of other tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [str(root / "tests" / "corpora" / "ray_cluster.py")]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        command, cwd=str(root), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
