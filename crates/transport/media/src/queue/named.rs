//! Names of queueing methods.

use super::{QueueMethod, SendQueueOptions};
use headway_units::{Dialect, OptionError, Registry as _};

impl QueueMethod {
    /// Returns the queueing method with this name, such as `fifo`.
    ///
    /// # Errors
    /// Returns an error if the method is unknown, has a limit (`ring-3`), or compares all waiting messages
    /// (`sure-first`).
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

    /// Returns the names of all queueing methods that a message can have.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SendQueueOptions::KINDS.iter().copied().filter(|name| !matches!(*name, "ring-3" | "sure-first"))
    }

    /// Returns the name of the queueing method.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::names().find(|name| Self::named(name) == Ok(self)).unwrap_or_default()
    }
}

impl TryFrom<String> for QueueMethod {
    type Error = OptionError;

    fn try_from(name: String) -> Result<Self, OptionError> {
        Self::named(&name)
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
