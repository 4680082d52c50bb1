#!/usr/bin/env python3
"""Installs each package and does its main job: tools/release_check.py DIST (as root).

Programs are installed into an empty root, where there is no C library, no shell and no user: what runs there
runs anywhere on Linux. The packages for Python and Elixir are used by those of this system.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SAMPLE = TOP / "samples/apache_combined.log"
# Sizes that may not be exceeded, in bytes: just above what they are.
PROGRAM_BYTES_MAX = {"bin/rorqual": 46 << 20, "bin/rorqual-query": 100 << 20}
# Of both programs together.
DOWNLOAD_BYTES_MAX = (12 << 20) + (30 << 20)


def main():
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else TOP / "target/dist")
    if os.geteuid() != 0:
        sys.exit("release-check changes the root of a process, which takes root")
    checks = [sums, downloads, archive, another_checksum, debian, image, python, elixir, materials, same_bytes]
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{check.__name__}: {check(dist, Path(folder))}")
    print(f"{len(checks)} passed, 0 failed")


def one(dist, pattern):
    (path,) = dist.glob(pattern)
    return path


def require(truth, sentence):
    if not truth:
        sys.exit(sentence)


def main_job(root, program):
    """Reads a log in that root, and says its number of lines."""
    shutil.copy(SAMPLE, root / "sample.log")
    done = subprocess.run(["chroot", root, program, "logs", "--json", "/sample.log"], capture_output=True, check=False)
    require(done.returncode == 0, f"{program}: {done.stderr.decode()}")
    report = json.loads(done.stdout)
    wanted = SAMPLE.read_bytes().count(b"\n")
    require(report["lines"]["parsed"] == wanted, f"{program}: {report['lines']} of {wanted} lines")
    return f"{wanted} lines"


def query(root, program):
    """Asks SQL in that root."""
    command = ["chroot", root, program, "--to", "csv", "SELECT count(*) AS n FROM '/sample.log'"]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "TMPDIR": "/"})
    require(done.returncode == 0 and done.stdout.split()[-1].isdigit(), f"{program}: {done.stderr.decode()}")
    return f"{done.stdout.split()[-1].decode()} rows by SQL"


def sums(dist, _folder):
    lines = (dist / "SHA256SUMS").read_text().splitlines()
    for line in lines:
        digest, name = line.split("  ")
        require(hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest, f"{name}: another checksum")
    return f"{len(lines)} files"


def downloads(dist, _folder):
    sizes = {path.name: path.stat().st_size for pattern in ("*-linux.tar.*", "*.deb") for path in dist.glob(pattern)}
    large = {name: size for name, size in sizes.items() if size > DOWNLOAD_BYTES_MAX}
    require(not large, f"larger than {DOWNLOAD_BYTES_MAX:,} bytes: {large}")
    return ", ".join(f"{name} {size / 2**20:.1f} MiB" for name, size in sorted(sizes.items()))


def archive(dist, folder):
    prefix = folder / "root"
    subprocess.run(["sh", dist / "install.sh", prefix], check=True, stdout=subprocess.DEVNULL)
    for name, bytes_max in PROGRAM_BYTES_MAX.items():
        size = (prefix / name).stat().st_size
        require(size <= bytes_max, f"{name}: {size:,} bytes, and {bytes_max:,} are enough")
    pages = len(list((prefix / "share/man/man1").iterdir()))
    require(pages > 15, f"{pages} manual pages")
    return f"{main_job(prefix, '/bin/rorqual')}, {query(prefix, '/bin/rorqual-query')}, {pages} manual pages"


def another_checksum(dist, folder):
    for name in ("rorqual-x86_64-linux.tar.xz", "SHA256SUMS", "install.sh"):
        shutil.copy(dist / name, folder)
    with open(folder / "rorqual-x86_64-linux.tar.xz", "ab") as file:
        file.write(b"\0")
    done = subprocess.run(["sh", folder / "install.sh", folder / "root"], capture_output=True, check=False)
    require(done.returncode != 0 and not (folder / "root").exists(), "an archive with another checksum was installed")
    return "refused"


def debian(dist, folder):
    root = folder / "root"
    for part in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"):
        (root / part).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    before = files(root)
    dpkg = ["dpkg", f"--root={root}", "--force-script-chrootless", "--log=/dev/null"]
    subprocess.run([*dpkg, "-i", one(dist, "*.deb")], check=True, capture_output=True)
    said = f"{main_job(root, '/usr/bin/rorqual')}, {query(root, '/usr/bin/rorqual-query')}"
    require((root / "usr/lib/systemd/system/rorqual.service").is_file(), "there is no service")
    (root / "sample.log").unlink()
    subprocess.run([*dpkg, "--purge", "rorqual"], check=True, capture_output=True)
    left = [path for path in files(root) - before if not path.startswith("var/lib/dpkg/")]
    require(not left, f"after removal there is {left}")
    return f"{said}, nothing left after removal"


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def python(dist, folder):
    """The wheels in an environment of their own, without the network: the library, the command, and SQL by it."""
    root = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", root], check=True)
    before = files(root)
    pip = [root / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", "--no-index", "--find-links", dist, "rorqual[query]"], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "RORQUAL_PROGRAM"}
    run = lambda *words: subprocess.run([root / "bin/python", *words], check=True, capture_output=True, env=environment, cwd=folder).stdout
    wanted = SAMPLE.read_bytes().count(b"\n")
    report = json.loads(run("-m", "rorqual", "logs", "--json", SAMPLE))
    script = "import rorqual, sys; print(rorqual.count(sys.argv[1])['lines'], rorqual.report(sys.argv[1])['lines']['parsed'])"
    counted = run("-c", script, SAMPLE).split()
    require(report["lines"]["parsed"] == wanted and counted == [str(wanted).encode()] * 2, f"the wheel: {report['lines']}, {counted}")
    script = "import rorqual, sys; print(next(rorqual.query(sys.argv[1]))['n'])"
    selected = int(run("-c", script, f"SELECT count(*) AS n FROM '{SAMPLE}'"))
    require(selected == wanted, f"the wheel: {selected} rows by SQL of {wanted} lines")
    subprocess.run([*pip, "uninstall", "-y", "rorqual", "rorqual-query"], check=True)
    left = [path for path in files(root) - before if "__pycache__" not in path]
    require(not left, f"after removal there is {left}")
    return f"{wanted} lines by the command, by the library and by SQL, nothing left after removal"


def elixir(dist, folder):
    """The Elixir package with the library that is in it: no cargo runs."""
    if not shutil.which("mix"):
        return "left out: there is no mix"
    with tarfile.open(one(dist, "rorqual-elixir-*.tar.gz")) as archive:
        archive.extractall(folder, filter="tar")
    (package,) = folder.glob("rorqual-elixir-*/bindings/elixir")
    script = 'IO.puts(Rorqual.count!(hd(System.argv())).lines)'
    hidden = folder / "bin"
    hidden.mkdir()
    (hidden / "cargo").write_text("#!/bin/sh\necho 'cargo was asked' >&2\nexit 1\n")
    (hidden / "cargo").chmod(0o755)
    environment = {**os.environ, "PATH": f"{hidden}:{os.environ['PATH']}", "MIX_ENV": "prod", "HOME": str(folder)}
    command = ["mix", "run", "-e", script, "--", SAMPLE]
    done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, check=False)
    wanted = SAMPLE.read_bytes().count(b"\n")
    require(done.returncode == 0 and done.stdout.split()[-1] == str(wanted), f"mix: {done.stdout}{done.stderr}")
    return f"{wanted} lines by the library in the package"


def image(dist, folder):
    with tarfile.open(one(dist, "*-oci.tar")) as layout:
        blob = lambda digest: layout.extractfile(f"blobs/sha256/{digest.removeprefix('sha256:')}").read()
        index = json.load(layout.extractfile("index.json"))
        manifest = json.loads(blob(index["manifests"][0]["digest"]))
        config = json.loads(blob(manifest["config"]["digest"]))
        (layer,) = manifest["layers"]
        content = blob(layer["digest"])
    require(f"sha256:{hashlib.sha256(content).hexdigest()}" == layer["digest"], "the layer has another digest")
    root = folder / "root"
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(root, filter="tar")
    (entry,) = config["config"]["Entrypoint"]
    return f"{main_job(root, entry)}, {query(root, '/rorqual-query')}"


def materials(dist, _folder):
    parts = json.loads(one(dist, "*.cdx.json").read_text())["components"]
    require(len(parts) > 200 and all(part["licenses"] for part in parts), "a part has no licence, or parts are missing")
    return f"{len(parts)} crates"


def same_bytes(dist, folder):
    """The packages made anew of what is in them, at the same commit."""
    programs = folder / "programs"
    programs.mkdir()
    with tarfile.open(one(dist, "rorqual-x86_64-linux.tar.xz")) as archive:
        for name in ("rorqual", "rorqual-query"):
            (programs / name).write_bytes(archive.extractfile(f"rorqual/bin/{name}").read())
            (programs / name).chmod(0o755)
    with zipfile.ZipFile(one(dist, "rorqual-*.whl")) as archive:
        (programs / "lib_rorqual.so").write_bytes(archive.read("rorqual/_rorqual.abi3.so"))
    with tarfile.open(one(dist, "rorqual-elixir-*.tar.gz")) as archive:
        (name,) = [name for name in archive.getnames() if name.endswith("/librorqual_nif.so")]
        (programs / "librorqual_nif.so").write_bytes(archive.extractfile(name).read())
    command = [sys.executable, TOP / "tools/dist.py", "--out", folder / "again", "--programs", programs]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    before, after = [set((path / "SHA256SUMS").read_text().splitlines()) for path in (dist, folder / "again")]
    require(before == after, f"made again, these are others (or of another commit): {sorted(before ^ after)}")
    return f"{len(before)} files are made again as they were"


if __name__ == "__main__":
    main()
