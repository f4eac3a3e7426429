//! The queueing method of one message: which rules decide about it while it waits (SFDPS section 4.3).

use super::{Full, Late, Order, SendQueueOptions};
use headway_units::{Dialect, MediaKind, OptionError, Registry as _};

/// The queueing method of one message, by the name of a [kind of send queue](SendQueueOptions).
///
/// "The method field is used to select which algorithm will be used" (SFDPS section 4.3). All messages of a flow wait in one queue, and each is queued
/// by its own method:
///
/// - Its order decides which waiting messages it overtakes when it is handed over. A message of `fifo` or `ring` overtakes none.
/// - Its rule for a full queue decides which message is dropped for it.
/// - Its rule for late messages decides whether it is sent, dropped or kept when it reaches the head of the queue.
///
/// The limit of the queue, the estimate of the path's delay and the weights of `score` belong to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize), serde(try_from = "String", into = "&str"))]
pub struct QueueMethod {
    pub(super) order: Order,
    pub(super) full: Full,
    pub(super) late: Late,
}

impl QueueMethod {
    /// Returns the method with this name.
    ///
    /// # Errors
    /// If no message can have it: it is unknown, has a limit (`ring-3`), or compares all messages that wait (`sure-first`).
    pub fn named(name: &str) -> Result<Self, OptionError> {
        let message = match name {
            "ring-3" => {
                "its limit of 3 packets is the queue's: expected \"ring\", and a queue with limit = \"3packets\""
            }
            "sure-first" => {
                "it compares all messages that wait: expected a queue of this kind, with messages that name no method"
            }
            _ => {
                let known = SendQueueOptions::preset(name, Dialect::Rfc).map(|kind| kind.rules.method());
                return known.ok_or_else(|| {
                    let names: Vec<&str> = Self::names().collect();
                    OptionError::new("method", format!("there is no method \"{name}\": expected {}", names.join(", ")))
                });
            }
        };
        Err(OptionError::new("method", format!("\"{name}\" is no method of a message: {message}")))
    }

    /// Returns the name of each method that a message can have.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SendQueueOptions::KINDS.iter().copied().filter(|name| !matches!(*name, "ring-3" | "sure-first"))
    }

    /// Returns the name of the method.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::names().find(|name| Self::named(name) == Ok(self)).unwrap_or_default()
    }

    /// Whether it does anything other than send packets in the order of their arrival.
    pub(super) fn chooses(self) -> bool {
        self.order != Order::Arrival || self.full != Full::Refuse || self.late != Late::Send
    }
}

impl TryFrom<String> for QueueMethod {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).map_err(|error| error.message)
    }
}

impl From<QueueMethod> for &'static str {
    fn from(method: QueueMethod) -> Self {
        method.name()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for QueueMethod {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "QueueMethod".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": Self::names().collect::<Vec<_>>() })
    }
}

/// The method of each kind of media whose messages name none. Messages of a kind without one are queued as the queue's own kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields, rename_all = "kebab-case", default)
)]
pub struct KindMethods {
    /// Of data.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub data: Option<QueueMethod>,
    /// Of audio.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub audio: Option<QueueMethod>,
    /// Of video without a frame type.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub video: Option<QueueMethod>,
    /// Of I frames.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub video_i: Option<QueueMethod>,
    /// Of P frames.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub video_p: Option<QueueMethod>,
    /// Of B frames.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub video_b: Option<QueueMethod>,
}

impl KindMethods {
    /// Returns the method of messages of this kind.
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

    /// Whether no kind has a method.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
