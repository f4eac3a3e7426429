//! A write: data passed from an application to its transport.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::{Framing, Media, UdpOptions, datagrams};
use headway_units::{Bytes, Duration, Instant, MediaKind, OptionError, Rate};

/// Maximum size of a write, 16 MiB: more than a raw 4K picture, and at most 12,000 datagrams of 1500 B, so that
/// computing one write cannot stall a run.
pub const LARGEST_WRITE: Bytes = Bytes::new(16 << 20);

/// Data that an application passes to its transport at one time: a packet or a whole encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Size of this write, with or without headers.
    pub size: WriteSize,
    /// Kind of media.
    pub kind: MediaKind,
    /// Priority; 0 is the most urgent.
    pub priority: u8,
    /// Time at which the write was due, even if the source was polled later.
    pub created: Instant,
    /// Time after which the receiver cannot use the data; `None` if there is no such time.
    pub expires: Option<Instant>,
    /// Size of the rest of the frame, which later writes carry; zero if the frame ends with this write. All writes of a
    /// frame have equal `kind`, `created` and `expires`.
    pub rest: WriteSize,
}

impl Write {
    /// Returns whether the write is the last one of its frame. `header` is the size of the headers of a datagram, which
    /// is subtracted from [`rest`](Self::rest) if that is a size on the wire.
    #[inline]
    #[must_use]
    pub const fn ends_frame(&self, header: Bytes) -> bool {
        self.rest.payload(header).count() == 0
    }

    /// Splits the write into [`datagrams`] of the maximum size in `cut`, and returns each as a packet for a send queue.
    /// `framing` numbers the packets of the flow.
    #[inline]
    pub fn packets(self, cut: &UdpOptions, framing: &mut Framing) -> impl Iterator<Item = Media> {
        let ends_frame = self.ends_frame(cut.header);
        let Self { size, kind, priority, created, expires, .. } = self;
        let mut datagrams = datagrams(size, cut);
        std::iter::from_fn(move || {
            let size = datagrams.next()?.payload;
            let fragment = Some(framing.number(kind, ends_frame && datagrams.is_exhausted()));
            Some(Media { payload: (), size, kind, priority, created, expires, fragment, method: None })
        })
    }
}

/// Size of a write, with or without headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteSize {
    /// Size of a single IP packet with this write, including headers.
    Wire(Bytes),
    /// Size of the application data.
    Payload(Bytes),
}

impl WriteSize {
    /// Zero bytes.
    pub const NOTHING: Self = Self::Payload(Bytes::new(0));

    /// Returns the size of the application data. `header`, the size of the headers of a datagram, is subtracted from a
    /// size on the wire; the result is at least zero.
    #[must_use]
    pub const fn payload(self, header: Bytes) -> Bytes {
        match self {
            Self::Wire(wire) => Bytes::new(wire.count().saturating_sub(header.count())),
            Self::Payload(payload) => payload,
        }
    }
}

/// Whether the sizes of a source include headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Sizes {
    /// Sizes are those of IP packets, including headers.
    Wire,
    /// Sizes are those of application data, without headers.
    Payload,
}

impl Sizes {
    pub(crate) const fn write_size(self, bytes: Bytes) -> WriteSize {
        match self {
            Self::Wire => WriteSize::Wire(bytes),
            Self::Payload => WriteSize::Payload(bytes),
        }
    }
}

/// Describes a rate that is too high: writes of `bytes` would be less than a nanosecond apart.
pub(crate) fn too_many_writes(bytes: Bytes) -> String {
    let most = Rate::from_bits_per_second(bytes.count().saturating_mul(8_000_000_000));
    format!("more than one write each nanosecond: write a rate of at most {most}, or more bytes")
}

pub(crate) fn check_size(key: &'static str, bytes: Bytes) -> Result<(), OptionError> {
    if bytes.count() == 0 || bytes > LARGEST_WRITE {
        return Err(OptionError::new(key, format!("{bytes} cannot be written: {key} is from 1B to 16MiB")));
    }
    Ok(())
}

/// Returns the size of a write of a source (`what`, with its article) that has one of `size` and `payload`.
pub(crate) fn chosen_size(what: &str, size: Option<Bytes>, payload: Option<Bytes>) -> Result<WriteSize, OptionError> {
    match (size, payload) {
        (Some(size), None) => check_size("size", size).map(|()| WriteSize::Wire(size)),
        (None, Some(payload)) => check_size("payload", payload).map(|()| WriteSize::Payload(payload)),
        (None, None) => {
            let message = format!(
                "{what} source needs size (bytes on the wire, such as \"1000B\") or payload (bytes without headers)"
            );
            Err(OptionError::new("size", message))
        }
        (Some(_), Some(_)) => Err(OptionError::new("payload", "size and payload exclude each other: set one of them")),
    }
}

pub(crate) fn check_lifetime(lifetime: Option<Duration>) -> Result<(), OptionError> {
    if lifetime == Some(Duration::ZERO) {
        return Err(OptionError::new("lifetime", "0s is out of range: lifetime is at least 1ns"));
    }
    Ok(())
}
