//! Whether two means agree, chance included.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails where it panics")]

/// Of some runs.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub mean: f64,
    pub variance: f64,
    pub runs: usize,
}

/// What the runs say of two means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The Welch interval of their difference lies inside the margin.
    Agree,
    /// It reaches across it: more runs would tell.
    Undecided,
    /// It lies outside.
    Differ,
}

impl Mean {
    pub fn of(values: &[f64]) -> Self {
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (runs as f64 - 1.0);
        Self { mean, variance, runs }
    }

    /// Half the Welch 95 % interval of the difference of two means (Student's quantile by Cornish and Fisher).
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

    /// Whether two means agree within a margin, which is a part of the reference's.
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
