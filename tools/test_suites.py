"""Tests of tools/suites.py: python3 -m unittest discover tools"""

import contextlib
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

import suites  # noqa: E402


class Names(unittest.TestCase):
    def test_a_name_that_no_suite_has_is_told_with_those_that_there_are(self):
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["suites.py", "--only", "ripgrep", "--only", "riprep"]), contextlib.redirect_stdout(said):
            self.assertEqual(suites.main(), 2)
        self.assertIn("--only riprep: there is no such suite", said.getvalue())
        self.assertIn("parquet-testing, real_logs, ripgrep", said.getvalue())


if __name__ == "__main__":
    unittest.main()
