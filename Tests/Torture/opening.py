"""Puts the making of a new store under fire, where a process ends between a failure of the disk and its mending.

usage: opening.py PRODUCTS FOLDER

PRODUCTS is the folder with `store-under-fire`. Each of these faults is tried at each write boundary of the making; what
comes later is drawn. Prints what was found, or that nothing was, and ends with 1 where anything was.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "EndToEnd" / "Programs"))

import fault  # noqa: E402
from store_cases import StoreCases  # noqa: E402

SEED = 2
SHAPES = [(fault.SYNC_ERROR, 1, fault.KILL), (fault.SYNC_ERROR, 25, fault.KILL), (fault.KILL, 1, fault.CUT)]

products, folder = map(Path, sys.argv[1:])
cases = StoreCases(products / "store-under-fire", folder)
boundaries = cases.boundaries(SEED, steps=0)
work = [(shape, boundary, SEED) for boundary in range(boundaries) for shape in SHAPES]
with ThreadPoolExecutor(2) as workers:
    found = [finding for account in workers.map(lambda case: cases.run(*case), work) for finding in account.findings]
for finding in found:
    print(f"FOUND {finding}")
if found or boundaries < 10:
    sys.exit(1)
print(f"{len(work)} cases at {boundaries} write boundaries: nothing was found")
