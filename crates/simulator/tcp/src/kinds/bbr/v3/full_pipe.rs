//! Detection of a full pipe: three rounds in which the delivery rate grows by less than 25 % (section 5.3.1.2).

const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

#[derive(Clone, Debug)]
pub(super) struct FullPipe {
    /// `BBR.full_bw`: rate from which growth is measured.
    rate: f64,
    /// `BBR.full_bw_count`: rounds without growth.
    pub(super) count: u32,
    /// `BBR.full_bw_now`.
    pub(super) now: bool,
}

impl FullPipe {
    pub(super) const fn new() -> Self {
        Self { rate: 0.0, count: 0, now: false }
    }

    /// Starts to measure growth from `rate`.
    pub(super) fn restart(&mut self, rate: f64) {
        *self = Self { rate, ..Self::new() };
    }

    /// Processes the rate of a round that the application did not limit. Returns whether the pipe is full.
    pub(super) fn on_round(&mut self, rate: f64) -> bool {
        if !self.now && rate >= self.rate * GROWTH {
            self.restart(rate);
        } else if !self.now {
            self.count += 1;
            self.now = self.count >= ROUNDS;
        }
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BBRCheckFullBWReached`: three rounds without 25 % of growth.
    #[test]
    fn three_rounds_without_growth_fill_the_pipe() {
        let mut pipe = FullPipe::new();
        let full = [10.0, 20.0, 40.0, 49.0, 50.0, 51.0, 52.0, 53.0, 54.0].map(|rate| pipe.on_round(rate));
        assert_eq!(full, [false, false, false, false, false, false, false, true, true]);
    }
}
