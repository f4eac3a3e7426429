"""Tests the agreement with ns-2: each run within half a unit of the sixth digit."""

import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]
import agreement


class Runs(unittest.TestCase):
    def test_each_run_counts(self):
        """A hundred-thousandth of 200 is 0.002. The mean of a run above and a run below would hide both differences."""
        self.assertTrue(agreement.by_run([200, 200], [200.0019, 199.9981])["pass"])
        self.assertFalse(agreement.by_run([200, 200], [200.0021, 199.9979])["pass"])
        self.assertFalse(agreement.by_run([200, 200], [200, 199.997])["pass"])

    def test_a_zero_has_its_own_bound(self):
        self.assertTrue(agreement.by_run([0, 10], [0.05, 10])["pass"])
        self.assertFalse(agreement.by_run([0, 10], [0.051, 10])["pass"])

    def test_the_largest_difference_is_reported(self):
        self.assertAlmostEqual(agreement.by_run([100, 200], [100.1, 198])["difference_percent"], -1.0)


if __name__ == "__main__":
    unittest.main()
