"""Counting lines: the plain log, a line of NULs, and a hole of 20 GiB."""

from .jobs import Contender, Job, expect_number

READ_BYTES = 256 << 10

# grep and ripgrep hold a whole line; without this the hole's 20 GiB would take the machine with them.
MEMORY_LIMIT = ["prlimit", f"--as={8 << 30}"]


def plain(setting):
    log = setting.data.log("access.log")
    return Job("count", "Count the lines of a 1.5 GiB log", log.bytes, contenders(log, setting.programs), [log.path])


def nul(setting):
    log = setting.data.log("nul.log")
    more = [tool("grep -a -c ''", ["grep", "-a", "-c", "", log.path], log)]
    title = "Count the lines of a log with one line of 512 MiB of NULs"
    return Job("count-nul", title, log.bytes, contenders(log, setting.programs) + more, [log.path])


def sparse(setting):
    log = setting.data.log("sparse.log")
    limited = [
        tool("grep -a -c '' (8 GiB)", [*MEMORY_LIMIT, "grep", "-a", "-c", "", log.path], log),
        tool("rg -a --no-mmap -c '' (8 GiB)", [*MEMORY_LIMIT, "rg", "-a", "--no-mmap", "-c", "", log.path], log),
    ]
    title = "Count the lines of a log with a hole of 20 GiB"
    return Job("count-sparse", title, log.bytes, contenders(log, setting.programs) + limited, [log.path])


def contenders(log, programs):
    return [
        Contender("rorqual count -l", "ours", [[programs.rorqual, "count", "-l", log.path]], expect_number(log.lines)),
        tool("wc -l", ["wc", "-l", log.path], log),
        tool("grep -c ''", ["grep", "-c", "", log.path], log),
        tool("rg -c ''", ["rg", "-c", "", log.path], log),
        tool("rg --no-mmap -c ''", ["rg", "--no-mmap", "-c", "", log.path], log),
        floor("read only, 1 thread", 1, log, programs),
        floor("read only, 2 threads", 2, log, programs),
    ]


def tool(name, argv, log):
    return Contender(name, "peer", [argv], expect_number(log.lines))


def floor(name, threads, log, programs):
    argv = [programs.floor, str(threads), str(READ_BYTES), log.path]
    return Contender(name, "floor", [argv], expect_number(log.bytes))
