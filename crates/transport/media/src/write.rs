//! One handing over of data from an application to its transport.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::{Framing, Media, UdpOptions, datagrams};
use headway_units::{Bytes, Duration, Instant, MediaKind, OptionError, Rate};

/// The largest single write, 16 MiB: more than a raw 4K picture, and few enough datagrams (12 thousand of 1500 B) that
/// one write cannot stall a run.
pub const LARGEST_WRITE: Bytes = Bytes::new(16 << 20);

/// What an application hands to its transport at one instant: a packet's worth, or a whole encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// How much.
    pub size: WriteSize,
    /// What it is.
    pub kind: MediaKind,
    /// Which goes first where a queue may choose: 0 before 1 before 2.
    pub priority: u8,
    /// When the application handed it over: the instant it was due, even if the poll came later.
    pub created: Instant,
    /// When it is of no more use to the receiver, if ever.
    pub expires: Option<Instant>,
    /// What is yet to be written of its frame: nothing if the frame ends with it. Of a frame that is handed over in several writes all have
    /// `kind`, `created` and `expires` in common.
    pub rest: WriteSize,
}

impl Write {
    /// Whether its frame ends with it, where each datagram spends `header` bytes on headers: they may leave nothing of the rest.
    #[inline]
    #[must_use]
    pub const fn ends_frame(&self, header: Bytes) -> bool {
        self.rest.payload(header).count() == 0
    }

    /// What it is to a send queue: a packet for each of its [`datagrams`], numbered by the flow's `framing`.
    #[inline]
    pub fn packets(self, cut: &UdpOptions, framing: &mut Framing) -> impl Iterator<Item = Media> {
        let ends_frame = self.ends_frame(cut.header);
        let Self { size, kind, priority, created, expires, .. } = self;
        let mut datagrams = datagrams(size, cut);
        std::iter::from_fn(move || {
            let size = datagrams.next()?.payload;
            let fragment = Some(framing.number(kind, ends_frame && datagrams.all_cut()));
            Some(Media { payload: (), size, kind, priority, created, expires, fragment, method: None })
        })
    }
}

/// How much an application writes, and what is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteSize {
    /// The IP packet that would carry it whole: payload and headers.
    Wire(Bytes),
    /// The application's own bytes, without any header.
    Payload(Bytes),
}

impl WriteSize {
    /// No bytes.
    pub const NOTHING: Self = Self::Payload(Bytes::new(0));

    /// The application's own bytes, where each datagram spends `header` bytes on headers. A wire size that the headers
    /// fill leaves nothing.
    #[must_use]
    pub const fn payload(self, header: Bytes) -> Bytes {
        match self {
            Self::Wire(wire) => Bytes::new(wire.count().saturating_sub(header.count())),
            Self::Payload(payload) => payload,
        }
    }
}

/// What a source's sizes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Sizes {
    /// IP packets, headers and all, as [`WriteSize::Wire`].
    Wire,
    /// The application's own bytes, as [`WriteSize::Payload`].
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

/// Describes a rate at which writes of this many bytes are less than a nanosecond apart.
pub(crate) fn too_many_writes(bytes: Bytes) -> String {
    let most = Rate::from_bits_per_second(bytes.count().saturating_mul(8_000_000_000));
    format!("more than one write each nanosecond: write a rate of at most {most}, or more bytes")
}

/// `bytes` is a size that may be written.
pub(crate) fn check_size(key: &'static str, bytes: Bytes) -> Result<(), OptionError> {
    if bytes.count() == 0 || bytes > LARGEST_WRITE {
        return Err(OptionError::new(key, format!("{bytes} cannot be written: {key} is from 1B to 16MiB")));
    }
    Ok(())
}

/// What is written each time by a source (`what`, with its article) that is told one of `size` and `payload`.
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
        (Some(_), Some(_)) => {
            Err(OptionError::new("payload", "size and payload exclude each other: write one of them"))
        }
    }
}

/// Something is of use for a while.
pub(crate) fn check_lifetime(lifetime: Option<Duration>) -> Result<(), OptionError> {
    if lifetime == Some(Duration::ZERO) {
        return Err(OptionError::new("lifetime", "a lifetime of 0s expires at birth: lifetime is at least 1ns"));
    }
    Ok(())
}
