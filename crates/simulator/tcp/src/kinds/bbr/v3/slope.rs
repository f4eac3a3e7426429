//! Growth of `inflight_longterm` in UP: by 1, 2, 4, 8 ... segments per round (section 5.3.3.6).

#[derive(Clone, Debug)]
pub(super) struct Slope {
    /// `BBR.bw_probe_up_rounds`.
    rounds: u32,
    /// `BBR.bw_probe_up_acks`: segments delivered towards the next increment.
    acked: f64,
    /// `BBR.probe_up_cnt`: segments delivered per increment.
    per_increment: f64,
}

impl Slope {
    pub(super) const fn new() -> Self {
        Self { rounds: 0, acked: 0.0, per_increment: f64::INFINITY }
    }

    pub(super) fn stop(&mut self) {
        self.per_increment = f64::INFINITY;
    }

    /// Doubles the growth (`BBRRaiseInflightLongtermSlope`).
    pub(super) fn raise(&mut self, cwnd: f64) {
        self.per_increment = (cwnd / f64::from(1_u32 << self.rounds)).max(1.0);
        self.rounds = (self.rounds + 1).min(30);
    }

    /// Counts delivered segments. Returns the segments to add.
    pub(super) fn acked(&mut self, segments: u64) -> f64 {
        self.acked += segments as f64;
        let increments = (self.acked / self.per_increment).floor();
        if increments > 0.0 {
            self.acked -= increments * self.per_increment;
        }
        increments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BBRRaiseInflightLongtermSlope` for a window of 64 segments.
    #[test]
    fn the_slope_doubles_each_round() {
        let mut slope = Slope::new();
        let slopes = [(); 8].map(|()| {
            slope.raise(64.0);
            slope.per_increment
        });
        assert_eq!(slopes, [64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn increments_are_counted() {
        let mut slope = Slope::new();
        assert_eq!(slope.acked(100), 0.0);
        slope.raise(64.0);
        assert_eq!([slope.acked(27), slope.acked(1), slope.acked(63)], [1.0, 1.0, 0.0]);
    }
}
