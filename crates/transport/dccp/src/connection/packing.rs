//! Options of the next packet (RFC 4340 section 5.8).

use super::mtu::OPTION_ALLOWANCE;
use super::state::State;
use super::timers::Timer;
use super::{BUFFER, Connection};
use crate::ccid::OnData;
use crate::{Body, DccpOption, DeliveryOrder, Elapsed, OptionWriter, PacketType, Repair, Timestamp};
use headway_rate::Stamp;
use headway_units::Instant;

/// Space for the options of a datagram above the maximum packet size, which is sent in fragments, in bytes.
const FRAGMENTED_OPTIONS: usize = 64;
/// Size of options before Init Cookies and of the padding, in bytes: Data Checksum, NDP Count, Timestamp Echo.
const BEFORE_COOKIES: usize = 6 + 8 + 10 + 3;

/// Options that belong to the datagram of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnDatagram {
    /// CRC-32c of the data (section 9.3).
    pub(super) crc: Option<u32>,
    /// Position in its stream.
    pub(super) order: Option<DeliveryOrder>,
    /// Packets that it can restore.
    pub(super) repair: Option<Repair>,
}

impl Connection {
    /// Returns the size of options that must be sent even if the packet is fragmented, in bytes:
    /// "That Init Cookie MUST be included on every packet sent in PARTOPEN" (section 8.1.5).
    pub(super) fn least_options(&self) -> usize {
        let cookies = self.opening.cookies_len();
        if cookies > 0 { cookies + BEFORE_COOKIES } else { 0 }
    }

    /// Returns the maximum size of a packet with this header and datagram, in bytes. A datagram of the maximum packet
    /// size leaves space for the usual options, so that no option makes the packet exceed the path MTU.
    fn packet_limit(&self, header: usize, data: usize, least: usize) -> usize {
        let (whole, path, least) = (header + data, self.mtu.packet(), self.least_options().max(least));
        let is_fragmented = whole + OPTION_ALLOWANCE > path;
        path.max(whole + if is_fragmented { least.max(FRAGMENTED_OPTIONS) } else { least })
    }

    /// Returns the maximum size of an acknowledgement's options, in bytes.
    pub(super) fn options_needed(&self) -> usize {
        let vector = if self.agreed.we_send_vectors { self.acknowledge.vector_len() } else { 0 };
        self.reverse.report_len()
            + vector
            + 32
            + if self.negotiation.changes_due() || self.negotiation.confirms_due() {
                self.negotiation.response_len().max(200)
            } else {
                0
            }
    }

    /// Writes the options of the next packet into the buffer, the most important first. Returns their size with
    /// padding. Options that do not fit are omitted; reliable ones are repeated later.
    #[inline]
    pub(super) fn write_options(
        &mut self,
        now: Instant,
        body: &Body,
        data: usize,
        datagram: OnDatagram,
        stamp: &Stamp,
    ) -> usize {
        if matches!(body, Body::Data) && datagram == OnDatagram::default() && !self.has_options_for_data() {
            return 0;
        }
        self.write_all_options(now, body, data, datagram, stamp)
    }

    #[inline(never)]
    fn write_all_options(
        &mut self,
        now: Instant,
        body: &Body,
        data: usize,
        datagram: OnDatagram,
        stamp: &Stamp,
    ) -> usize {
        let kind = body.kind();
        let (state, seq) = (self.machine.state(), self.windows.upcoming());
        let handshake = matches!(kind, PacketType::Request | PacketType::Response);
        let changes = handshake || self.negotiation.changes_due();
        let change_wait = changes.then(|| (self.rtt(), self.longest_change_wait()));
        let header = kind.header_len(true);
        let limit = self.opening.response_limit().unwrap_or_else(|| {
            // Without its option, the data of a repair packet would be taken for a datagram.
            let least = if datagram.repair.is_some() { Repair::MAX_LEN.next_multiple_of(4) } else { 0 };
            self.packet_limit(header, data, least)
        });
        let room = limit.saturating_sub(header + data).min(BUFFER - header) & !3;
        let Some(buffer) = self.buffer.get_mut(..room) else { return 0 };
        let mut writer = OptionWriter::new(buffer);
        if let Some(repair) = datagram.repair {
            let _ = writer.push(DccpOption::Repair(repair));
        }
        if let Some(crc) = datagram.crc {
            let _ = writer.push(DccpOption::DataChecksum(crc));
        }
        if self.agreed.we_count && self.ndp_run > 0 {
            let _ = writer.push(DccpOption::NdpCount(self.ndp_run));
        }
        if kind.is_data() && self.agreed.sending.is_experiment() {
            self.agreed.sending.write_on_data(&OnData { own: stamp.own, rtt: stamp.rtt }, &mut writer);
        }
        let by_ccid = kind.is_data() && self.agreed.sending.stamps_data();
        self.delays.write(now, kind, by_ccid, &mut writer);
        if let Some(order) = datagram.order {
            let _ = writer.push(DccpOption::DeliveryOrder(order));
        }
        // A padded Sync must have an exact size.
        if kind == PacketType::Sync && data > 0 {
            return finish(writer);
        }
        self.acknowledge.write_echo(now, &mut writer);
        if matches!(kind, PacketType::Data | PacketType::Reset) {
            return finish(writer);
        }
        // A Response carries our cookies; packets in PARTOPEN echo the peer's (section 8.1.4).
        self.opening.write_cookies(&mut writer);
        let confirms = kind.has_ack();
        let written = self.negotiation.write(&mut writer, seq, handshake, confirms);
        if let Some((rtt, longest)) = change_wait.filter(|_| written.changes) {
            self.timers.set(Timer::Change, now + self.pending.on_changes_sent(written.new_changes, rtt, longest));
        }
        // In PARTOPEN every packet repeats Confirms, since a server may need them to leave RESPOND (Linux does).
        if confirms && written.complete && state != State::PartOpen {
            self.negotiation.confirms_are_sent();
        }
        if self.options.timestamps && handshake {
            let timestamp = Timestamp::at(now);
            if writer.push(DccpOption::Timestamp(timestamp)).is_ok() {
                self.forward.stamp(now, timestamp);
            }
        }
        if matches!(kind, PacketType::Ack | PacketType::DataAck) {
            let elapsed = Elapsed::from_duration(self.reverse.held(now));
            // RFC 4342 section 8.2 requires it on every feedback packet, even if zero.
            let feedback = self.reverse.report_len() > 0;
            if feedback || self.acknowledge.unacknowledged && elapsed.0 > 0 {
                let _ = writer.push(DccpOption::ElapsedTime(elapsed));
            }
            self.reverse.write_report(&mut writer);
            if self.acknowledge.slow_receiver {
                let _ = writer.push(DccpOption::SlowReceiver);
            }
        }
        if kind.has_ack() && body.ack() == Some(self.windows.gsr()) {
            let ack = self.windows.gsr();
            self.acknowledge.write_dropped(ack, seq, &mut writer);
            if self.agreed.we_send_vectors && matches!(kind, PacketType::Ack | PacketType::DataAck) {
                self.acknowledge.write_vector(seq, &mut writer, kind == PacketType::Ack);
            }
        }
        finish(writer)
    }

    /// Returns whether a Data packet needs options other than those of its datagram.
    fn has_options_for_data(&self) -> bool {
        self.agreed.we_count && self.ndp_run > 0
            || self.agreed.sending.is_experiment()
            || self.delays.stamps_data()
            || self.acknowledge.has_pending_echo()
    }
}

fn finish(writer: OptionWriter<'_>) -> usize {
    if writer.len() == 0 {
        return 0;
    }
    // The space is a multiple of four, so that the padding always fits.
    writer.finish().map_or(0, |area| area.as_bytes().len())
}
