//! Path MTU: the maximum packet size (RFC 4340 section 14), and black hole detection.
//!
//! A route may change silently to one with a smaller MTU, so that only full-size packets are lost. A probing connection
//! detects that as in RFC 8899 section 4.3. If a large packet stays unacknowledged, it sends a padded Sync of the
//! current size, followed by a bare one. If three times only the bare one is answered, the path is a black hole for
//! this size. Silence to both is an outage, unrelated to size.
//!
//! The upward search also sends a bare Sync after each probe. If only the bare one is answered, the probe is lost, and
//! the next attempt need not wait for the timer of RFC 8899 section 5.1.1, which is at least a second.

use headway_units::{Duration, Instant, Seq48};

/// Space reserved for options after the longest header of a data packet, in bytes.
pub(super) const OPTION_ALLOWANCE: usize = 16;
const DATA_HEADER: usize = 16;
const DATA_ACK_HEADER: usize = 24;
/// Initial size of a probing connection, in bytes: the minimum MTU of IPv6 links.
const BASE: usize = 1280;
/// Minimum size after an ICMP message, in bytes: what every host can receive (RFC 791).
const MIN_PMTU: usize = 576;
/// Minimum increase worth a probe, in bytes.
const STEP: usize = 16;
/// Number of lost packets of one size that prove it too large; a single loss may be congestion.
const TRIES: u32 = 3;
/// Time without acknowledgement of a large packet, while others of its size are sent, after which
/// the size is tested. The test costs two Syncs. Waiting for more such packets would take long,
/// because a controller without feedback keeps reducing its rate.
const TEST_AFTER: Duration = Duration::from_secs(1);
/// Interval of confirmations of the current size while data is sent (RFC 8899 section 5.1.1,
/// CONFIRMATION_TIMER). Most packets are a few bytes smaller: when the path MTU shrinks slightly,
/// they still pass and only packets with many options are lost.
const CONFIRM: Duration = Duration::from_secs(30);
/// Interval after which a finished search restarts, because paths change.
const RESTART_INTERVAL: Duration = Duration::from_secs(600);
/// Plateaus of RFC 1191 section 7, for routers that do not report their MTU.
const PLATEAUS: [usize; 7] = [8166, 4352, 2002, 1492, 1280, 1006, 576];

/// Path MTU and the search for a larger one. Sizes include the IP header.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    pmtu: usize,
    interface: usize,
    lower_headers: usize,
    ceiling: usize,
    probing: bool,
    /// Nothing larger has been tried in this search.
    fresh: bool,
    /// The first probe of the connection has been answered or given up.
    known: bool,
    /// The path has carried a packet of the current size, or a router reported it (RFC 8899 section
    /// 5.2: the Base phase confirms it).
    confirmed: bool,
    probe: Option<Probe>,
    tries: u32,
    watch: Option<Watch>,
    asked: Option<Instant>,
    restart_at: Option<Instant>,
    size_test: Option<SizeTest>,
}

#[derive(Clone, Copy, Debug)]
struct Watch {
    seq: Seq48,
    size: usize,
    sent: Instant,
    /// Number of packets of this size or larger, including itself.
    packets: u32,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    seq: Seq48,
    size: usize,
    /// The bare Sync that followed has been answered.
    smaller_arrived: bool,
}

/// Number of unanswered padded Syncs of the current size.
#[derive(Clone, Copy, Debug, Default)]
struct SizeTest {
    too_large: u32,
    /// The bare Sync was not answered either.
    silent: u32,
}

impl PathMtu {
    pub(crate) fn new(interface: usize, lower_headers: usize, probing: bool) -> Self {
        let pmtu = if probing { interface.min(BASE) } else { interface };
        let known = interface < pmtu + STEP;
        let confirmed = pmtu <= MIN_PMTU;
        Self {
            pmtu,
            interface,
            lower_headers,
            ceiling: interface,
            probing,
            fresh: true,
            known,
            confirmed,
            probe: None,
            tries: 0,
            watch: None,
            asked: None,
            restart_at: None,
            // The answer to a larger probe also confirms the current size.
            size_test: (probing && known && !confirmed).then(SizeTest::default),
        }
    }

    pub(crate) fn start_at_least(&mut self) {
        if self.probing {
            self.pmtu = self.pmtu.min(MIN_PMTU);
            self.known = self.interface < self.pmtu + STEP;
            (self.confirmed, self.size_test) = (true, None);
        }
    }

    /// Sets a lower bound of the size of headers below DCCP, in bytes.
    pub(crate) fn reserve_headers(&mut self, lower_headers: usize) {
        self.lower_headers = self.lower_headers.max(lower_headers);
    }

    /// Returns the maximum size of a DCCP packet with its header, in bytes.
    pub(crate) const fn packet(&self) -> usize {
        self.pmtu.saturating_sub(self.lower_headers)
    }
    /// Returns the minimum size of all headers of a data packet, in bytes.
    pub(crate) const fn headers(&self) -> usize {
        self.lower_headers + DATA_HEADER
    }
    /// Returns the maximum packet size (MPS): the largest datagram that leaves space for the usual options, in bytes.
    pub(crate) const fn mps(&self) -> usize {
        self.packet().saturating_sub(DATA_ACK_HEADER + OPTION_ALLOWANCE)
    }

    /// Records a data packet sent. Returns whether the current size must be tested now.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, rtt: Duration, seq: Seq48, packet: usize) -> bool {
        let size = packet + self.lower_headers;
        // Larger packets are sent in fragments.
        if !self.probing || size <= MIN_PMTU || size > self.pmtu || self.size_test.is_some() {
            return false;
        }
        // In an outage nothing is confirmed, so the test is repeated while data is sent.
        let is_open = !self.confirmed && !self.fresh;
        if now.since(*self.asked.get_or_insert(now)) >= CONFIRM || is_open {
            (self.asked, self.size_test) = (Some(now), Some(SizeTest::default()));
            return true;
        }
        let this = Watch { seq, size, sent: now, packets: 0 };
        let watch = self.watch.get_or_insert(this);
        watch.packets += u32::from(size >= watch.size);
        if now.since(watch.sent) < TEST_AFTER.max(rtt * 4) {
            return false;
        }
        let is_doubtful = watch.packets > 1;
        if is_doubtful {
            self.size_test = Some(SizeTest::default());
        } else {
            // It was lost, and is larger than the packets sent now.
            *watch = Watch { packets: 1, ..this };
        }
        is_doubtful
    }
    /// Records that `packets` packets from `newest` down were received.
    pub(crate) fn on_arrivals(&mut self, newest: Seq48, packets: u64) {
        self.watch.take_if(|watch| newest.distance_from(watch.seq) < packets);
    }
    pub(crate) const fn probes(&self) -> bool {
        self.probing
    }
    pub(crate) const fn is_probing(&self) -> bool {
        self.probe.is_some()
    }
    /// Returns the DCCP packet size to probe now, if any: half way to the ceiling, or the current size during a test.
    pub(crate) fn next_probe(&self) -> Option<usize> {
        if self.size_test.is_some() {
            return self.probe.is_none().then_some(self.pmtu - self.lower_headers);
        }
        let wanted = self.probing && self.probe.is_none() && self.ceiling >= self.pmtu + STEP;
        // The ceiling is tried first, since most paths carry it.
        let half = self.pmtu + self.ceiling.saturating_sub(self.pmtu).div_ceil(2);
        let size = if self.fresh { self.ceiling } else { half };
        wanted.then_some(size - self.lower_headers)
    }
    pub(crate) fn probe_sent(&mut self, seq: Seq48, packet: usize) {
        self.probe = Some(Probe { seq, size: packet + self.lower_headers, smaller_arrived: false });
    }
    pub(crate) const fn is_known(&self) -> bool {
        self.known
    }
    /// Handles a SyncAck. Returns `None` if it does not answer a probe, otherwise whether the path
    /// MTU or its status has changed. Another probe may then be due.
    pub(crate) fn on_sync_ack(&mut self, ack: Seq48) -> Option<bool> {
        if let Some(probe) = self.probe.as_mut().filter(|probe| probe.seq + 1 == ack) {
            probe.smaller_arrived = true;
            let size = probe.size;
            // The timer decides for a size that was carried before: its probe may have been lost by chance.
            let probe = self.probe.take_if(|_| size > self.pmtu || !self.confirmed)?;
            return Some(self.is_lost(probe));
        }
        let probe = self.probe.take_if(|probe| probe.seq == ack)?;
        (self.watch, self.size_test, self.confirmed) = (None, None, true);
        let is_repeated = probe.size == self.pmtu;
        (self.tries, self.fresh) = (0, self.fresh && is_repeated);
        let grows = probe.size > self.pmtu;
        self.pmtu = self.pmtu.max(probe.size);
        self.known |= grows;
        Some(grows)
    }
    /// Handles a lost probe. Returns whether the path MTU or its status has changed.
    fn is_lost(&mut self, probe: Probe) -> bool {
        if probe.size <= self.pmtu { self.test_failed(probe) } else { self.lost(probe.size) }
    }

    /// Handles a lost probe of a larger size. Returns whether this ends the first search.
    fn lost(&mut self, size: usize) -> bool {
        self.tries += 1;
        if self.tries < TRIES {
            return false;
        }
        (self.tries, self.fresh) = (0, false);
        self.ceiling = (size - 1).max(self.pmtu);
        if !self.confirmed {
            self.size_test.get_or_insert_default();
        }
        !std::mem::replace(&mut self.known, true)
    }
    /// Handles the probe timer, or restarts the search. Returns whether the path MTU or its status has changed.
    pub(crate) fn on_timer(&mut self) -> bool {
        if let Some(probe) = self.probe.take() {
            return self.is_lost(probe);
        }
        (self.ceiling, self.fresh, self.restart_at) = (self.interface, true, None);
        false
    }

    /// Handles an unanswered test of the current size. If the path does not carry it, the next size is the IPv6
    /// minimum, then the least (RFC 8899 section 5.2). The old size is tried first, as the cause may be congestion. The
    /// new size is confirmed next: on a slightly narrower path only some packets with options are lost.
    fn test_failed(&mut self, probe: Probe) -> bool {
        let Some(test) = &mut self.size_test else { return false };
        test.too_large += u32::from(probe.smaller_arrived);
        test.silent += u32::from(!probe.smaller_arrived);
        let (is_hole, is_outage) = (test.too_large >= TRIES, test.silent >= TRIES);
        if is_hole || is_outage {
            (self.watch, self.size_test) = (None, None);
        }
        let smaller = if self.pmtu > BASE { BASE } else { MIN_PMTU };
        let shrinks = is_hole && smaller < self.pmtu;
        if shrinks {
            (self.pmtu, self.ceiling, self.fresh, self.tries) = (smaller, probe.size, true, 0);
            (self.confirmed, self.restart_at) = (smaller <= MIN_PMTU, None);
            self.size_test = (!self.confirmed).then(SizeTest::default);
        }
        shrinks
    }
    /// Returns when a finished search restarts, if a larger size is possible.
    pub(crate) fn resting(&mut self, now: Instant) -> Option<Instant> {
        let worth = self.probing && self.interface >= self.pmtu + STEP;
        (worth && self.probe.is_none() && self.next_probe().is_none())
            .then(|| *self.restart_at.get_or_insert(now + RESTART_INTERVAL))
    }

    /// Handles a router's report that a packet was too big. `mtu` is that of the next hop, 0 if
    /// unknown. Returns whether the path MTU shrank.
    pub(crate) fn on_too_big(&mut self, mtu: usize) -> bool {
        let mtu = match mtu {
            0 => PLATEAUS.into_iter().find(|plateau| *plateau < self.pmtu).unwrap_or(MIN_PMTU),
            mtu => mtu.max(MIN_PMTU),
        };
        let shrinks = mtu < self.pmtu;
        if shrinks {
            self.pmtu = mtu;
            self.ceiling = mtu;
            (self.known, self.confirmed) = (true, true);
            (self.probe, self.watch, self.size_test, self.restart_at) = (None, None, None, None);
        }
        shrinks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux reports 1440 for a client on a path of 1500 bytes. RFC 6773 section 3.7: under UDP it is 8 less.
    #[test]
    fn mps_on_ethernet() {
        assert_eq!(PathMtu::new(1500, 20, false).mps(), 1440);
        assert_eq!(PathMtu::new(1500, 28, false).mps(), 1432);
    }

    /// RFC 1191 section 7, and section 14.1: a message with a larger MTU is ignored.
    #[test]
    fn mtu_reports_shrink_the_path_mtu() {
        let mut mtu = PathMtu::new(1500, 20, false);
        assert!(mtu.on_too_big(1400) && !mtu.on_too_big(1450));
        assert!(!mtu.on_too_big(1400), "a repeated message about the old size");
        assert_eq!(mtu.packet(), 1380);
        assert!(mtu.on_too_big(0));
        assert_eq!(mtu.packet(), 1260);
        assert!(mtu.on_too_big(1));
        assert_eq!(mtu.packet(), 556);
    }

    /// A probe is lost if the bare Sync after it is answered. One may be lost by chance; the third
    /// ends the search at this size.
    #[test]
    fn a_probe_is_lost_if_the_next_sync_is_answered() {
        let (mut mtu, mut seq) = (PathMtu::new(1500, 20, true), Seq48::ZERO);
        let probe = |mtu: &mut PathMtu, seq: &mut Seq48| {
            *seq += 2;
            let size = mtu.next_probe().unwrap();
            mtu.probe_sent(*seq, size);
            size
        };
        for changed in [false, false, true] {
            assert!(!mtu.is_known());
            assert_eq!(probe(&mut mtu, &mut seq), 1480);
            assert_eq!(mtu.on_sync_ack(seq + 1), Some(changed));
            assert_eq!(mtu.on_sync_ack(seq), None, "a late answer is ignored");
        }
        assert!(mtu.is_known() && mtu.packet() == 1260);
        // RFC 8899 section 5.2: the Base phase confirms 1280 B.
        assert_eq!(probe(&mut mtu, &mut seq), 1260);
        assert_eq!(mtu.on_sync_ack(seq), Some(false));
        assert!(probe(&mut mtu, &mut seq) < 1480);
        assert_eq!(mtu.on_sync_ack(seq), Some(true));
        assert_eq!(mtu.on_sync_ack(seq + 1), None);
        assert!(PathMtu::new(1280, 20, true).is_known() && PathMtu::new(1500, 20, false).is_known());
    }

    /// The search finds the path MTU up to a step, from answered and lost probes. RFC 8899 section
    /// 5.2: it starts below 1280 B if that size is in doubt.
    #[test]
    fn searches_upwards() {
        for path in [576, 600, 1000, 1279, 1280, 1300, 1400, 1492, 1500] {
            let (mut mtu, mut seq) = (PathMtu::new(1500, 20, true), Seq48::ZERO);
            if path < BASE {
                mtu.start_at_least();
                assert_eq!((mtu.packet(), mtu.is_known()), (556, false));
            }
            let mut probes = 0;
            while let Some(size) = mtu.next_probe() {
                seq += 1;
                probes += 1;
                let before = mtu.pmtu;
                mtu.probe_sent(seq, size);
                if size + 20 <= path {
                    assert_eq!(mtu.on_sync_ack(seq), Some(size + 20 > before));
                } else {
                    mtu.on_timer();
                }
            }
            assert!(mtu.pmtu <= path && mtu.pmtu + STEP > path, "{path}: {}", mtu.pmtu);
            assert!(probes < 25, "{path}: {probes}");
            let worth = mtu.pmtu + STEP <= 1500;
            assert_eq!(mtu.resting(Instant::ZERO), worth.then_some(Instant::from_secs(600)));
        }
    }
}
