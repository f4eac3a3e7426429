//! Decoding and encoding of packets (RFC 4340 section 5).

use crate::checksum::{CsCov, DCCP, Network};
use crate::number::SequenceNumber;
use crate::{EncodeError, OptionArea, PacketError, PacketType, Reset, ServiceCode};
use headway_units::{Seq24, Seq48};

/// Maximum size of a header, in bytes: Data Offset is 8 bits of 32-bit words.
pub(crate) const MAX_HEADER: usize = 255 * 4;
/// Maximum size of a packet, in bytes: the 16-bit length of IPv4's pseudo-header.
const MAX_PACKET: usize = u16::MAX as usize;

/// DCCP packet with sequence numbers of type `N`: [`Seq48`], or [`Seq24`] for a [short](Decoded::Short) one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a, N = Seq48> {
    /// DCCP port of the sender.
    pub source_port: u16,
    /// DCCP port of the receiver.
    pub destination_port: u16,
    /// CCVal, four bits whose meaning the CCID of the sender's data defines.
    pub ccval: CcVal,
    /// Checksum coverage of the data.
    pub cscov: CsCov,
    /// Sequence number.
    pub seq: N,
    /// Type, and fields of this type.
    pub body: Body<N>,
    /// Options, with their padding.
    pub options: OptionArea<'a>,
    /// Application data area; error text on a Reset, ignored on most other packets without application data.
    pub data: &'a [u8],
}

/// Fields that depend on the packet type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the types are those of PacketType, the fields: acknowledgement number, service code")]
pub enum Body<N = Seq48> {
    Request { service: ServiceCode },
    Response { ack: N, service: ServiceCode },
    Data,
    Ack { ack: N },
    DataAck { ack: N },
    CloseReq { ack: N },
    Close { ack: N },
    Reset { ack: N, reset: Reset },
    Sync { ack: N },
    SyncAck { ack: N },
    Listen { service: ServiceCode },
}

/// CCVal: four bits for the sender's CCID (RFC 4340 section 5.1), such as CCID 3's window counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CcVal(u8);

impl CcVal {
    /// CCVal 0, the default unless the CCID defines another value.
    pub const ZERO: Self = Self(0);

    /// Creates a CCVal; `None` above 15.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 16 { Some(Self(value)) } else { None }
    }
    /// Returns the CCVal as a number, 0 to 15.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// Decoded DCCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// Packet with 48-bit sequence numbers (X = 1).
    Long(Packet<'a>),
    /// Data, Ack or DataAck packet with the low 24 bits only (X = 0). It is ignored unless Allow Short Seqnos has been
    /// negotiated (RFC 4340 section 8.5 step 6); [`Packet::extend`] extends its numbers.
    Short(Packet<'a, Seq24>),
}

impl<'a> Packet<'a> {
    /// Decodes the complete payload of an IP packet or of a UDP datagram, and verifies its checksum.
    ///
    /// # Errors
    ///
    /// The reason why the bytes are not a packet. They must be ignored; see [`PacketError`].
    pub fn decode(bytes: &'a [u8], network: Network) -> Result<Decoded<'a>, PacketError> {
        let len = bytes.len();
        let generic = bytes.first_chunk::<12>().ok_or(PacketError::TooShort { len })?;
        let (offset, extended) = (generic[4], generic[8] & 1 == 1);
        let number = generic[8] >> 1 & 15;
        let kind = PacketType::from_number(number).ok_or(PacketError::UnknownType { number })?;
        if !extended && !kind.may_be_short() {
            return Err(PacketError::ShortNumbers { kind });
        }
        let minimum = kind.header_len(extended);
        let header_len = usize::from(offset) * 4;
        if header_len < minimum {
            return Err(PacketError::DataOffsetTooSmall { kind, offset, minimum: minimum / 4 });
        }
        let (header, data) =
            bytes.split_at_checked(header_len).ok_or(PacketError::DataOffsetTooLarge { offset, len })?;
        let cscov = generic[5] & 15;
        let covered = CsCov::new(cscov).and_then(|coverage| coverage.covered(data.len()));
        let covered = covered.ok_or(PacketError::Coverage { cscov, data_len: data.len() })?;
        if let Network::Ip(addresses) = network {
            let covered = &bytes[..header_len + covered];
            if addresses.sum(DCCP, len as u32, covered) != [0xff; 2] {
                return Err(wrong_checksum(addresses, len, covered));
            }
        }
        Ok(if extended {
            Decoded::Long(Packet::fields(kind, generic, header, data))
        } else {
            Decoded::Short(Packet::fields(kind, generic, header, data))
        })
    }
}

#[cold]
fn wrong_checksum(addresses: crate::Addresses, len: usize, covered: &[u8]) -> PacketError {
    let found = u16::from_be_bytes([covered[6], covered[7]]);
    // The sum without the wrong checksum gives the right one.
    let all = u16::from_be_bytes(addresses.sum(DCCP, len as u32, covered));
    let (sum, carry) = all.overflowing_add(!found);
    PacketError::Checksum { found, wanted: !(sum + u16::from(carry)) }
}

impl<'a, N: SequenceNumber> Packet<'a, N> {
    /// Reads the fields of a header that is long enough for its type.
    fn fields(kind: PacketType, generic: &[u8; 12], header: &'a [u8], data: &'a [u8]) -> Self {
        let generic_len = PacketType::Data.header_len(N::EXTENDED);
        let own_len = kind.header_len(N::EXTENDED);
        let ack = || N::read(&header[..generic_len + if N::EXTENDED { 8 } else { 4 }]);
        let last = || [header[own_len - 4], header[own_len - 3], header[own_len - 2], header[own_len - 1]];
        let service = || ServiceCode(u32::from_be_bytes(last()));
        let body = match kind {
            PacketType::Request => Body::Request { service: service() },
            PacketType::Response => Body::Response { ack: ack(), service: service() },
            PacketType::Data => Body::Data,
            PacketType::Ack => Body::Ack { ack: ack() },
            PacketType::DataAck => Body::DataAck { ack: ack() },
            PacketType::CloseReq => Body::CloseReq { ack: ack() },
            PacketType::Close => Body::Close { ack: ack() },
            PacketType::Reset => {
                let [code, data @ ..] = last();
                Body::Reset { ack: ack(), reset: Reset { code: crate::ResetCode(code), data } }
            }
            PacketType::Sync => Body::Sync { ack: ack() },
            PacketType::SyncAck => Body::SyncAck { ack: ack() },
            PacketType::Listen => Body::Listen { service: service() },
        };
        Self {
            source_port: u16::from_be_bytes([generic[0], generic[1]]),
            destination_port: u16::from_be_bytes([generic[2], generic[3]]),
            ccval: CcVal(generic[5] >> 4),
            cscov: CsCov::new(generic[5] & 15).unwrap_or_default(),
            seq: N::read(&header[..generic_len]),
            body,
            options: OptionArea::of_header(&header[own_len..]),
            data,
        }
    }

    /// Returns the packet type.
    #[must_use]
    pub const fn kind(&self) -> PacketType {
        self.body.kind()
    }

    /// Returns the size of the header with its options, in bytes.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        self.kind().header_len(N::EXTENDED) + self.options.as_bytes().len()
    }

    /// Returns the size of the packet, in bytes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.header_len() + self.data.len()
    }

    /// Encodes the packet with its checksum at the start of `buffer`, and returns its size. Reserved bits are zero.
    ///
    /// # Errors
    ///
    /// If the buffer is too small or the packet cannot be encoded; see [`EncodeError`]. The buffer is then unchanged.
    pub fn encode(&self, buffer: &mut [u8], network: Network) -> Result<usize, EncodeError> {
        let kind = self.kind();
        let (header_len, len) = (self.header_len(), self.encoded_len());
        if !N::EXTENDED && !kind.may_be_short() {
            return Err(EncodeError::ShortNumbers { kind });
        }
        if header_len > MAX_HEADER {
            return Err(EncodeError::HeaderTooLong { len: header_len });
        }
        if len > MAX_PACKET {
            return Err(EncodeError::PacketTooLong { len, most: MAX_PACKET });
        }
        let data_len = self.data.len();
        let coverage = EncodeError::Coverage { cscov: self.cscov.number(), data_len };
        let covered = self.cscov.covered(data_len).ok_or(coverage)?;
        let available = buffer.len();
        let packet = buffer.get_mut(..len).ok_or(EncodeError::NoRoom { needed: len, available })?;
        let (header, data) = packet.split_at_mut(header_len);
        self.write_header(header);
        data.copy_from_slice(self.data);
        if let Network::Ip(addresses) = network {
            let checksum = addresses.checksum(DCCP, len as u32, &packet[..header_len + covered]);
            packet[6..8].copy_from_slice(&checksum);
        }
        Ok(len)
    }

    /// Fills a header except the checksum, which is zero.
    fn write_header(&self, header: &mut [u8]) {
        let kind = self.kind();
        let (own, options) = header.split_at_mut(kind.header_len(N::EXTENDED));
        options.copy_from_slice(self.options.as_bytes());
        own.fill(0);
        own[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        own[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        own[4] = ((own.len() + options.len()) / 4) as u8;
        own[5] = self.ccval.0 << 4 | self.cscov.number();
        own[8] = kind.number() << 1 | u8::from(N::EXTENDED);
        let (generic, mut rest) = own.split_at_mut(PacketType::Data.header_len(N::EXTENDED));
        self.seq.write(generic);
        if let Some(ack) = self.body.ack() {
            let (subheader, after) = rest.split_at_mut(if N::EXTENDED { 8 } else { 4 });
            ack.write(subheader);
            rest = after;
        }
        match self.body {
            Body::Request { service } | Body::Response { service, .. } | Body::Listen { service } => {
                rest.copy_from_slice(&service.0.to_be_bytes());
            }
            Body::Reset { reset: Reset { code, data: [a, b, c] }, .. } => rest.copy_from_slice(&[code.0, a, b, c]),
            _ => {}
        }
    }
}

impl<'a> Packet<'a, Seq24> {
    /// Extends the sequence numbers to 48 bits (RFC 4340 section 7.6): `gsr` is the greatest
    /// sequence number received, `gss` the greatest sent.
    #[must_use]
    pub fn extend(self, gsr: Seq48, gss: Seq48) -> Packet<'a> {
        let Self { source_port, destination_port, ccval, cscov, seq, body, options, data } = self;
        let seq = Seq48::extend(seq, gsr);
        let body = body.map(|ack| Seq48::extend(ack, gss));
        Packet { source_port, destination_port, ccval, cscov, seq, body, options, data }
    }
}

impl<N: Copy> Body<N> {
    /// Returns the packet type.
    #[must_use]
    pub const fn kind(&self) -> PacketType {
        match self {
            Self::Request { .. } => PacketType::Request,
            Self::Response { .. } => PacketType::Response,
            Self::Data => PacketType::Data,
            Self::Ack { .. } => PacketType::Ack,
            Self::DataAck { .. } => PacketType::DataAck,
            Self::CloseReq { .. } => PacketType::CloseReq,
            Self::Close { .. } => PacketType::Close,
            Self::Reset { .. } => PacketType::Reset,
            Self::Sync { .. } => PacketType::Sync,
            Self::SyncAck { .. } => PacketType::SyncAck,
            Self::Listen { .. } => PacketType::Listen,
        }
    }

    /// Returns the acknowledgement number, if the type has one.
    #[must_use]
    pub const fn ack(&self) -> Option<N> {
        match *self {
            Self::Request { .. } | Self::Data | Self::Listen { .. } => None,
            Self::Response { ack, .. }
            | Self::Ack { ack }
            | Self::DataAck { ack }
            | Self::CloseReq { ack }
            | Self::Close { ack }
            | Self::Reset { ack, .. }
            | Self::Sync { ack }
            | Self::SyncAck { ack } => Some(ack),
        }
    }

    fn map<M>(self, f: impl FnOnce(N) -> M) -> Body<M> {
        match self {
            Self::Request { service } => Body::Request { service },
            Self::Response { ack, service } => Body::Response { ack: f(ack), service },
            Self::Data => Body::Data,
            Self::Ack { ack } => Body::Ack { ack: f(ack) },
            Self::DataAck { ack } => Body::DataAck { ack: f(ack) },
            Self::CloseReq { ack } => Body::CloseReq { ack: f(ack) },
            Self::Close { ack } => Body::Close { ack: f(ack) },
            Self::Reset { ack, reset } => Body::Reset { ack: f(ack), reset },
            Self::Sync { ack } => Body::Sync { ack: f(ack) },
            Self::SyncAck { ack } => Body::SyncAck { ack: f(ack) },
            Self::Listen { service } => Body::Listen { service },
        }
    }
}
