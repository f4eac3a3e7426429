//! Errors of expressions.

use super::function::Function;
use super::keys::keys_of;

/// Maximum depth of nested brackets and signs.
pub(super) const MAX_DEPTH: usize = 32;
/// Maximum length of an expression, in bytes.
pub(super) const MAX_LENGTH: usize = 4096;
/// Maximum number of characters that a message quotes.
const MAX_QUOTED: usize = 120;
/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 12;

/// Returns the text without control characters, truncated for a message.
pub(super) fn quoted(text: &str) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(MAX_QUOTED).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        short.push_str("...");
    }
    short
}

/// Reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum ExpressionFault {
    #[error("it has {0} bytes; expected at most {MAX_LENGTH}")]
    TooLong(usize),
    #[error("brackets and signs are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// `rest` is the text after the position.
    #[error("{expected} is missing {}", position(rest))]
    Missing { expected: String, rest: String },
    #[error("unexpected \"{}\"", quoted(.0))]
    Unexpected(String),
    #[error("\"{}\" is not a number", quoted(.0))]
    NotANumber(String),
    #[error("{list}[{}] has no key: write {list}[{}].KEY", quoted(name), quoted(name))]
    NoKey { list: String, name: String },
    #[error("there is no function \"{name}\"; there are {}", Function::names())]
    UnknownFunction { name: String },
    #[error("{function} takes two arguments, but has {count}")]
    Arguments { function: String, count: usize },
    #[error("division by 0")]
    DividesByZero,
    #[error("a constant part of it overflows")]
    TooLarge,
    #[error("its operands have {0} and {1} values; expected the same number of values, or one")]
    Lengths(usize, usize),
    #[error("it has {count} values; expected one number: use a function ({}), or a name without *", Function::names())]
    Several { count: usize },
    #[error("there is no list \"{list}\"{}", available(known))]
    UnknownList { list: String, known: Vec<String> },
    #[error("there is no {list} \"{name}\"{}", available(known))]
    UnknownName { list: String, name: String, known: Vec<String> },
    /// No record has a key of this name.
    #[error("there is no \"{key}\"; {}here are {}", similar(key, known), known.join(", "))]
    UnknownKey { key: String, known: &'static [&'static str] },
    /// The record has no key `key` within the path `within`.
    #[error("there is no \"{key}\"{}{}", location(within), available(known))]
    AbsentKey { key: String, within: Vec<String>, known: Vec<String> },
    #[error("\"{0}\" is a string; expected a number")]
    Text(String),
    #[error("an earlier metric has the same name: write another one, as in NAME=EXPRESSION")]
    SameName,
}

fn position(rest: &str) -> String {
    if rest.is_empty() { "at its end".to_owned() } else { format!("before \"{}\"", quoted(rest)) }
}

/// Proposes the first known key that contains `key`, such as `one_way_delay_s` for `delay`. At the top of a record,
/// `key` may be meant as a key of a flow.
fn similar(key: &str, known: &[&str]) -> String {
    let within = |keys: &[&str]| keys.iter().find(|known| known.contains(key)).map(ToString::to_string);
    let of_flow = || within(keys_of(Some("flow"))).filter(|_| known == keys_of(None));
    let near = within(known).or_else(|| of_flow().map(|near| format!("flow[NAME].{near}")));
    near.map_or_else(|| "t".to_owned(), |near| format!("did you mean {near}? T"))
}

fn location(keys: &[String]) -> String {
    if keys.is_empty() { String::new() } else { format!(" in {}", keys.join(".")) }
}

fn available(names: &[String]) -> String {
    match names.get(..MAX_NAMES) {
        _ if names.is_empty() => String::new(),
        Some(first) if names.len() > MAX_NAMES => format!("; there are {}, ..", first.join(", ")),
        _ => format!("; there are {}", names.join(", ")),
    }
}
