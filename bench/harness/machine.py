"""The machine that a result is from, and whether it is quiet enough to believe it."""

import os
import platform
import re
import shutil
import subprocess
import sys
from datetime import datetime, timezone

# Per CPU, over the last minute. Above it something else is running that a result would measure too.
LOAD_MAX = 0.25


ASKED = ("wc", "grep", "rg", "sha256sum", "b3sum", "curl", "aria2c", "wget", "goaccess", "lnav", "gzip", "chromium", "firefox-esr", "tusd", "node", "rustc")


def describe():
    return {
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "system": system_name(),
        "load_average": list(os.getloadavg()),
    }


def cpu_model():
    with open("/proc/cpuinfo") as info:
        names = re.findall(r"^model name\s*:\s*(.*)$", info.read(), re.MULTILINE)
    return names[0] if names else platform.machine()


def system_name():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def load_per_cpu():
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def now():
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def versions(rorqual):
    """The first line that each program says about itself; those that are missing are left out."""
    asked = {name: [name, "--version"] for name in ASKED}
    asked |= {"openssl": ["openssl", "version"], "nginx": ["nginx", "-v"]}
    asked |= {"mawk": ["mawk", "-W", "version"], "rorqual": [str(rorqual), "--version"], "python": [sys.executable, "-V"]}
    return {name: version(argv) for name, argv in asked.items() if shutil.which(argv[0])}


def version(argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines()
    return lines[0].strip() if lines else ""


def commit(root):
    """The commit that was measured, with a + when the tree has changes."""
    git = ["git", "-C", str(root)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True)
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")
