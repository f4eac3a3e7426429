//! At most so many answers a second to packets that anybody can send (RFC 4340 sections 7.5.4 and 8.1.3).

use headway_units::{Duration, Instant};

/// Counts within a second that begins with the first answer.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    per_second: u32,
    since: Option<Instant>,
    count: u32,
}

impl RateLimit {
    pub(crate) const fn new(per_second: u32) -> Self {
        Self { per_second, since: None, count: 0 }
    }

    /// Whether one more may go now.
    pub(crate) fn permits(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.since(since) >= Duration::from_secs(1)) {
            self.since = Some(now);
            self.count = 0;
        }
        let permitted = self.count < self.per_second;
        self.count += u32::from(permitted);
        permitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_a_second() {
        let mut limit = RateLimit::new(8);
        let permitted = (0..1000).filter(|n| limit.permits(Instant::from_millis(*n))).count();
        assert_eq!(permitted, 8);
        assert!(limit.permits(Instant::from_millis(1000)));
    }
}
