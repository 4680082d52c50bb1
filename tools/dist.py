#!/usr/bin/env python3
"""Makes the packages: tools/dist.py [--out DIR] [--programs DIR].

The programs are built by cargo with the C library inside, for x86_64 Linux, and the libraries for Python and
Elixir with that of this system; or they are taken from a folder. Of the same programs and libraries the
packages are the same bytes: names are sorted, owners are root, and all times are that of the commit.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from datetime import UTC, datetime
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
TRIPLE = "x86_64-unknown-linux-gnu"
PROGRAMS = ("rorqual", "rorqual-query")
PYTHON, ELIXIR = LIBRARIES = ("lib_rorqual.so", "librorqual_nif.so")
PARTS = TOP / "tools/packages"
SYSTEM = "x86_64-linux"
MAINTAINER = "The rorqual developers <rorqual@users.noreply.github.com>"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=TOP / "target/dist")
    parser.add_argument("--programs", type=Path, help=f"a folder with {', '.join(PROGRAMS + LIBRARIES)}, instead of building them")
    arguments = parser.parse_args()
    time = int(run(["git", "log", "-1", "--format=%ct"]))
    version = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    given = arguments.programs
    programs, libraries = (given, given) if given else (build_programs(version), build_libraries())
    missing = [name for name in PROGRAMS + LIBRARIES if not any((folder / name).is_file() for folder in (programs, libraries))]
    if missing:
        sys.exit(f"{programs}: there is no {' and no '.join(missing)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    files = tree(programs)
    made = {
        f"rorqual-{SYSTEM}.tar.xz": xz_tarball({f"rorqual/{name}": file for name, file in files.items()}, time),
        f"rorqual_{version}_amd64.deb": deb(files, version, time),
        f"rorqual-{version}-oci.tar": container(files, time),
        f"rorqual-elixir-{version}.tar.gz": elixir(libraries / ELIXIR, version, time),
        **wheel(programs / "rorqual", libraries / PYTHON, version, time),
        **query_wheel(programs / "rorqual-query", version, time),
        f"rorqual-{version}.cdx.json": bill(version),
        "install.sh": (PARTS / "install.sh").read_bytes(),
    }
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(made.items()))
    for name, content in {**made, "SHA256SUMS": sums.encode()}.items():
        (arguments.out / name).write_bytes(content)
        print(f"{len(content):>12,}  {arguments.out / name}")
    (arguments.out / "install.sh").chmod(0o755)


def run(command, **options):
    return subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.PIPE, text=True, **options).stdout.strip()


def build_programs(version):
    """The folder of programs that cargo builds."""
    commit = run(["git", "rev-parse", "--short=12", "HEAD"])
    said = f"{version}\ncommit: {commit}\nsystem: {TRIPLE}, statically linked\nfeatures: gzip zstd bzip2 xz lz4, TLS, SQL by rorqual-query"
    # The start-up code that is linked in knows packed relocations; the C library of an interpreter may be older.
    flags = ["-C", "target-feature=+crt-static", "-C", "link-arg=-Wl,-z,pack-relative-relocs"]
    # Without a C library to look it up in, random bytes would come of /dev/urandom, which an empty root does not have.
    flags += ["--cfg", 'getrandom_backend="linux_getrandom"']
    return cargo(["-p", "rorqual", "-p", "rorqual-query"], target() / "dist-build", flags, RORQUAL_BUILD=said)


def build_libraries():
    """The folder of libraries: an interpreter has a C library, which they take as well."""
    return cargo(["-p", "rorqual-python", "-p", "rorqual-elixir"], target() / "dist-libraries", [])


def target():
    return Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target"))


def cargo(packages, folder, flags, **environment):
    """The folder with what cargo builds, with nothing of this machine in it."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    # Functions with the same code are one, as nothing compares their addresses. The linker is lld, which Rust's
    # toolchain has for this system.
    flags = [*flags, "-C", "link-arg=-Wl,--icf=all", f"--remap-path-prefix={TOP}=/rorqual", f"--remap-path-prefix={home}=/cargo"]
    environment = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags), **environment}
    # With a target given, these flags are not those of build scripts and of macros.
    run(["cargo", "build", "--release", "--locked", "--target", TRIPLE, "--target-dir", folder, *packages], env=environment)
    return folder / TRIPLE / "release"


def tree(programs):
    """The files of an installation below a prefix: content and mode by name."""
    files = {f"bin/{name}": ((programs / name).read_bytes(), 0o755) for name in PROGRAMS}
    rorqual = programs / "rorqual"
    output = lambda *words: subprocess.run([rorqual, *words], check=True, stdout=subprocess.PIPE).stdout
    files["share/man/man1/rorqual.1"] = (output("man"), 0o644)
    for verb in verbs(output("--help").decode()):
        files[f"share/man/man1/rorqual-{verb}.1"] = (output("man", verb), 0o644)
    files["share/bash-completion/completions/rorqual"] = (output("completions", "bash"), 0o644)
    files["share/zsh/site-functions/_rorqual"] = (output("completions", "zsh"), 0o644)
    files["share/fish/vendor_completions.d/rorqual.fish"] = (output("completions", "fish"), 0o644)
    for name in ("LICENSE-APACHE", "LICENSE-MIT", "README.md"):
        files[f"share/doc/rorqual/{name}"] = ((TOP / name).read_bytes(), 0o644)
    return files


def verbs(help):
    """The verbs that a help lists."""
    listed = help.split("Commands:\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " " and line.split()[0] != "help"]


def tar(files, time):
    """A tar with all folders, sorted."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        # By their text: in a Debian package names begin with a dot.
        folders = {"/".join(parts[:count]) for name in files for parts in [name.split("/")] for count in range(1, len(parts))}
        entries = {**{folder: None for folder in folders}, **files}
        for name, file in sorted(entries.items()):
            entry = tarfile.TarInfo(name)
            entry.mtime, entry.uname, entry.gname = time, "root", "root"
            if file is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            else:
                entry.size, entry.mode = len(file[0]), file[1]
                archive.addfile(entry, io.BytesIO(file[0]))
    return out.getvalue()


def tarball(files, time):
    # The header of gzip has neither name nor time.
    return gzip.compress(tar(files, time), compresslevel=9, mtime=0)


def xz_tarball(files, time):
    # A third smaller than with gzip; tar and dpkg read it.
    return lzma.compress(tar(files, time))


def deb(files, version, time):
    """A Debian package: an ar of three members."""
    installed = {f"./usr/{name}": file for name, file in files.items()}
    for name in [name for name in installed if "/man1/" in name]:
        installed[name + ".gz"] = (gzip.compress(installed.pop(name)[0], mtime=0), 0o644)
    installed["./usr/lib/systemd/system/rorqual.service"] = ((PARTS / "rorqual.service").read_bytes(), 0o644)
    licence = b"".join((TOP / name).read_bytes() for name in ("LICENSE-MIT", "LICENSE-APACHE"))
    installed["./usr/share/doc/rorqual/copyright"] = (licence, 0o644)
    control = f"""Package: rorqual
Version: {version}
Architecture: amd64
Maintainer: {MAINTAINER}
Installed-Size: {sum(len(file[0]) for file in installed.values()) // 1024}
Section: utils
Priority: optional
Description: Files of any size, in the memory you give it
 A log explorer, reports, search, checksums, downloads, a store, conversions,
 SQL and templates, for files of any size in a fixed amount of memory.
"""
    sums = "".join(f"{hashlib.md5(file[0]).hexdigest()}  {name[2:]}\n" for name, file in sorted(installed.items()))
    controls = {"./control": (control.encode(), 0o644), "./md5sums": (sums.encode(), 0o644)}
    members = {"debian-binary": b"2.0\n", "control.tar.gz": tarball(controls, time), "data.tar.xz": xz_tarball(installed, time)}
    out = b"!<arch>\n"
    for name, content in members.items():
        out += f"{name:<16}{time:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
    return out


def container(files, time):
    """An OCI image layout in a tar: the program in an empty root."""
    roots = ("/etc/ssl/certs/ca-certificates.crt",)
    layer = {"rorqual": files["bin/rorqual"], "rorqual-query": files["bin/rorqual-query"]}
    layer |= {path[1:]: (Path(path).read_bytes(), 0o644) for path in roots if Path(path).is_file()}
    content = tar({**layer, "tmp/.keep": (b"", 0o644)}, time)
    blobs = {}

    def blob(bytes, kind):
        digest = hashlib.sha256(bytes).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (bytes, 0o644)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(bytes)}

    packed = gzip.compress(content, compresslevel=9, mtime=0)
    settings = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/rorqual"], "Env": ["PATH=/"], "ExposedPorts": {"8631/tcp": {}}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]},
    }
    config = blob(json.dumps(settings, sort_keys=True).encode(), "config.v1+json")
    layers = [blob(packed, "layer.v1.tar+gzip")]
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": layers}
    index = {"schemaVersion": 2, "manifests": [blob(json.dumps(manifest, sort_keys=True).encode(), "manifest.v1+json")]}
    named = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": json.dumps(index, sort_keys=True).encode()}
    return tar({**blobs, **{name: (bytes, 0o644) for name, bytes in named.items()}}, time)


def elixir(library, version, time):
    """The Elixir package: its library for this system, and the sources of all crates that it is built of elsewhere."""
    parts = ("bindings", "crates", "fuzz", "Cargo.toml", "Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE")
    # All of the workspace: without a part of it cargo does not take Cargo.lock as it is.
    paths = run(["git", "ls-files", "-z", *parts]).split("\0")
    files = {path: ((TOP / path).read_bytes(), 0o644) for path in paths if path and not path.startswith("fuzz/corpus/")}
    files["bindings/elixir/priv/native/librorqual_nif.so"] = (library.read_bytes(), 0o755)
    return tarball({f"rorqual-elixir-{version}/{name}": file for name, file in files.items()}, time)


def wheel(program, library, version, time):
    """The Python package as a wheel, with the command in it: its name and content."""
    content = library.read_bytes()
    # The newest version of the C library that a symbol of it asks for.
    needed = max(int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", content))
    python = TOP / "bindings/python"
    files = {f"rorqual/{path.name}": (path.read_bytes(), 0o644) for path in (python / "rorqual").iterdir() if path.is_file()}
    files["rorqual/_rorqual.abi3.so"] = (content, 0o755)
    files[f"rorqual-{version}.data/scripts/rorqual"] = (program.read_bytes(), 0o755)
    project = tomllib.loads((python / "pyproject.toml").read_text())["project"]
    # Of the same version, as the program calls the other.
    extra = [("Provides-Extra", "query"), ("Requires-Dist", f'rorqual-query=={version}; extra == "query"')]
    readme = (python / project["readme"]).read_text()
    return packed_wheel(project, extra, readme, files, version, f"cp311-abi3-manylinux_2_{needed}_x86_64", time)


def query_wheel(program, version, time):
    """The program that `rorqual query` runs, as a wheel: it needs no Python, nor a C library."""
    project = {
        "name": "rorqual-query",
        "description": "SQL over files of any size, for the command `rorqual query`",
        "license": "MIT OR Apache-2.0",
        "requires-python": ">=3.11",
    }
    files = {f"rorqual_query-{version}.data/scripts/rorqual-query": (program.read_bytes(), 0o755)}
    readme = "The program behind `rorqual query`: install it as `rorqual[query]`.\n"
    return packed_wheel(project, [], readme, files, version, "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64", time)


def packed_wheel(project, extra, readme, files, version, tag, time):
    """A wheel of these files, with what describes it: its name and content."""
    name = project["name"].replace("-", "_")
    about = f"{name}-{version}.dist-info"
    for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
        files[f"{about}/licenses/{licence}"] = ((TOP / licence).read_bytes(), 0o644)
    head = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", version),
        ("Summary", project["description"]),
        ("License-Expression", project["license"]),
        ("License-File", "LICENSE-APACHE"),
        ("License-File", "LICENSE-MIT"),
        ("Requires-Python", project["requires-python"]),
        *extra,
        ("Description-Content-Type", "text/markdown"),
    ]
    text = "".join(f"{name}: {value}\n" for name, value in head)
    files[f"{about}/METADATA"] = (f"{text}\n{readme}".encode(), 0o644)
    python, abi, systems = tag.split("-")
    tags = "".join(f"Tag: {python}-{abi}-{system}\n" for system in systems.split("."))
    files[f"{about}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: rorqual\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644)
    record = "".join(f"{name},{checksum(content)},{len(content)}\n" for name, (content, _) in sorted(files.items()))
    files[f"{about}/RECORD"] = (f"{record}{about}/RECORD,,\n".encode(), 0o644)
    return {f"{name}-{version}-{tag}.whl": packed(files, time)}


def checksum(content):
    return f"sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')}"


def packed(files, time):
    """A zip, sorted."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, datetime.fromtimestamp(time, UTC).timetuple()[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(entry, content)
    return out.getvalue()


def bill(version):
    """The parts of the programs, as CycloneDX."""
    metadata = json.loads(run(["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TRIPLE]))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    wanted = [id for id, package in packages.items() if package["name"] in PROGRAMS]
    used = set()
    while wanted:
        id = wanted.pop()
        if id not in used:
            used.add(id)
            wanted += [link["pkg"] for link in nodes[id]["deps"] if any(kind["kind"] is None for kind in link["dep_kinds"])]
    parts = [
        {
            "type": "library",
            "name": package["name"],
            "version": package["version"],
            "purl": f"pkg:cargo/{package['name']}@{package['version']}",
            "licenses": [{"expression": package["license"]}] if package["license"] else [],
        }
        for package in sorted((packages[id] for id in used), key=lambda package: (package["name"], package["version"]))
    ]
    program = {"type": "application", "name": "rorqual", "version": version}
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": program}, "components": parts}
    return (json.dumps(document, indent=1) + "\n").encode()


if __name__ == "__main__":
    main()
