//! What ends of real paths begin with. Dialects are for comparing: RFC 4340's initial values, ns-2's, Linux's.

use super::options::{ConnectionExpert, ConnectionOptions};
use headway_rate::{ControllerOptions, Nofeedback, TfrcSpOptions};
use headway_units::{Dialect, Duration, Options};

impl ConnectionOptions {
    /// For a program on real paths: TFRC first, whose receivers tell the fate of each packet too.
    ///
    /// - **Sequence Window 16,384** from the first packet on. Three quarters of it may be lost in one burst (section 7.5.1): 1.2 s of 10,000
    ///   packets a second, and a round trip may grow to 1.6 s before acknowledgements are too old. With the initial 100 a socket buffer that
    ///   overflows for some milliseconds puts both ends out of step, and of the Syncs that would mend it eight go in a second (section
    ///   7.5.4). Who cannot see packets hits such a window with a forged Data packet once in 2^34 guesses, for which he must guess both
    ///   ports too (section 7.5.5); a window of 100 once in 2^41. [`under_dtls`](Self::under_dtls) nobody can.
    /// - **Ack Vectors** also with CCID 3 and 4 (section 11.5), and `tail_ack` for the last packets. The peer must have them: Linux's CCID 3 is met
    ///   by dialect `linux`.
    /// - **Keep-alive** each 15 s (RFC 8085 section 3.5), below all that middleboxes forget after (RFC 4787 REQ-5); a peer that says nothing for 45 s
    ///   is gone, and so is one that leaves a Response, the first Acks or a Close without an answer for as long: eight minutes, which section 8 has for
    ///   all three, nobody waits.
    /// - **The path's MTU** is searched from 1280 bytes upwards.
    /// - **NDP Counts** (section 7.7): the receiver knows that a lost probe carried no data. The probe is no missing datagram, and TFRC does not
    ///   count it as a loss (RFC 4342 section 6.1.1; RFC 8899 section 3, item 7).
    /// - **Timers** ring each 100 us at most (`t_gran` of RFC 5348 section 8.3): what is due in between goes together. Below 96 Mb/s each packet of 1200
    ///   bytes has a gap of its own.
    /// - **Reports** are 10 ms apart at least, and TFRC's nofeedback timer waits for 200 ms at least, as Linux's.
    #[must_use]
    pub fn real() -> Self {
        let preset = Self::preset(Dialect::default());
        let mut options = Self {
            send_ccids: vec![3, 2, 4],
            receive_ccids: vec![3, 2, 4],
            sequence_window: 1 << 14,
            idle_give_up: Some(Duration::from_secs(45)),
            keep_alive: Some(Duration::from_secs(15)),
            probe_mtu: true,
            ndp_counts: true,
            expert: ConnectionExpert {
                respond_give_up: Duration::from_secs(45),
                partopen_give_up: Duration::from_secs(45),
                close_give_up: Duration::from_secs(45),
                report_gap: Some(Duration::from_millis(10)),
                tail_ack: Some(Duration::from_millis(50)),
                ..preset.expert
            },
            ..preset
        };
        for row in &mut options.controllers {
            row.ack_vectors = true;
            match &mut row.controller {
                ControllerOptions::Tfrc(tfrc) | ControllerOptions::TfrcSp(TfrcSpOptions(tfrc)) => {
                    tfrc.nofeedback = Nofeedback::FourRttBounded;
                    tfrc.expert.t_gran = Duration::from_micros(100);
                }
                _ => {}
            }
        }
        options
    }

    /// The same inside of DTLS over UDP, as SCTP goes in WebRTC (RFC 8261), where nobody but the peer can send what comes here. Not for DTLS over
    /// DCCP (RFC 5238), which leaves headers open.
    ///
    /// - **Sequence Window 65,536, and 1000 Syncs a second**: nothing is forged, so that neither needs a bound against guesses.
    /// - **Coverage of the headers only** (section 9.2): DTLS has verified each byte already. A peer that insists on more has it.
    /// - **A Request goes again after 200 ms**: DTLS's own handshake, with its own timers, has just shown that the path is there.
    /// - **TIMEWAIT of 4 s**, two of 2 s. It keeps old packets from a new connection of the same ports (section 8.3). Here none can come:
    ///   records of another association do not decrypt, its replay window takes none of this one twice, and the next connection in it draws 48 bits
    ///   of initial number anew. What is left is to answer a Close whose Reset was lost, and that goes again after two round trips.
    #[must_use]
    pub fn under_dtls() -> Self {
        let real = Self::real();
        Self {
            sequence_window: 1 << 16,
            syncs_per_second: 1000,
            send_coverage: 1,
            minimum_coverage: 1,
            expert: ConnectionExpert {
                request_timeout: Duration::from_millis(200),
                time_wait: Duration::from_secs(4),
                ..real.expert
            },
            ..real
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_right() {
        for preset in [ConnectionOptions::real(), ConnectionOptions::under_dtls()] {
            assert_eq!(preset.check(), Ok(()));
            assert!(preset.controllers.iter().all(|row| row.ack_vectors));
        }
    }
}
