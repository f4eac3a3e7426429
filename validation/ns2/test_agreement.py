"""Who agrees with ns-2: runs within a bound, means within a bound or within chance."""

import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]
import agreement

# s^2 = 10/9 in ten runs: two such means differ by chance by 2.101 sqrt(2/9) = 0.990.
SWING = [1, -1] * 5


class Means(unittest.TestCase):
    def judge(self, difference, bound):
        return agreement.by_mean([100 + swing for swing in SWING], [100 + difference + swing for swing in SWING], bound)

    def test_within_the_bound(self):
        """2 % of 100 is more than chance."""
        for difference, agrees in [(1.99, True), (-1.99, True), (2.01, False), (-2.01, False)]:
            self.assertEqual(self.judge(difference, 0.02)["pass"], agrees, difference)

    def test_within_chance(self):
        """0.5 % of 100 is less than chance."""
        for difference, agrees in [(0.98, True), (-0.98, True), (1.00, False), (-1.00, False)]:
            self.assertEqual(self.judge(difference, 0.005)["pass"], agrees, difference)

    def test_what_is_told(self):
        judged = self.judge(-1.5, 0.02)
        self.assertEqual((judged["ns2"], judged["headway"]), (100, 98.5))
        self.assertAlmostEqual(judged["difference_percent"], -1.5)
        self.assertAlmostEqual(judged["chance_percent"], 0.990, delta=0.001)


class Runs(unittest.TestCase):
    def test_each_run_counts(self):
        """Of 200 a thousandth is 0.2; the mean of a run above and a run below would hide both."""
        self.assertTrue(agreement.by_run([200, 200], [200.199, 199.801], 0.001)["pass"])
        self.assertFalse(agreement.by_run([200, 200], [200.201, 199.799], 0.001)["pass"])
        self.assertFalse(agreement.by_run([200, 200], [200, 199.7], 0.001)["pass"])

    def test_a_zero_has_its_own_bound(self):
        self.assertTrue(agreement.by_run([0, 10], [0.05, 10], 0.001)["pass"])
        self.assertFalse(agreement.by_run([0, 10], [0.051, 10], 0.001)["pass"])

    def test_the_largest_difference_is_told(self):
        self.assertAlmostEqual(agreement.by_run([100, 200], [100.1, 198], 0.001)["difference_percent"], -1.0)


if __name__ == "__main__":
    unittest.main()
