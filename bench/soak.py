#!/usr/bin/env python3
"""Run the soak and draw what it saw: bench/results/soak.json and soak.svg.

  bench/soak.py                       five minutes
  bench/soak.py --minutes 120         two hours
  bench/soak.py --seed 7              another course; each prints its seed

Exit code 1 when something was left over; then as well the picture is drawn, as it may say since when.
"""

import sys

from harness import watched

if __name__ == "__main__":
    sys.exit(watched.main("soak", "5", __doc__))
