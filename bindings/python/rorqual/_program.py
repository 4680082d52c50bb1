"""The program `rorqual`, as functions."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import urllib.request

from . import errors


def program(name="rorqual"):
    """The path of the program: `RORQUAL_PROGRAM`, beside this interpreter, or on the path."""
    given = os.environ.get("RORQUAL_PROGRAM") if name == "rorqual" else None
    found = given or shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if not found:
        raise errors.InputError(f"the program {name} is not installed: set RORQUAL_PROGRAM to its path")
    return found


def _run(arguments, stdin=None):
    """Runs the program; its error becomes an exception, and its notes warnings."""
    done = subprocess.run([program(), *map(os.fspath, arguments)], stdin=stdin or subprocess.DEVNULL, capture_output=True, check=False)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0:
        error = errors.ProgramError(said or f"rorqual ended with status {done.returncode}")
        error.status = done.returncode
        raise error
    if said:
        import warnings

        warnings.warn(said, errors.RowsWarning, stacklevel=3)
    return done.stdout


def _flags(options):
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            yield flag
        elif isinstance(value, (list, tuple)):
            for one in value:
                yield from (flag, str(one))
        elif value is not None and value is not False:
            yield from (flag, str(value))


def convert(source, target, **options):
    """Converts files to one of Parquet, Arrow, NDJSON or CSV, as `rorqual convert` does; options are its flags."""
    sources = source if isinstance(source, (list, tuple)) else [source]
    _run(["convert", *_flags(options), "-o", target, "--", *sources])


def query(sql, **options):
    """The rows of a statement of SQL over files, as dictionaries, while they come; options are flags of `rorqual query`."""
    command = [program(), "query", *_flags(options), "--to", "ndjson", sql]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = []
    reader = threading.Thread(target=lambda: said.append(process.stderr.read(1 << 20)), daemon=True)
    reader.start()
    try:
        for line in process.stdout:
            yield json.loads(line)
        process.wait()
        reader.join()
        text = b"".join(said).decode(errors="replace").strip()
        if process.returncode != 0:
            error = errors.ProgramError(text or f"rorqual query ended with status {process.returncode}")
            error.status = process.returncode
            raise error
        if text:
            import warnings

            warnings.warn(text, errors.RowsWarning, stacklevel=2)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        reader.join()
        process.stderr.close()


class Server:
    """A running `rorqual serve`; `url` is its address with the token."""

    def __init__(self, process, url):
        self._process = process
        self.url = url

    def get(self, path):
        """The answer to a GET of a path below the address, as bytes."""
        base, _, token = self.url.partition("/?token=")
        request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def close(self):
        """Ends the server, and waits until it has ended."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()


def serve(*sources, **options):
    """Starts the log explorer; use it in a `with` statement. Options are flags of `rorqual serve`."""
    options = {"port": 0} | options
    command = [program(), "serve", *_flags(options), *map(os.fspath, sources)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = []
    reader = threading.Thread(target=_listen, args=(process.stderr, said), daemon=True)
    reader.start()
    url = process.stdout.readline().decode(errors="replace").strip()
    if url.startswith("http"):
        return Server(process, url)
    process.wait()
    reader.join()
    process.stdout.close()
    error = errors.ProgramError("\n".join(said) or f"rorqual serve ended with status {process.returncode}")
    error.status = process.returncode
    raise error


def _listen(stream, said):
    """Keeps the last lines of a stream, which is read so that nobody waits for room in it."""
    for line in stream:
        said.append(line.decode(errors="replace").rstrip())
        del said[:-100]
    stream.close()


def main():
    """`python -m rorqual` is the command."""
    try:
        path = program()
    except errors.InputError as error:
        sys.exit(str(error))
    os.execv(path, ["rorqual", *sys.argv[1:]])
