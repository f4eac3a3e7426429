//! Presets for real paths. Dialects are for comparisons: initial values of RFC 4340, ns-2 and Linux.

use super::options::{ConnectionExpert, ConnectionOptions};
use crate::ccid::CcidController;
use crate::feature::Ccid;
use headway_rate::{
    ControllerOptions, InitialWindow, Nofeedback, Pacing, TfrcFilteredOptions, TfrcOptions, TfrcSpOptions,
};
use headway_units::{Dialect, Duration, Options};

/// CCIDs for real paths, the most preferred first.
const PREFERRED: [u8; 4] = [Ccid::TFRC_FILTERED.0, Ccid::TFRC.0, Ccid::TCP_LIKE.0, Ccid::TFRC_SP.0];

const fn suit_real_paths(tfrc: &mut TfrcOptions) {
    tfrc.nofeedback = Nofeedback::FourRttBounded;
    tfrc.expert.t_gran = Duration::from_micros(100);
}

impl ConnectionOptions {
    /// Returns options for a program on real paths. TFRC is preferred, with the guarded loss filter if the peer has it,
    /// and its receivers also report which packets arrived.
    ///
    /// - **CCID 250**, an experimental number (RFC 4340 section 19.5), comes before CCID 3. It is TFRC with the guarded
    ///   filter, which ignores losses that no queue explains. Packets are sent in pairs, so that the bottleneck queues one
    ///   of both and the filter can compare. The initial window is 10 packets (RFC 6928), as in the TCPs of today. A peer
    ///   that does not know CCID 250 gets CCID 3 of RFC 4342.
    /// - **Sequence Window of 16,384** from the first packet on. A burst of losses may cover three quarters of it (RFC
    ///   4340 section 7.5.1): 1.2 s at 10,000 packets per second. The round trip may reach 1.6 s before
    ///   acknowledgements become invalid. With the initial 100, a short overflow of a socket buffer desynchronizes the
    ///   endpoints, and only eight Syncs per second repair that (section 7.5.4). An off-path attacker hits a window of
    ///   16,384 with one in 2^34 forged Data packets, and must also guess both ports (section 7.5.5); a window of 100
    ///   with one in 2^41. [`under_dtls`](Self::under_dtls) prevents such attacks.
    /// - **Ack Vectors** also with CCID 3 and 4 (RFC 4340 section 11.5), and `tail_ack` for the last packets. The peer
    ///   must support them; use dialect `linux` for CCID 3 of Linux.
    /// - **Keep-alive** every 15 s (RFC 8085 section 3.5), below the binding timeouts of middleboxes (RFC 4787 REQ-5).
    ///   A peer that is silent for 45 s is considered gone, also if it leaves a Response, the first Acks or a Close
    ///   unanswered. The eight minutes of section 8 are too long for users.
    /// - **Path MTU search** from 1280 bytes upwards.
    /// - **NDP Counts** (section 7.7): the receiver knows that a lost probe carried no data. It is no missing datagram,
    ///   and TFRC does not count it as a loss (RFC 4342 section 6.1.1; RFC 8899 section 3, item 7).
    /// - **Timers** fire at most every 100 us (`t_gran` of RFC 5348 section 8.3). Packets that are due in between are
    ///   sent together. Below 96 Mb/s each packet of 1200 bytes is paced individually.
    /// - **Reports** are at least 10 ms apart, and the TFRC nofeedback timer is at least 200 ms, as in Linux.
    #[must_use]
    pub fn real() -> Self {
        let preset = Self::preset(Dialect::default());
        let mut options = Self {
            send_ccids: PREFERRED.to_vec(),
            receive_ccids: PREFERRED.to_vec(),
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
        let filtered = TfrcFilteredOptions::preset(Dialect::default());
        options.controllers.push(CcidController::new(Ccid::TFRC_FILTERED, ControllerOptions::TfrcFiltered(filtered)));
        for row in &mut options.controllers {
            row.ack_vectors = true;
            match &mut row.controller {
                ControllerOptions::Tfrc(tfrc) | ControllerOptions::TfrcSp(TfrcSpOptions(tfrc)) => suit_real_paths(tfrc),
                ControllerOptions::TfrcFiltered(TfrcFilteredOptions(tfrc)) => {
                    suit_real_paths(tfrc);
                    tfrc.expert.initial_window = InitialWindow::Ten;
                    tfrc.expert.pacing = Pacing::Pairs;
                }
                _ => {}
            }
        }
        options
    }

    /// Returns options for DCCP inside DTLS over UDP, like SCTP in WebRTC (RFC 8261), where only the peer can send
    /// valid packets. Not for DTLS over DCCP (RFC 5238), which does not protect headers.
    ///
    /// - **Sequence Window of 65,536, and 1000 Syncs per second**: packets cannot be forged, so that neither needs a
    ///   limit against guesses.
    /// - **Checksum coverage of headers only** (RFC 4340 section 9.2): DTLS has already verified each byte. A peer may
    ///   require more.
    /// - **Request timeout of 200 ms**: the DTLS handshake, with its own timers, has just confirmed the path.
    /// - **TIMEWAIT of 4 s**, two lifetimes of 2 s. It keeps old packets from a new connection with the same ports (RFC
    ///   4340 section 8.3). Under DTLS there are none: records of another association do not decrypt, the replay window
    ///   rejects duplicates, and the next connection draws a random 48-bit initial number. TIMEWAIT only has to answer
    ///   a Close whose Reset was lost, and that is retransmitted after two round trips.
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
    fn presets_are_valid() {
        for preset in [ConnectionOptions::real(), ConnectionOptions::under_dtls()] {
            assert_eq!(preset.check(), Ok(()));
            assert!(preset.controllers.iter().all(|row| row.ack_vectors));
        }
    }
}
