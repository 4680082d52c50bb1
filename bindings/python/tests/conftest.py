import os
from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
GOOD = b'127.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /a?b=1 HTTP/1.1" 200 5 "-" "curl/8"\n'


@pytest.fixture
def sample():
    return SAMPLES / "apache_combined.log"


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A log of 240 MB: far above the memory that the tests give."""
    path = tmp_path_factory.mktemp("large") / "large.log"
    block = (SAMPLES / "apache_combined.log").read_bytes()
    with open(path, "wb") as file:
        for _ in range(240_000_000 // len(block)):
            file.write(block)
    return path


def threads():
    return len(os.listdir("/proc/self/task"))


def descriptors():
    return len(os.listdir("/proc/self/fd"))
