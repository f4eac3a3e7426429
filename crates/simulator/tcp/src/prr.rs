//! Proportional rate reduction (RFC 6937, with the reduction bound PRR-SSRB; Linux 6.1 `tcp_cwnd_reduction`).
//!
//! ```text
//! pipe > ssthresh:  sndcnt = ceil(prr_delivered ssthresh / RecoverFS) - prr_out
//! else:             sndcnt = min(ssthresh - pipe, max(prr_delivered - prr_out, delivered) + 1)
//! cwnd = pipe + sndcnt
//! ```
//! The `+ 1` applies only if the acknowledgement is new and reveals no further loss, as in Linux since 5.19.

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// RecoverFS: the window on entry.
    recover_fs: u64,
    ssthresh: u64,
    delivered: u64,
    pub(crate) out: u64,
}

impl Prr {
    pub(crate) fn new(recover_fs: u64, ssthresh: u64) -> Self {
        Self { recover_fs: recover_fs.max(1), ssthresh, delivered: 0, out: 0 }
    }

    /// Returns the window after an acknowledgement of `delivered` segments. `clean`: it is new and reveals no further
    /// loss.
    pub(crate) fn window(&mut self, pipe: u64, delivered: u64, clean: bool) -> u64 {
        self.delivered += delivered;
        let count = if pipe > self.ssthresh {
            (self.delivered * self.ssthresh).div_ceil(self.recover_fs).saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + u64::from(clean);
            bound.min(self.ssthresh - pipe)
        };
        // The fast retransmit itself is always allowed.
        pipe + count.max(u64::from(self.out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 section 4, first example: 20 in flight, one lost, ssthresh 10. One segment is sent per two
    /// acknowledgements, so the recovery ends with 10 in flight.
    #[test]
    fn one_loss_halves_evenly() {
        let mut prr = Prr::new(20, 10);
        let mut pipe = 19u64;
        let mut sent = 0;
        for _ in 0..19 {
            pipe -= 1;
            let window = prr.window(pipe, 1, false);
            let send = window.saturating_sub(pipe);
            prr.out += send;
            pipe += send;
            sent += send;
        }
        assert_eq!((sent, pipe), (10, 10));
    }

    /// RFC 6937 section 3: at ssthresh the bound applies, and the window equals the pipe.
    #[test]
    fn at_ssthresh_nothing_is_added() {
        let mut prr = Prr::new(20, 10);
        prr.out = 1;
        assert_eq!(prr.window(10, 4, true), 10);
        // One above ssthresh the proportional part applies: ceil(5 x 10 / 20) - 1.
        assert_eq!(prr.window(11, 1, true), 13);
    }

    /// With most segments lost, the window follows the deliveries, without stalls or bursts.
    #[test]
    fn heavy_loss_keeps_packets_moving() {
        let mut prr = Prr::new(20, 10);
        assert_eq!(prr.window(4, 1, false), 5);
        prr.out += 1;
        assert_eq!(prr.window(4, 1, true), 6);
    }
}
