//! Queueing methods of messages: the rules for a message while it waits (SFDPS section 4.3).

use super::{Full, Late, Order};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::MediaKind;

/// Queueing method of a message, by the name of a [kind of send queue](super::SendQueueOptions).
///
/// "The method field is used to select which algorithm will be used" (SFDPS section 4.3). All messages of a flow share
/// a queue, and each has a method:
///
/// - The order of the method decides which waiting messages the message overtakes when it is enqueued. With `fifo` or
///   `ring` it overtakes none.
/// - The rule for a full queue decides which message is dropped when the message does not fit.
/// - The rule for late messages decides whether the message is sent, dropped or kept if it is late when it reaches the
///   head of the queue.
///
/// The limit, the estimate of the path delay and the weights of `score` are those of the queue for all methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize), serde(try_from = "String", into = "&str"))]
pub struct QueueMethod {
    pub(super) order: Order,
    pub(super) full: Full,
    pub(super) late: Late,
}

impl QueueMethod {
    /// Returns whether it differs from sending packets in the order of arrival.
    pub(super) fn chooses(self) -> bool {
        self.order != Order::Arrival || self.full != Full::Refuse || self.late != Late::Send
    }
}

/// Queueing methods, by kind of media, of messages that have no own method. Kinds of media without an entry use the
/// method of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields, rename_all = "kebab-case", default)
)]
pub struct KindMethods {
    /// Queueing method of data messages; absent: that of the queue.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub data: Option<QueueMethod>,
    /// Queueing method of audio messages; absent: that of the queue.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub audio: Option<QueueMethod>,
    /// Queueing method of video messages without a frame type; absent: that of the queue.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub video: Option<QueueMethod>,
    /// Queueing method of messages of I frames; absent: that of the queue.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub video_i: Option<QueueMethod>,
    /// Queueing method of messages of P frames; absent: that of the queue.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub video_p: Option<QueueMethod>,
    /// Queueing method of messages of B frames; absent: that of the queue.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub video_b: Option<QueueMethod>,
}

impl KindMethods {
    /// Returns the queueing method of messages of this kind of media; `None` for that of the queue.
    #[must_use]
    pub const fn of(&self, kind: MediaKind) -> Option<QueueMethod> {
        match kind {
            MediaKind::Data => self.data,
            MediaKind::Audio => self.audio,
            MediaKind::Video => self.video,
            MediaKind::VideoI => self.video_i,
            MediaKind::VideoP => self.video_p,
            MediaKind::VideoB => self.video_b,
        }
    }

    /// Returns the methods of all kinds that have one.
    pub(super) fn all(&self) -> impl Iterator<Item = QueueMethod> {
        MediaKind::ALL.into_iter().filter_map(|kind| self.of(kind))
    }

    /// Returns whether no kind of media has a separate queueing method.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
