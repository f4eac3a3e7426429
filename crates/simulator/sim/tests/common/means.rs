//! Statistical comparison of two means.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails where it panics")]

#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub mean: f64,
    pub variance: f64,
    pub runs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The Welch interval of the difference is inside the margin.
    Agree,
    /// The interval crosses the margin; more runs may decide.
    Undecided,
    /// The interval is outside the margin.
    Differ,
}

impl Mean {
    pub fn of(values: &[f64]) -> Self {
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (runs as f64 - 1.0);
        Self { mean, variance, runs }
    }

    /// Returns half the Welch 95 % interval of the difference (Student's quantile by Cornish and Fisher).
    pub fn welch(&self, other: &Self) -> f64 {
        let (na, nb) = (self.runs as f64, other.runs as f64);
        let (va, vb) = (self.variance / na, other.variance / nb);
        if va + vb == 0.0 {
            return 0.0;
        }
        let v = (va + vb) * (va + vb) / (va * va / (na - 1.0) + vb * vb / (nb - 1.0));
        let z: f64 = 1.959_964;
        let t = z + z * (z * z + 1.0) / (4.0 * v) + z * (5.0 * z * z * z * z + 16.0 * z * z + 3.0) / (96.0 * v * v);
        t * (va + vb).sqrt()
    }

    /// Compares two means with a margin relative to the reference.
    pub fn verdict(&self, reference: &Self, relative: f64) -> Verdict {
        assert!(self.runs.min(reference.runs) >= 10, "fewer runs prove nothing");
        let (off, chance, margin) =
            ((self.mean - reference.mean).abs(), self.welch(reference), relative * reference.mean);
        match (off + chance <= margin, off - chance > margin) {
            (true, _) => Verdict::Agree,
            (_, true) => Verdict::Differ,
            _ => Verdict::Undecided,
        }
    }
}
