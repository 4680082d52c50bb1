#!/usr/bin/env python3
"""Makes the packages: tools/dist.py [--out DIR] [--programs DIR].

The programs are built by cargo with the C library inside, for x86_64 Linux, or taken from a folder. Of the
same programs the packages are the same bytes: names are sorted, owners are root, and all times are that of
the commit.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
TRIPLE = "x86_64-unknown-linux-gnu"
PROGRAMS = ("rorqual", "rorqual-query")
PARTS = TOP / "tools/packages"
SYSTEM = "x86_64-linux"
MAINTAINER = "The rorqual developers <rorqual@users.noreply.github.com>"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=TOP / "target/dist")
    parser.add_argument("--programs", type=Path, help="a folder with rorqual and rorqual-query, instead of building them")
    arguments = parser.parse_args()
    time = int(run(["git", "log", "-1", "--format=%ct"]))
    version = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    programs = arguments.programs or build(version)
    missing = [name for name in PROGRAMS if not (programs / name).is_file()]
    if missing:
        sys.exit(f"{programs}: there is no {' and no '.join(missing)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    files = tree(programs)
    made = {
        f"rorqual-{SYSTEM}.tar.gz": tarball({f"rorqual/{name}": file for name, file in files.items()}, time),
        f"rorqual_{version}_amd64.deb": deb(files, version, time),
        f"rorqual-{version}-oci.tar": container(files, time),
        f"rorqual-elixir-{version}.tar.gz": elixir(version, time),
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


def build(version):
    """The folder of programs that cargo builds, with nothing of this machine in them."""
    flags = ["-C", "target-feature=+crt-static", f"--remap-path-prefix={TOP}=/rorqual", f"--remap-path-prefix={Path.home()}=/home"]
    commit = run(["git", "rev-parse", "--short=12", "HEAD"])
    said = f"{version}\ncommit: {commit}\nsystem: {TRIPLE}, statically linked\nfeatures: gzip zstd bzip2 xz lz4, TLS, SQL by rorqual-query"
    # A target of its own: flags with no target would be those of build scripts, too.
    environment = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags), "RORQUAL_BUILD": said}
    command = ["cargo", "build", "--release", "--locked", "--target", TRIPLE, "-p", "rorqual", "-p", "rorqual-query"]
    run(command, env=environment)
    target = Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target"))
    return target / TRIPLE / "release"


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
    members = {"debian-binary": b"2.0\n", "control.tar.gz": tarball(controls, time), "data.tar.gz": tarball(installed, time)}
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


def elixir(version, time):
    """The sources of the Elixir package, and of all crates that its library is built of."""
    parts = ("bindings", "crates", "fuzz", "Cargo.toml", "Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE")
    # All of the workspace: without a part of it cargo does not take Cargo.lock as it is.
    paths = run(["git", "ls-files", "-z", *parts]).split("\0")
    files = {f"rorqual-elixir-{version}/{path}": ((TOP / path).read_bytes(), 0o644) for path in paths if path and not path.startswith("fuzz/corpus/")}
    return tarball(files, time)


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
