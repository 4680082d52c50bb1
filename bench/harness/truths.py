"""Holds our report against what the generator knows: exact where it says exact, within its bounds where not."""

# `error` is two standard deviations, which one estimate in twenty misses; three are missed by one in four hundred.
ERROR_MARGIN = 1.5


def problems(report, truth):
    """Sentences, none when all is well."""
    panels = {panel["field"]: panel for panel in report["panels"]}
    found = []
    if report["lines"]["total"] != truth["lines"]:
        found.append(f"{report['lines']['total']:,} lines, in truth {truth['lines']:,}")
    for field, name in (("path", "paths"), ("client", "clients")):
        about = [*distinct_problems(panels[field]["distinct"], truth[name]["distinct"])]
        about += panel_problems(panels[field], truth[name]["top"], truth["lines"])
        found += [f"{name}: {problem}" for problem in about]
    return found


def distinct_problems(said, true):
    if said["exact"]:
        if said["count"] != true:
            yield f"exactly {said['count']:,} distinct, in truth {true:,}"
    elif abs(said["count"] - true) > ERROR_MARGIN * said["error"] * true:
        yield f"about {said['count']:,} distinct with an error of {said['error']:.2%}, in truth {true:,}"


def panel_problems(panel, top, lines):
    true_hits = {row["value"]: row["hits"] for row in top}
    found = [f"{panel['hits']:,} lines have it, in truth {lines:,}"] if panel["hits"] != lines else []
    for row in panel["rows"]:
        found += row_problems(row, true_hits.get(row["value"]), top[-1]["hits"])
    if panel["exact"]:
        found += exact_problems(panel["rows"], top)
    return [*found, *missing_problems(panel, top)]


def row_problems(row, true, least):
    """`true` is None for a value that is not among the generator's top: then it has at most `least` hits."""
    if row["hits"] > row["hits_max"]:
        yield f"{row['value']}: at least {row['hits']:,} and at most {row['hits_max']:,} hits"
    if true is None and row["hits"] > least:
        yield f"{row['value']}: at least {row['hits']:,} hits, in truth at most {least:,}"
    if true is not None and not row["hits"] <= true <= row["hits_max"]:
        yield f"{row['value']}: {row['hits']:,} to {row['hits_max']:,} hits, in truth {true:,}"


def exact_problems(rows, top):
    """Exact rows are the generator's, in its order; as far as both lists go and no tie is cut."""
    for row, true in zip(rows, top):
        if (row["value"], row["hits"]) != (true["value"], true["hits"]):
            yield f"{row['value']} with {row['hits']:,} hits is listed where {true['value']} with {true['hits']:,} should be"


def missing_problems(panel, top):
    """A value that is not listed was counted no more often than the last that is, and `error_max` bounds the rest."""
    listed = {row["value"] for row in panel["rows"]}
    allowed = min((row["hits"] for row in panel["rows"]), default=0) + panel["error_max"]
    for true in top:
        if true["value"] not in listed and true["hits"] > allowed:
            yield f"{true['value']} has {true['hits']:,} hits and is not listed, where at most {allowed:,} may be"
