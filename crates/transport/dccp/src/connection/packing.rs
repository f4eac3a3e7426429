//! Options of the next packet (RFC 4340 section 5.8).

use super::mtu::OPTION_ALLOWANCE;
use super::state::State;
use super::timers::Timer;
use super::{BUFFER, Connection};
use crate::ccid::OnData;
use crate::{Body, DccpOption, DeliveryOrder, Elapsed, OptionWriter, PacketType, Repair, Timestamp};
use headway_rate::Stamp;
use headway_units::{Instant, Seq48};

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
    fn packet_limit(&self, header: usize, data: usize) -> usize {
        // Without its option, the data of a repair packet would be taken for a datagram.
        let repair = if self.repair.is_some() { Repair::MAX_LEN.next_multiple_of(4) } else { 0 };
        let (whole, path, least) = (header + data, self.mtu.packet(), self.least_options() + repair);
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
        let is_plain = datagram == OnDatagram::default() && self.repair.is_none();
        if matches!(body, Body::Data) && is_plain && !self.has_options_for_data() {
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
        let limit = self.opening.response_limit().unwrap_or_else(|| self.packet_limit(header, data));
        let room = limit.saturating_sub(header + data).min(BUFFER - header) & !3;
        let Some(buffer) = self.buffer.get_mut(..room) else { return 0 };
        let mut writer = OptionWriter::new(buffer);
        if let Some(repair) = self.repair.take() {
            write_repair(&repair, seq, &mut writer);
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

/// Writes the option of a repair packet with this number.
#[cold]
fn write_repair((first, repair): &(Seq48, Repair), number: Seq48, writer: &mut OptionWriter<'_>) {
    // Repair packets follow their block closely.
    let back = u16::try_from(number.distance_from(*first)).unwrap_or(u16::MAX);
    let (bytes, len) = Repair { back, ..*repair }.to_bytes();
    let _ = writer.push(DccpOption::Repair(bytes.get(..len).unwrap_or_default()));
}
