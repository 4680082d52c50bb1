#!/usr/bin/env python3
"""Put a server through chaos and draw what became of it: bench/results/chaos.json and chaos.svg.

  bench/chaos.py                      ten minutes
  bench/chaos.py --minutes 60         an hour
  bench/chaos.py --seed 7             another plan of faults; each prints its seed

Exit code 1 when a total was wrong, an answer was none that is documented, or something was left over; the picture is drawn then as well.
"""

import sys

from harness import watched

if __name__ == "__main__":
    sys.exit(watched.main("chaos", "10", __doc__))
