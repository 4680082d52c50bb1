"""Tests of the benchmark itself: python3 -m unittest discover bench"""

import argparse
import copy
import hashlib
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import compare_goaccess  # noqa: E402
import run  # noqa: E402
from harness import bindings, data, explore_click, explore_explain, explore_peers, explorer, goaccess, grep, hashing, jobs  # noqa: E402
from harness import many_uploads, results, soak_svg, svg, sweep_svg, times, truths, upload_browser, upload_curl  # noqa: E402
from harness import measure  # noqa: E402
from harness.measure import Run  # noqa: E402


def counted(value, hits, sent=0):
    return {"data": value, "hits": {"count": hits}, "bytes": {"count": sent}}


def row(value, hits, sent=0, more=0):
    return {"value": value, "hits": hits, "hits_max": hits + more, "bytes": sent}


THEIRS = {
    "general": {"total_requests": 5, "valid_requests": 5, "failed_requests": 0, "bandwidth": 50},
    "status_codes": {"data": [{"data": "2xx Success", "items": [counted("200 - OK", 4)]},
                              {"data": "4xx Client Errors", "items": [counted("404 - Not Found", 1)]}]},
    "visitors": {"data": [counted("20250101", 3), counted("20250102", 2)]},
    "visit_time": {"data": [counted("00", 5)]},
    "requests": {"data": [counted("/a b", 2, 20), counted("/a b", 1, 10)]},
    "static_requests": {"data": [counted("/x.css", 1, 10)]},
    "not_found": {"data": [counted("/gone", 1, 10)]},
    "hosts": {"data": [counted("10.0.0.1", 5, 50)], "metadata": {"data": {"total": {"value": 1}}}},
}  # fmt: skip

OURS = {
    "lines": {"total": 6, "parsed": 5, "rejected": 0, "blank": 1},
    "bytes_sent": 50,
    "time": {"zone_seconds": 0},
    "histogram": {"bucket_seconds": 3600, "at": [1735689600, 1735776000],
                  "series": [{"class": "2xx", "hits": [3, 1]}, {"class": "4xx", "hits": [0, 1]}]},
    "status": [row("200", 4), row("404", 1)],
    "panels": [
        {"field": "path", "exact": True, "distinct": {"count": 4},
         "rows": [row("/a%20b", 2, 20), row("/a b%20", 1, 10), row("/gone", 1, 10), row("/x.css", 1, 10)]},
        {"field": "client", "exact": True, "distinct": {"count": 1, "exact": True},
         "rows": [row("10.0.0.1", 5, 50)]},
    ],
}  # fmt: skip


class Languages(unittest.TestCase):
    LINE = '::1 - - [10/Oct/2025:13:55:36 +0000] "GET /{} HTTP/1.1" {} {} "-" "a \\" b"\n'

    def test_the_truth_is_that_of_the_lines(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(self.LINE.format("ab", 500, 7) + self.LINE.format("c", 404, "-") + self.LINE.format("def", 503, 10) + "no line\n")
            log.flush()
            self.assertEqual(bindings.failed_paths(log.name), "2 7")
            self.assertEqual(bindings.rows_and_bytes(log.name), "3 17")

    def test_another_answer_and_none_are_told_and_a_late_timer_is_no_wrong_answer(self):
        programs = argparse.Namespace(rorqual=Path("target/release/rorqual"))
        elixir = bindings.Elixir(argparse.Namespace(programs=programs, out=Path("out")))
        check = elixir.contender("ours", "ours", "rorqual-count", "a.log", "5").check
        self.assertEqual([check(said) for said in (b"5\n0.2 4.5 23\n", b"6\n0.2 1.5 23\n", b"", b"5\n")], ["", "wrong: 6", "no answer", "no answer"])
        lines, sound = elixir.meanwhile("ours", "skipped")
        self.assertTrue(sound)
        self.assertEqual(lines, ["MISSED: ours: a timer of 1 ms was 3.5 ms late (99 of 100), the VM held 23 MiB, asked: 2 ms, 64 MiB"])


class CompareWithGoAccess(unittest.TestCase):
    def differing(self, change):
        ours = copy.deepcopy(OURS)
        change(ours)
        return [what for what, ok, _ in compare_goaccess.compare(ours, THEIRS).checks if ok is False]

    def test_panels_methods_and_spellings_of_a_path_are_summed(self):
        self.assertEqual(self.differing(lambda ours: None), [])

    def test_every_kind_of_difference_is_found(self):
        changes = {
            "parsed lines": lambda ours: ours["lines"].update(parsed=4),
            "bytes sent": lambda ours: ours.update(bytes_sent=49),
            "hits per status": lambda ours: ours["status"].pop(),
            "hits and bytes per path": lambda ours: ours["panels"][0]["rows"][2].update(bytes=11),
            "hits and bytes per client": lambda ours: ours["panels"][1]["rows"][0].update(hits=4),
            "distinct clients": lambda ours: ours["panels"][1]["distinct"].update(count=2),
        }
        for what, change in changes.items():
            with self.subTest(what):
                self.assertEqual(self.differing(change), [what])

    def test_a_day_is_the_logs_own(self):
        late = self.differing(lambda ours: ours["time"].update(zone_seconds=-3600))
        self.assertEqual(late, ["hits per day", "hits per hour of the day"])

    def test_a_cut_list_must_have_the_most_frequent(self):
        wrong = self.differing(lambda ours: ours["panels"][0].update(rows=[row("/gone", 1, 10)]))
        self.assertEqual(wrong, ["hits and bytes per path"])

    def test_a_spelling_below_the_last_row_is_excused_by_the_log_only(self):
        ours, theirs = copy.deepcopy(OURS), copy.deepcopy(THEIRS)
        ours["panels"][0].update(rows=[row("/a%20b", 2, 20)])
        theirs["requests"]["data"] = [counted("/a b", 3, 30)]
        differs = [compare_goaccess.compare(ours, theirs).differs]
        with tempfile.NamedTemporaryFile("w") as log:
            log.writelines(f'- - - [-] "GET {path} HTTP/1.1" 200 10 "-" "-"\n' for path in ("/a%20b", "/a%20b", "/%61%20b"))
            log.flush()
            differs.append(compare_goaccess.compare(ours, theirs, log.name).differs)
            log.write('- - - [-] "GET /%61%20b HTTP/1.1" 200 10 "-" "-"\n')
            log.flush()
            differs.append(compare_goaccess.compare(ours, theirs, log.name).differs)
        self.assertEqual(differs, [True, False, True])

    def test_goaccess_takes_addresses_with_the_same_hash_for_one(self):
        # Found in access.log; GoAccess 1.7 counts them once.
        self.assertEqual(goaccess.distinct_as_counted([b"202.46.62.0", b"220.181.51.198", b"10.0.0.1"]), 2)


class CompareWithTheTruth(unittest.TestCase):
    TOP = [{"value": "/a", "hits": 9}, {"value": "/b", "hits": 5}, {"value": "/c", "hits": 1}]

    def problems(self, rows, exact, error_max=0):
        panel = {"hits": 15, "exact": exact, "error_max": error_max, "rows": rows}
        return truths.panel_problems(panel, self.TOP, 15)

    def test_exact_rows_are_the_true_ones(self):
        self.assertEqual(self.problems([row("/a", 9), row("/b", 5)], True), [])
        self.assertTrue(self.problems([row("/a", 9), row("/b", 4)], True))
        self.assertTrue(self.problems([row("/b", 5), row("/a", 9)], True))

    def test_bounds_hold(self):
        self.assertEqual(self.problems([row("/a", 8, more=2), row("/b", 5)], False), [])
        self.assertTrue(self.problems([row("/a", 8, more=0), row("/b", 5)], False))
        self.assertTrue(self.problems([row("/a", 10), row("/b", 5)], False))

    def test_a_frequent_value_may_not_be_missing(self):
        self.assertTrue(self.problems([row("/b", 5)], False, error_max=3))
        self.assertEqual(self.problems([row("/b", 5)], False, error_max=4), [])

    def test_a_value_that_is_not_among_the_true_top_is_rare(self):
        self.assertTrue(self.problems([row("/a", 9), row("/b", 5), row("/z", 2)], False))

    def test_estimates_have_their_error(self):
        estimate = {"count": 103, "exact": False, "error": 0.02}
        self.assertEqual(list(truths.distinct_problems(estimate, 100)), [])
        self.assertTrue(list(truths.distinct_problems(estimate | {"count": 104}, 100)))
        self.assertTrue(list(truths.distinct_problems(estimate | {"exact": True}, 100)))


class Results(unittest.TestCase):
    def job(self):
        ours = jobs.Contender("ours", "ours", [["a"]])
        rows = [
            results.of_contender(ours, 1000, [Run(2.0), Run(1.0), Run(4.0)]),
            results.of_contender(jobs.Contender("slow <b>", "peer", [["b"]]), 1000, [Run(4.0)]),
            results.of_contender(jobs.Contender("liar", "peer", [["c"]]), 1000, [Run(0.1, wrong="wrong: 7")]),
            results.of_contender(jobs.Contender("late", "peer", [["d"]]), 1000, [Run(60.0, timed_out=True)]),
            results.of_contender(jobs.Contender("absent", "peer", [["e"]]), 1000, []),
        ]
        return results.of_job(jobs.Job("count", "Count", 1000, []), rows, ([], True), "2025-01-01")

    def test_medians_and_ratios(self):
        ours, slow, liar, late, _ = self.job()["contenders"]
        self.assertEqual((ours["seconds"], ours["ratio"], slow["ratio"]), (2.0, 1.0, 2.0))
        self.assertEqual((liar["bytes_per_second"], liar["failure"]), (None, "wrong: 7"))
        self.assertEqual(late["failure"], "no answer in 60 s")

    def test_the_table_says_why_there_is_no_number(self):
        text = results.table(self.job())
        for words in ("wrong: 7", "no answer in 60 s", "skipped"):
            self.assertIn(words, text)

    def test_only_our_own_failures_fail_the_run(self):
        job = self.job()
        self.assertTrue(results.sound(job))
        job["contenders"][0]["failure"] = "wrong: 1"
        self.assertFalse(results.sound(job))

    def test_the_picture_is_well_formed(self):
        machine = {"cpu": "x & y", "cpus": 2, "memory_bytes": 1 << 34, "system": "Debian"}
        searching = self.job() | {"name": "grep-rare-count"}
        pictures = svg.pictures({"machine": machine, "date": "2025-01-01T00:00:00", "jobs": [self.job(), searching]})
        self.assertEqual(sorted(pictures), ["", "-grep"])
        for picture in pictures.values():
            self.assertIn("slow &lt;b&gt;", picture)
            xml.dom.minidom.parseString(picture)

    def test_a_folded_picture_has_the_fastest_way_of_each_program(self):
        peer = lambda name, rate: {"name": name, "role": "peer", "bytes_per_second": rate}  # noqa: E731
        rows = [peer("rg", 5), peer("rg --no-mmap", 7), peer("rg -a", None), peer("grep", None)]
        rows += [{"name": "rg floor", "role": "floor", "bytes_per_second": 9}]
        self.assertEqual([row["name"] for row in svg.folded(rows)], ["rg --no-mmap", "grep", "rg floor"])

    def test_every_job_is_in_one_picture(self):
        starts = [start for _, found, _ in svg.PICTURES.values() for start in found]
        for name in run.JOBS:
            self.assertEqual(sum(name.startswith(start) for start in starts), 1, name)


class Sweep(unittest.TestCase):
    def test_the_picture_has_a_cell_for_each_pair(self):
        cells = [{"target": "pipe", "piece_bytes": size, "pieces_per_write": 4, "mode": mode, "bytes_per_second": rate}
                 for size in (64, 8192) for mode, rate in (("copy", 100), ("point", 50 if size == 64 else 300))]  # fmt: skip
        picture = sweep_svg.render({"machine": {"cpu": "x & y"}, "date": "2025-01-01T00:00:00", "cells": cells})
        xml.dom.minidom.parseString(picture)
        for words in (">0.50<", ">3.00<", ">64 B<", ">8 KiB<", "Pipe"):
            self.assertIn(words, picture)


class Soak(unittest.TestCase):
    RECORD = {
        "seconds": 9.0, "seed": 1, "outcomes": {"count": {"done": 3, "cut": 1}},
        "checks": [{"name": "files", "ok": True, "text": ""}],
        "series": {"marks": [[3.0, "at rest"]], "moments": [
            {"seconds": at, "resident_bytes": 60 << 20, "server_resident_bytes": 20 << 20,
             "descriptors": 7, "server_descriptors": 7}
            for at in range(9)]},
    }  # fmt: skip

    def test_the_picture_is_well_formed_and_says_what_failed(self):
        picture = soak_svg.render(self.RECORD)
        self.assertIn("4 operations in 9 s", picture)
        xml.dom.minidom.parseString(picture)
        failed = soak_svg.render(self.RECORD | {"checks": [{"name": "files", "ok": False, "text": ""}]})
        self.assertIn("failed: files", failed)
        self.assertIn(">clients<", soak_svg.render(self.RECORD | {"names": ["clients", "rorqual serve"]}))

    def test_a_scale_ends_at_a_round_number(self):
        self.assertEqual([soak_svg.nice(most) for most in (1, 9, 13, 21, 81, 170)], [4, 12, 20, 40, 120, 200])


class Goals(unittest.TestCase):
    ROWS = [
        {"name": "ours", "role": "ours", "bytes_per_second": 30, "peak_bytes": 3 << 20},
        {"name": "a", "role": "peer", "bytes_per_second": 10},
        {"name": "b", "role": "peer", "bytes_per_second": 20},
        {"name": "wrong", "role": "peer", "bytes_per_second": None},
    ]  # fmt: skip

    def met(self, **goal):
        return results.judged(jobs.Goal("ours", **goal), self.ROWS)["met"]

    def test_a_goal_is_held_against_the_fastest(self):
        self.assertTrue(self.met(times=1.5, beside=("a", "b", "wrong")))
        self.assertFalse(self.met(times=1.6, beside=("a", "b", "wrong")))
        self.assertTrue(self.met(times=2.9, beside=("a",)))

    def test_without_a_sound_answer_there_is_nothing_to_judge(self):
        self.assertIsNone(self.met(times=1, beside=("wrong", "absent")))
        self.assertIsNone(results.judged(jobs.Goal("absent", 1, ("a",)), self.ROWS)["met"])

    def test_memory(self):
        self.assertTrue(self.met(peak_mib=3))
        self.assertFalse(self.met(peak_mib=2))


class Times(unittest.TestCase):
    def job(self):
        rows = [times.row("ours", "ours", [0.01, 0.02, 0.03]), times.row("slow <b>", "peer", [0.2], 3 << 20), times.skipped("none", "absent"),
                times.row("liar", "peer", [0.1], failure="another count")]  # fmt: skip
        return times.job("explore-peers", "Panels", rows, [times.at_most("it", 0.02, 0.25)], ["said"], True)

    def test_percentiles_are_of_the_values(self):
        self.assertEqual([times.percentile(range(1, 101), share) for share in (0.5, 0.95, 1)], [50, 95, 100])
        self.assertEqual(times.percentile([7], 0.95), 7)

    def test_ratios_are_of_the_medians_and_a_wrong_answer_has_none(self):
        ours, slow, none, liar = self.job()["contenders"]
        self.assertEqual((ours["ratio"], slow["ratio"], none["ratio"], liar["ratio"]), (None, 10.0, None, None))

    def test_goals_may_be_touched_and_not_passed(self):
        self.assertTrue(times.at_most("it", 0.25, 0.25)["met"])
        self.assertFalse(times.at_most("it", 0.251, 0.25)["met"])
        self.assertFalse(times.at_least("it", 9.9, 10)["met"])
        self.assertIsNone(times.at_most("it", None, 1)["met"])

    def test_the_table_and_the_picture(self):
        job = self.job()
        for words in ("20.0 ms", "skipped: absent", "another count", "said", "reached: it"):
            self.assertIn(words, results.table(job))
        machine = {"cpu": "x", "cpus": 2, "memory_bytes": 1 << 34, "system": "Debian"}
        (picture,) = svg.pictures({"machine": machine, "date": "2025-01-01T00:00:00", "jobs": [job]}).values()
        self.assertIn("slow &lt;b&gt;", picture)
        xml.dom.minidom.parseString(picture)


class Explore(unittest.TestCase):
    def finding(self, terms, companions=()):
        return {"terms": [{"field": field, "value": value} for field, value in terms], "companions": list(companions)}

    def test_a_cause_is_named_by_all_of_its_fields(self):
        cause = [["path", "/a b"], ["status", "500"]]
        self.assertTrue(explore_explain.names(self.finding([("status", "500"), ("path", "/a b")]), cause))
        self.assertTrue(explore_explain.names(self.finding([("status", "500")], ['path = "/a b"']), cause))
        self.assertFalse(explore_explain.names(self.finding([("status", "500")], ["path = /a", "kind = page"]), cause))
        self.assertFalse(explore_explain.names(self.finding([("status", "500")], ['path != "/a b"']), cause))

    def test_only_the_first_rows_count(self):
        other = self.finding([("os", "x")]) | {"where": "os = x", "inside": 1, "share_inside": 0.1, "share_outside": 0, "g": 1}
        right = other | self.finding([("path", "/a")])
        incident = {"name": "n", "lines": 1, "from": 0, "to": 1, "causes": [[["path", "/a"]]]}
        place = lambda rows: explore_explain.verdict(incident, {"rows": rows, "inside": 9})["place"]  # noqa: E731
        self.assertEqual([place([right]), place([other, other, other, right]), place([other])], [1, 4, 0])

    def test_clicks_are_many_and_no_two_the_same(self):
        panels = [{"field": field, "rows": [{"value": f"a\"{number}"} for number in range(3)]} for field in explore_click.FIELDS]
        asked = explore_click.clicks({"panels": panels, "time": {"first": 0, "last": 100}})
        self.assertGreaterEqual(len(asked), 60)
        self.assertEqual(len({str(one) for one in asked}), len(asked))

    def test_every_difference_to_sql_is_found(self):
        said = {"rows": 2, "bytes": 9, "week": [[0]], "quantiles": [1000, 9], "histogram": {"2xx": {0: 1, 60: 1}},
                "panels": {"path": {"distinct": 1, "top": [["/", 2, 9]]}}}  # fmt: skip
        theirs = copy.deepcopy(said) | {"histogram": {"2xx": {"0": 2}}, "quantiles": [1005, 9]}
        self.assertEqual(explore_peers.differences(said, theirs, 120), [])
        for key, value in {"rows": 3, "bytes": 8, "week": [[1]], "quantiles": [1200, 9], "histogram": {"3xx": {0: 2}},
                           "panels": {"path": {"distinct": 1, "top": [["/", 2, 8]]}}}.items():  # fmt: skip
            with self.subTest(key):
                self.assertEqual(len(explore_peers.differences(said, theirs | {key: value}, 120)), 1)

    def test_a_view_adds_up(self):
        view = {"lines": {"matching": 3}, "histogram": {"series": [{"hits": [1, 1]}, {"hits": [1, 0]}]}, "week": {"hits": [[1, 2]]},
                "humans": {"hits": 2}, "bots": {"hits": 1}, "panels": [{"field": "method", "rows": [{"hits": 3}]}]}  # fmt: skip
        self.assertEqual(explorer.inconsistent(view), [])
        self.assertEqual(explorer.inconsistent(view | {"bots": {"hits": 0}}), ["people and bots: 2 of 3"])
        self.assertEqual(len(explorer.inconsistent(view | {"lines": {"matching": 4}})), 4)

    def test_a_path_is_searched_as_it_stands(self):
        self.assertEqual(explore_peers.ere("/a.b+(c)[d]$"), r"/a\.b\+\(c\)\[d\]\$")


class Uploads(unittest.TestCase):
    BYTES = 1000

    def round(self, way, seconds, **more):
        return {"way": way, "seconds": seconds, "browser_cpu_seconds": seconds, "server": {"peak_bytes": 1, "cpu_seconds": 1}} | more

    def test_a_browser_that_sent_less_has_no_speed(self):
        rows = [upload_browser.row("sink", [self.round("sink", 2, bytes=sent)], self.BYTES) for sent in (1000, 999)]
        self.assertEqual([row["bytes_per_second"] for row in rows], [500, None])
        failed = upload_browser.row("warp", [{"way": "warp", "failure": "no end in 180 s", "server": None}], self.BYTES)
        self.assertEqual(failed["failure"], "no end in 180 s")

    def test_the_limit_is_of_the_faster_way_and_of_what_each_takes_alone(self):
        seconds = {"upload-put": 4, "upload-socket": 3, "sink": 2, "connection-socket": 1}
        rounds = [self.round(way, of_it) for way, of_it in seconds.items()]
        rows = [upload_browser.row(way, [one for one in rounds if one["way"] == way], self.BYTES) for way in upload_browser.ROWS]
        fastest = upload_browser.faster(rows)
        self.assertEqual(fastest, "upload-socket")
        limits = [upload_browser.limit(way, rounds, [Run(9, cpu_seconds=3)], self.BYTES) for way in upload_browser.UPLOADS]
        self.assertEqual([limit["seconds"] * measure.CPUS for limit in limits], [5, 4])
        self.assertTrue(upload_browser.limit(fastest, rounds[:3], [Run(9, cpu_seconds=3)], self.BYTES)["skipped"])
        asked = {goal.ours: goal.times for goal in upload_browser.goals("firefox", upload_browser.ROWS[fastest][0])}
        self.assertEqual(asked, dict(zip((upload_browser.ROWS[way][0] for way in ("connection-put", "connection-socket", fastest)), (0.95, 1.15, 0.9))))

    def test_a_log_that_was_written_to_a_disk_breaks_the_promise(self):
        def sound(written, files):
            server = {"write_bytes": written, "files_written": files}
            return upload_browser.said([self.round("upload-put", 1, histogram_seconds=0.1, server=server)], self.BYTES)[1]

        self.assertTrue(sound(200, ["/tmp/#1 (deleted)"]))
        self.assertFalse(sound(1000, ["/tmp/#1 (deleted)"]))
        self.assertFalse(sound(0, ["/dev/shm/spool"]))

    def test_a_contender_whose_server_is_absent_is_missing(self):
        contender = jobs.Contender("tusd", "peer", [["sh"]], needs=("no-such-program",))
        self.assertEqual(contender.missing(), ["no-such-program"])

    def test_an_answer_that_is_no_session_is_wrong(self):
        servers = upload_curl.Servers(jobs.Programs(*[Path("x")] * 7), data.LogFile(Path("y"), 1, 1))
        self.assertIn("no answer of an upload", servers.check_upload(b"{}"))
        self.assertIn("no answer of an upload", servers.check_upload(b""))

    def outcome(self, **changes):
        timed = lambda all: {"count": len(all), "p50": 1.0, "p95": 2.0, "max": 3.0, "all": all}  # noqa: E731
        return {"uploads": 3, "finished": 3, "lost": {}, "wrong": [], "retries": 0, "refused": 0, "bytes": 9, "seconds": 9.0, "views": 2,
                "upload_seconds": timed([1.0, 2.0, 3.0]), "view_seconds": timed([0.1, 0.2]), "live_events": 5, "errors": {},
                "server_cpu_seconds": 1.0, "server_peak_bytes": 512 << 20} | changes  # fmt: skip

    def test_each_miss_of_a_crowd_is_told(self):
        met = lambda **changes: [goal["met"] for goal in many_uploads.judged("t", self.outcome(**changes))["goals"]]  # noqa: E731
        self.assertEqual(met(), [True] * 4)
        self.assertEqual(met(lost={"404 no_session": 1}), [False, True, True, True])
        self.assertEqual(met(wrong=["upload 1: lines"]), [True, False, True, True])
        self.assertEqual(met(views=3), [True, True, False, True])
        self.assertEqual(met(server_peak_bytes=(512 << 20) + 1), [True, True, True, False])

    def test_a_crowds_result_keeps_each_time_once(self):
        job = many_uploads.judged("t", self.outcome(wrong=["upload 1: lines"]))
        self.assertEqual(job["contenders"][0]["runs"], [0.1, 0.2])
        self.assertNotIn("all", job["outcome"]["view_seconds"])
        self.assertFalse(results.sound(job))
        self.assertIn("WRONG: upload 1: lines", results.table(job))

    def test_a_crowds_size_is_four_numbers(self):
        self.assertEqual(run.numbers("10,1000,2,3"), (10, 1000, 2, 3))
        with self.assertRaises(argparse.ArgumentTypeError):
            run.numbers("10")


class Answers(unittest.TestCase):
    def test_a_contender_is_missing_when_its_own_program_is(self):
        self.assertEqual(jobs.program_of(["env", "LC_ALL=C", "grep", "a=b"]), "grep")
        self.assertEqual(jobs.program_of(["prlimit", "--as=1", "rg"]), "rg")
        self.assertEqual(jobs.program_of([Path("/x/rorqual"), "grep"]), "/x/rorqual")

    def test_digests(self):
        check = hashing.expect_digests(["ab", "cd"])
        self.assertEqual(check(b"ab  x\ncd *y\n"), "")
        self.assertTrue(check(b"cd x\nab y\n"))
        self.assertTrue(check(b"ab x\n"))
        self.assertEqual(hashing.expect_digests(["ab", "cd"], in_order=False)(b"cd x\nab y\n"), "")
        self.assertEqual(hashing.speed_of(b"+H:16384\n+F:25:sha256:1761918976.00\n"), 1761918976.0)

    def test_all_numbers_must_be_there(self):
        self.assertEqual(grep.expect(3, 4)(b"3 4\n"), "")
        self.assertEqual(grep.expect(3, 4)(b"3 5\n"), "wrong: 3 5")
        self.assertEqual(grep.expect(3)(b""), "no answer")

    def test_the_truth_about_a_search(self):
        with tempfile.NamedTemporaryFile() as log:
            log.write(b"a 404 b\n\0\0\nx\n 404 \n")
            log.flush()
            found = data.matches_of(log.name, r" 4\d4 ")
        self.assertEqual((found["lines"], found["bytes"]), (2, 14))
        self.assertEqual(found["sha256"], hashlib.sha256(b"a 404 b\n 404 \n").hexdigest())

    def test_the_first_number_is_the_answer(self):
        check = jobs.expect_number(12)
        self.assertEqual(check(b"12 file\n"), "")
        self.assertEqual(check(b"1300\n"), "wrong: 1,300")
        self.assertEqual(check(b""), "no answer")


if __name__ == "__main__":
    unittest.main()
