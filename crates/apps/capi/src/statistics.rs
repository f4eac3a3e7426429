//! Statistics of a connection.

use headway_net::Connection;

/// Statistics of a connection. Set `size` to `sizeof(HeadwayStatistics)` before a call of `headway_statistics`.
/// Counters start at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HeadwayStatistics {
    /// Size of the structure of the caller, in bytes. The library sets it to the bytes that it wrote.
    pub size: usize,
    /// Smoothed round-trip time, in us; 0 before it is measured.
    pub rtt_us: u64,
    /// Rate that an encoder should produce, in bit/s; 0 before the connection is established.
    pub encoder_rate: u64,
    /// Bytes of the datagrams in the send queue, without headers.
    pub queued_bytes: u64,
    /// Datagrams sent; a datagram that is sent again counts again.
    pub sent_datagrams: u64,
    /// Bytes of the datagrams sent, without headers.
    pub sent_bytes: u64,
    /// Packets sent that the peer reported as lost.
    pub lost_packets: u64,
    /// Packets sent that the peer reported as marked by the network (ECN Congestion Experienced).
    pub marked_packets: u64,
    /// Packets sent up to the newest one that the peer acknowledged, with or without data, including lost ones.
    pub acknowledged_packets: u64,
    /// Datagrams received, including `unread_datagrams`.
    pub received_datagrams: u64,
    /// Bytes of the datagrams received, without headers.
    pub received_bytes: u64,
    /// Packets of the peer before the newest one received that have not arrived and may have carried datagrams.
    pub missing_datagrams: u64,
    /// Datagrams received and then dropped, because this program did not read in time.
    pub unread_datagrams: u64,
}

impl HeadwayStatistics {
    /// Returns the statistics; `None` if the connection is closed.
    pub(crate) fn of(connection: &Connection) -> Option<Self> {
        let status = connection.status()?;
        let counters = status.counters;
        Some(Self {
            size: size_of::<Self>(),
            rtt_us: status.rtt.map_or(0, |rtt| rtt.as_nanos() / 1000),
            encoder_rate: connection.encoding_rate().map_or(0, |rate| rate.bits_per_second()),
            queued_bytes: connection.queued_bytes().count(),
            sent_datagrams: counters.sent_data_packets,
            sent_bytes: counters.sent_data,
            lost_packets: counters.lost_packets,
            marked_packets: counters.marked_packets,
            acknowledged_packets: counters.acknowledged_packets,
            received_datagrams: counters.delivered_packets,
            received_bytes: counters.delivered_data,
            missing_datagrams: counters.missing_data_packets,
            unread_datagrams: connection.dropped_datagrams(),
        })
    }
}
