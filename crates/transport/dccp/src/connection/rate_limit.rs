//! Limit of answers per second to packets that any host can send (RFC 4340 sections 7.5.4 and 8.1.3).

use headway_units::{Duration, Instant};

/// Number of answers within the second that started with the first one.
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

    pub(crate) fn permits(&mut self, now: Instant) -> bool {
        self.permits_of(now, self.per_second)
    }

    /// Returns whether one more may be sent now if these use at most half, rounded up, of the limit.
    pub(crate) fn permits_half(&mut self, now: Instant) -> bool {
        self.permits_of(now, self.per_second.div_ceil(2))
    }

    fn permits_of(&mut self, now: Instant, most: u32) -> bool {
        if self.since.is_none_or(|since| now.since(since) >= Duration::from_secs(1)) {
            self.since = Some(now);
            self.count = 0;
        }
        let permitted = self.count < most;
        self.count += u32::from(permitted);
        permitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_applies_per_second() {
        let mut limit = RateLimit::new(8);
        let permitted = (0..1000).filter(|n| limit.permits(Instant::from_millis(*n))).count();
        assert_eq!(permitted, 8);
        assert!(limit.permits(Instant::from_millis(1000)));
    }

    /// Limited answers use at most half of the limit, and none after four others.
    #[test]
    fn half_of_the_limit_is_reserved() {
        let mut limit = RateLimit::new(8);
        let now = Instant::from_secs(1);
        assert_eq!((0..100).filter(|_| limit.permits_half(now)).count(), 4);
        assert_eq!((0..100).filter(|_| limit.permits(now)).count(), 4);
        let mut limit = RateLimit::new(8);
        assert_eq!((0..4).filter(|_| limit.permits(now)).count(), 4);
        assert!(!limit.permits_half(now));
    }
}
