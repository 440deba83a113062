# SPDX-License-Identifier: Apache-2.0
"""Run by an interpreter that has the wheel: imports it, trains, makes a list, and is refused.

    python trial.py RATINGS.csv [DEVICE]
"""
import sys

import likewise

ratings = likewise.Interactions(sys.argv[1])
device = sys.argv[2] if len(sys.argv) > 2 else "cpu"
model = likewise.Als(factors=32, iterations=3, device=device).fit(ratings)
assert len(model.recommend(ratings.users[0], n=3)[0]) == 3
# LAPACK, from the library in the wheel.
likewise.Als(feedback="explicit", factors=16, iterations=2, solver="cholesky", device=device).fit(ratings)
try:
    likewise.Als(factors=-1).fit(ratings)
except ValueError as error:
    assert "factors" in str(error)
else:
    raise SystemExit("factors=-1 was taken")
print("likewise", likewise.__version__, "on Python", sys.version.split()[0])
