"""Student's and Welch's intervals compared with printed tables and calculations by hand."""

import math
import unittest

from common import student


class Quantile(unittest.TestCase):
    def test_the_printed_table(self):
        """The 97.5 % quantiles by degrees of freedom of a textbook, to three digits: within 0.001 plus the rounding error."""
        for freedom, expected in [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (6, 2.447), (7, 2.365), (8, 2.306), (9, 2.262),
                                  (10, 2.228), (12, 2.179), (15, 2.131), (20, 2.086), (29, 2.045), (30, 2.042), (60, 2.000), (120, 1.980)]:
            self.assertAlmostEqual(student.quantile(freedom), expected, delta=0.0015, msg=f"{freedom} degrees")

    def test_a_part_of_a_degree_widens(self):
        self.assertEqual(student.quantile(3.9), student.quantile(3))
        self.assertEqual(student.quantile(2.999_999_9), student.quantile(3), "except for rounding")


class Interval(unittest.TestCase):
    def test_one_to_five(self):
        """Mean 3, s^2 = 2.5, 4 degrees: 2.776 sqrt(2.5 / 5) = 1.963."""
        self.assertAlmostEqual(student.interval([1, 2, 3, 4, 5]), 1.963, delta=0.001)

    def test_ten_runs(self):
        """Half at 1, half at -1: s^2 = 10/9, 9 degrees: 2.262 sqrt(1/9) = 0.754."""
        self.assertAlmostEqual(student.interval([1, -1] * 5), 0.754, delta=0.001)


class Welch(unittest.TestCase):
    def test_unlike_samples(self):
        """1 to 5 has s^2 / n = 2.5 / 5 = 1/2; 2, 4 to 14 has 18.667 / 7 = 8/3. Degrees (19/6)^2 / ((1/2)^2 / 4 + (8/3)^2 / 6) = 8.037, of
        which t is 2.30415 (the density integrated): 2.30415 sqrt(19/6) = 4.1003."""
        one, other = [1, 2, 3, 4, 5], [2, 4, 6, 8, 10, 12, 14]
        self.assertAlmostEqual(student.welch(one, other), 4.1003, delta=0.002)
        self.assertEqual(student.welch(one, other), student.welch(other, one))
        self.assertAlmostEqual(student.welch([100 + value for value in one], other), student.welch(one, other), places=9)

    def test_like_samples(self):
        """Two samples of ten with s^2 = 10/9: 18 degrees, 2.101 sqrt(2/9) = 0.990."""
        self.assertAlmostEqual(student.welch([1, -1] * 5, [4, 2] * 5), 2.1009 * math.sqrt(2 / 9), delta=0.001)

    def test_nothing_varies(self):
        """Zero spread gives no interval; an interval of 0 would mean that the difference is known exactly."""
        self.assertIsNone(student.welch([3, 3, 3], [5, 5]))
        self.assertIsNone(student.interval([3, 3, 3]))
        self.assertIsNotNone(student.welch([3, 3, 3], [5, 6]))

    def test_single_values(self):
        self.assertIsNone(student.interval([3]))
        self.assertIsNone(student.welch([3], [5, 6]))

    def test_shown(self):
        self.assertEqual((student.shown(None, ".2f"), student.shown(1.5, ".2f")), ("", " ± 1.50"))


if __name__ == "__main__":
    unittest.main()
