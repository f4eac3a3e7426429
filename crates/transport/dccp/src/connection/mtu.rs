//! How large packets may be (RFC 4340 section 14), and whether they still come through.
//!
//! A route may change to one whose MTU is smaller, and say nothing: packets of full size vanish, and smaller ones come. Who probes watches for
//! that as RFC 8899 section 4.3 has it: a large packet of which no acknowledgement tells is a reason to ask, by a padded Sync of the size that is
//! believed in, and at once by a bare one. Where three times only the bare one is answered there is a black hole; silence to both is an
//! outage, of which the size is no cause.
//!
//! The search upwards sends a bare Sync behind each probe, too. Where that is answered and the probe is not, the probe is lost, and the next try
//! need not wait for the timer of RFC 8899 section 5.1.1, which is a second at least.

use headway_units::{Duration, Instant, Seq48};

/// What options are expected to need beside the longest header of a packet with data.
pub(super) const OPTION_ALLOWANCE: usize = 16;
/// The header of a packet of data and nothing else.
const DATA_HEADER: usize = 16;
/// The header of a DataAck.
const DATA_ACK_HEADER: usize = 24;
/// Where a connection that probes upwards begins: what every IPv6 link carries.
const BASE: usize = 1280;
/// The least that an ICMP message may bring it down to: what every host can receive (RFC 791).
const LEAST: usize = 576;
/// A probe that is this much larger than what goes through is not worth it.
const STEP: usize = 16;
/// Losses of one size that prove it too large: one may be congestion.
const TRIES: u32 = 3;
/// A large packet of which nothing is known for so long, while others of its size go, is a reason to ask whether they come through. That costs two
/// Syncs. Who waits for more of them waits long: a controller that hears nothing sends less and less.
const PATIENCE: Duration = Duration::from_secs(1);
/// The present size is confirmed each time after this long, while data goes (RFC 8899 section 5.1.1, CONFIRMATION_TIMER). Most packets are some bytes
/// smaller: they pass where the path has become a little narrower, and the few with many options are lost.
const CONFIRM: Duration = Duration::from_secs(30);
/// When the search is done it begins again after this long: paths change.
const AGAIN: Duration = Duration::from_secs(600);
/// The plateaus of RFC 1191 section 7, for routers that do not say their MTU.
const PLATEAUS: [usize; 7] = [8166, 4352, 2002, 1492, 1280, 1006, 576];

/// The path MTU and the search for a larger one. Sizes count the IP header.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    pmtu: usize,
    interface: usize,
    lower_headers: usize,
    /// The least size that is known not to go through, less one.
    ceiling: usize,
    probing: bool,
    /// Nothing larger has been tried in this search.
    fresh: bool,
    /// The first probe of the connection has been answered, or given up: until then nobody knows whether larger packets go.
    known: bool,
    /// The path has carried a packet of the present size, or a router reported it (RFC 8899 section 5.2: the Base phase confirms it).
    confirmed: bool,
    probe: Option<Probe>,
    /// Losses of the present size.
    tries: u32,
    watch: Option<Watch>,
    /// When the present size was last to be confirmed.
    asked: Option<Instant>,
    /// When a search that is done begins again.
    again: Option<Instant>,
    /// Whether the present size still comes through is in doubt.
    doubt: Option<Doubt>,
}

/// A large packet of data, of which nothing is known yet.
#[derive(Clone, Copy, Debug)]
struct Watch {
    seq: Seq48,
    size: usize,
    sent: Instant,
    /// Itself, and packets of its size and larger since.
    packets: u32,
}

/// A padded Sync on its way.
#[derive(Clone, Copy, Debug)]
struct Probe {
    seq: Seq48,
    size: usize,
    /// The bare Sync that went next has been answered.
    smaller_came: bool,
}

/// Padded Syncs of the present size without an answer.
#[derive(Clone, Copy, Debug, Default)]
struct Doubt {
    /// Where the bare one was answered.
    too_large: u32,
    /// Where neither was.
    silent: u32,
}

impl PathMtu {
    pub(crate) fn new(interface: usize, lower_headers: usize, probing: bool) -> Self {
        let pmtu = if probing { interface.min(BASE) } else { interface };
        let known = interface < pmtu + STEP;
        let confirmed = pmtu <= LEAST;
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
            again: None,
            // A larger probe that is answered confirms the size, too.
            doubt: (probing && known && !confirmed).then(Doubt::default),
        }
    }

    /// Starts the search at the least size.
    pub(crate) fn start_at_least(&mut self) {
        if self.probing {
            self.pmtu = self.pmtu.min(LEAST);
            self.known = self.interface < self.pmtu + STEP;
            (self.confirmed, self.doubt) = (true, None);
        }
    }

    /// Headers below DCCP have so many bytes at least.
    pub(crate) fn leave(&mut self, lower_headers: usize) {
        self.lower_headers = self.lower_headers.max(lower_headers);
    }

    /// The largest whole DCCP packet.
    pub(crate) const fn packet(&self) -> usize {
        self.pmtu.saturating_sub(self.lower_headers)
    }
    /// What headers take of a packet of data, at least.
    pub(crate) const fn headers(&self) -> usize {
        self.lower_headers + DATA_HEADER
    }
    /// MPS: the largest datagram, with room for the usual options.
    pub(crate) const fn mps(&self) -> usize {
        self.packet().saturating_sub(DATA_ACK_HEADER + OPTION_ALLOWANCE)
    }

    /// A packet of data goes. Whether it is now to be asked if such packets come through.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, rtt: Duration, seq: Seq48, packet: usize) -> bool {
        let size = packet + self.lower_headers;
        // What is larger goes in fragments.
        if !self.probing || size <= LEAST || size > self.pmtu || self.doubt.is_some() {
            return false;
        }
        // In an outage nothing is confirmed: it is tried again while data goes.
        let is_open = !self.confirmed && !self.fresh;
        if now.since(*self.asked.get_or_insert(now)) >= CONFIRM || is_open {
            (self.asked, self.doubt) = (Some(now), Some(Doubt::default()));
            return true;
        }
        let this = Watch { seq, size, sent: now, packets: 0 };
        let watch = self.watch.get_or_insert(this);
        watch.packets += u32::from(size >= watch.size);
        if now.since(watch.sent) < PATIENCE.max(rtt * 4) {
            return false;
        }
        let doubtful = watch.packets > 1;
        if doubtful {
            self.doubt = Some(Doubt::default());
        } else {
            // It was lost, and larger than what goes now.
            *watch = Watch { packets: 1, ..this };
        }
        doubtful
    }
    /// Packets from `newest` down have come, so many.
    pub(crate) fn on_arrivals(&mut self, newest: Seq48, packets: u64) {
        self.watch.take_if(|watch| newest.distance_from(watch.seq) < packets);
    }
    /// Whether this connection probes the path.
    pub(crate) const fn probes(&self) -> bool {
        self.probing
    }
    /// Whether a probe is on its way.
    pub(crate) const fn is_probing(&self) -> bool {
        self.probe.is_some()
    }
    /// The DCCP packet size to probe now, if any: half way to the ceiling, or the present one if that is in doubt.
    pub(crate) fn next_probe(&self) -> Option<usize> {
        if self.doubt.is_some() {
            return self.probe.is_none().then_some(self.pmtu - self.lower_headers);
        }
        let wanted = self.probing && self.probe.is_none() && self.ceiling >= self.pmtu + STEP;
        // The ceiling itself first: most paths carry it.
        let half = self.pmtu + self.ceiling.saturating_sub(self.pmtu).div_ceil(2);
        let size = if self.fresh { self.ceiling } else { half };
        wanted.then_some(size - self.lower_headers)
    }
    /// The probe has gone with this number.
    pub(crate) fn probe_sent(&mut self, seq: Seq48, packet: usize) {
        self.probe = Some(Probe { seq, size: packet + self.lower_headers, smaller_came: false });
    }
    /// Whether larger packets than [`mps`](Self::mps) may go for all that is known, and are asked about now.
    pub(crate) const fn is_known(&self) -> bool {
        self.known
    }
    /// A SyncAck has come. `None`: not to one of ours. Otherwise there may be more to probe at once; whether there is something to tell of
    /// the path MTU.
    pub(crate) fn on_sync_ack(&mut self, ack: Seq48) -> Option<bool> {
        if let Some(probe) = self.probe.as_mut().filter(|probe| probe.seq + 1 == ack) {
            probe.smaller_came = true;
            let size = probe.size;
            // The timer judges a size that has been carried before: its probe may have been lost by chance.
            let probe = self.probe.take_if(|_| size > self.pmtu || !self.confirmed)?;
            return Some(self.is_lost(probe));
        }
        let probe = self.probe.take_if(|probe| probe.seq == ack)?;
        (self.watch, self.doubt, self.confirmed) = (None, None, true);
        let asked_again = probe.size == self.pmtu;
        (self.tries, self.fresh) = (0, self.fresh && asked_again);
        let grows = probe.size > self.pmtu;
        self.pmtu = self.pmtu.max(probe.size);
        self.known |= grows;
        Some(grows)
    }
    /// A probe is lost. Whether there is something to tell of the path MTU.
    fn is_lost(&mut self, probe: Probe) -> bool {
        if probe.size <= self.pmtu { self.doubts_more(probe) } else { self.lost(probe.size) }
    }

    /// A probe upwards is lost; whether that settles what was not known.
    fn lost(&mut self, size: usize) -> bool {
        self.tries += 1;
        if self.tries < TRIES {
            return false;
        }
        (self.tries, self.fresh) = (0, false);
        self.ceiling = (size - 1).max(self.pmtu);
        if !self.confirmed {
            self.doubt.get_or_insert_default();
        }
        !std::mem::replace(&mut self.known, true)
    }
    /// No SyncAck has come, or the search has rested. Whether there is something to tell of the path MTU.
    pub(crate) fn on_timer(&mut self) -> bool {
        if let Some(probe) = self.probe.take() {
            return self.is_lost(probe);
        }
        (self.ceiling, self.fresh, self.again) = (self.interface, true, None);
        false
    }

    /// Nothing has answered for the present size. If the path does not carry it, what every path of IPv6 carries is the next guess, and then the
    /// least (RFC 8899 section 5.2). The old size is tried first, for it may have been congestion. The guess is confirmed next: where the path is
    /// a little narrower, packets without options pass, and only some of those with options are lost.
    fn doubts_more(&mut self, probe: Probe) -> bool {
        let Some(doubt) = &mut self.doubt else { return false };
        doubt.too_large += u32::from(probe.smaller_came);
        doubt.silent += u32::from(!probe.smaller_came);
        let (is_hole, is_outage) = (doubt.too_large >= TRIES, doubt.silent >= TRIES);
        if is_hole || is_outage {
            (self.watch, self.doubt) = (None, None);
        }
        let smaller = if self.pmtu > BASE { BASE } else { LEAST };
        let shrinks = is_hole && smaller < self.pmtu;
        if shrinks {
            (self.pmtu, self.ceiling, self.fresh, self.tries) = (smaller, probe.size, true, 0);
            (self.confirmed, self.again) = (smaller <= LEAST, None);
            self.doubt = (!self.confirmed).then(Doubt::default);
        }
        shrinks
    }
    /// When a search that is done begins again, if there is anything to find.
    pub(crate) fn resting(&mut self, now: Instant) -> Option<Instant> {
        let worth = self.probing && self.interface >= self.pmtu + STEP;
        (worth && self.probe.is_none() && self.next_probe().is_none()).then(|| *self.again.get_or_insert(now + AGAIN))
    }

    /// A router says that a packet was too big; `mtu` is the next hop's, 0 if it does not say. Whether the path MTU shrank.
    pub(crate) fn on_too_big(&mut self, mtu: usize) -> bool {
        let mtu = match mtu {
            0 => PLATEAUS.into_iter().find(|plateau| *plateau < self.pmtu).unwrap_or(LEAST),
            mtu => mtu.max(LEAST),
        };
        let shrinks = mtu < self.pmtu;
        if shrinks {
            self.pmtu = mtu;
            self.ceiling = mtu;
            (self.known, self.confirmed) = (true, true);
            (self.probe, self.watch, self.doubt, self.again) = (None, None, None, None);
        }
        shrinks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux says 1440 for a client on a path of 1500 bytes. RFC 6773 section 3.7: in UDP it is 8 less.
    #[test]
    fn mps_on_ethernet() {
        assert_eq!(PathMtu::new(1500, 20, false).mps(), 1440);
        assert_eq!(PathMtu::new(1500, 28, false).mps(), 1432);
    }

    /// RFC 1191 section 7, and section 14.1: a message with a larger MTU is ignored.
    #[test]
    fn too_big() {
        let mut mtu = PathMtu::new(1500, 20, false);
        assert!(mtu.on_too_big(1400) && !mtu.on_too_big(1450));
        assert!(!mtu.on_too_big(1400), "a second message about packets of the size before");
        assert_eq!(mtu.packet(), 1380);
        assert!(mtu.on_too_big(0));
        assert_eq!(mtu.packet(), 1260);
        assert!(mtu.on_too_big(1));
        assert_eq!(mtu.packet(), 556);
    }

    /// A probe behind which a bare Sync is answered is lost. One may be lost by chance; the third says that the size is not known to go.
    #[test]
    fn what_comes_behind_a_probe_tells_that_it_is_lost() {
        let (mut mtu, mut seq) = (PathMtu::new(1500, 20, true), Seq48::ZERO);
        let probe = |mtu: &mut PathMtu, seq: &mut Seq48| {
            *seq += 2;
            let size = mtu.next_probe().unwrap();
            mtu.probe_sent(*seq, size);
            size
        };
        for tells in [false, false, true] {
            assert!(!mtu.is_known());
            assert_eq!(probe(&mut mtu, &mut seq), 1480);
            assert_eq!(mtu.on_sync_ack(seq + 1), Some(tells));
            assert_eq!(mtu.on_sync_ack(seq), None, "an answer that comes too late is none");
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

    /// Finds the path's MTU to a step, from acknowledged and lost probes. RFC 8899 section 5.2: the search starts below 1280 B if that size is in
    /// doubt.
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
