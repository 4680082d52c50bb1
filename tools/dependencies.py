#!/usr/bin/env python3
"""Licences, bans and sources of all dependencies, as deny.toml has them, from what `cargo metadata` says.

cargo-deny reads the same file before a release (`make advisories`), and takes minutes to compile. This asks for more in
one point: a crate has to state its licence as an SPDX expression, as no text of a licence is recognised here.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# Rules of deny.toml that are looked at here, with their values where a value is a switch.
KNOWN = {
    "graph": {"all-features": {True}, "targets": None},
    "licenses": {"allow": None, "exceptions": None, "unused-allowed-license": {"allow"}, "unused-license-exception": {"allow"}},
    "bans": {"multiple-versions": {"allow"}, "wildcards": {"deny"}, "allow-wildcard-paths": {True}, "deny": None},
    "sources": {"unknown-registry": {"deny"}, "unknown-git": {"deny"}, "allow-registry": None},
}


def main():
    rules = tomllib.loads((TOP / "deny.toml").read_text())
    metadata = read_metadata(rules["graph"]["targets"])
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"] if package["id"] in nodes}
    problems = [*unknown_rules(rules), *licenses(packages, rules["licenses"]), *bans(packages, nodes, rules["bans"]), *sources(packages, rules["sources"])]
    for problem in problems:
        print(problem)
    print(f"dependencies: {len(problems)} problems in {len(packages)} crates")
    return 1 if problems else 0


def read_metadata(targets):
    platforms = [word for target in targets for word in ("--filter-platform", target)]
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features", *platforms]
    return json.loads(subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.PIPE).stdout)


def unknown_rules(rules):
    """Rules that nothing here looks at would be rules in name alone."""
    for section, known in KNOWN.items():
        for key, value in rules[section].items():
            if key not in known or (known[key] is not None and value not in known[key]):
                yield f"deny.toml: [{section}] {key} = {value}: tools/dependencies.py has no such rule"


def licenses(packages, rules):
    for package in packages.values():
        allowed = set(rules["allow"])
        for exception in rules["exceptions"]:
            if exception["crate"] == package["name"]:
                allowed |= set(exception["allow"])
        expression = package["license"]
        if not expression or not is_allowed(expression, allowed):
            yield f"{name(package)}: its licence is {expression or 'not stated'}, which deny.toml does not allow"


def is_allowed(expression, allowed):
    """Whether a licence can be chosen: OR binds less than AND, and a slash is an old way to write OR."""
    words = re.findall(r"[()]|[^\s()/]+(?:\s+WITH\s+[^\s()/]+)?", expression.replace("/", " OR "))

    def alternatives():
        found = terms()
        while words[:1] == ["OR"]:
            words.pop(0)
            found = terms() or found
        return found

    def terms():
        found = term()
        while words[:1] == ["AND"]:
            words.pop(0)
            found = term() and found
        return found

    def term():
        word = words.pop(0)
        if word != "(":
            return " ".join(word.split()) in allowed
        found = alternatives()
        return words.pop(0) == ")" and found

    try:
        return alternatives() and not words
    except IndexError:
        return False


def bans(packages, nodes, rules):
    denied = {rule["name"]: rule for rule in rules["deny"]}
    for identity, package in packages.items():
        for dependency in nodes[identity]["dependencies"]:
            rule = denied.get(packages[dependency]["name"])
            if rule and package["name"] not in rule.get("wrappers", []):
                yield f"{name(package)} depends on {rule['name']}: {rule['reason']}"
        for dependency in package["dependencies"]:
            if dependency["req"] == "*" and "path" not in dependency and dependency["kind"] != "dev":
                yield f"{name(package)} depends on any version of {dependency['name']}"


def sources(packages, rules):
    allowed = {f"registry+{registry}" for registry in rules["allow-registry"]}
    for package in packages.values():
        inside = package["source"] is None and Path(package["manifest_path"]).is_relative_to(TOP)
        if not inside and package["source"] not in allowed:
            yield f"{name(package)} comes from {package['source'] or package['manifest_path']}"


def name(package):
    return f"{package['name']} {package['version']}"


if __name__ == "__main__":
    sys.exit(main())
