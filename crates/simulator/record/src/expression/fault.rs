//! Why an expression has no value.

use super::function::Function;

/// Maximum depth of brackets and signs.
pub(super) const DEEPEST: usize = 32;
/// Maximum length of an expression, in bytes.
pub(super) const LONGEST: usize = 4096;
/// Maximum number of characters that a message quotes.
const QUOTED: usize = 120;
/// Maximum number of names that a message lists.
const SHOWN: usize = 12;

/// Returns the text as a message quotes it.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(QUOTED).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(QUOTED).is_some() {
        short.push_str("...");
    }
    short
}

/// Reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum ExpressionFault {
    #[error("it has {0} bytes; {LONGEST} are the most")]
    TooLong(usize),
    #[error("more than {DEEPEST} brackets and signs are inside of one another")]
    TooDeep,
    /// `rest` is the text after the place.
    #[error("{expected} is missing {}", before(rest))]
    Missing { expected: String, rest: String },
    #[error("nothing can be made of \"{}\"", shown(.0))]
    Unexpected(String),
    #[error("\"{}\" is no number", shown(.0))]
    NotANumber(String),
    #[error("no key of {list}[{}] is named: write {list}[{}].KEY", shown(name), shown(name))]
    NoKey { list: String, name: String },
    #[error("there is no function \"{name}\"; there are {}", Function::names())]
    UnknownFunction { name: String },
    #[error("{function} takes two arguments, and not {count}")]
    Arguments { function: String, count: usize },
    #[error("it divides by 0")]
    DividesByZero,
    #[error("a part of it is larger than any number")]
    TooLarge,
    #[error("{0} numbers do not go with {1}")]
    Lengths(usize, usize),
    #[error(
        "these are {count} numbers where one is wanted: write a function around them ({}), or a name without *",
        Function::names()
    )]
    Several { count: usize },
    #[error("there is no list \"{list}\"{}", others(known))]
    UnknownList { list: String, known: Vec<String> },
    #[error("there is no {list} \"{name}\"{}", others(known))]
    UnknownName { list: String, name: String, known: Vec<String> },
    /// No record has this key.
    #[error("there is no \"{key}\"; there are {}", known.join(", "))]
    UnknownKey { key: String, known: &'static [&'static str] },
    /// The record has no key of this name within the keys `within`.
    #[error("there is no \"{key}\"{}{}", inside(within), others(known))]
    AbsentKey { key: String, within: Vec<String>, known: Vec<String> },
    #[error("\"{0}\" is a text where a number is wanted")]
    Text(String),
    #[error("an earlier metric has the same name: write another one, as in NAME=EXPRESSION")]
    SameName,
}

fn before(rest: &str) -> String {
    if rest.is_empty() { "at its end".to_owned() } else { format!("before \"{}\"", shown(rest)) }
}

fn inside(keys: &[String]) -> String {
    if keys.is_empty() { String::new() } else { format!(" in {}", keys.join(".")) }
}

fn others(names: &[String]) -> String {
    match names.get(..SHOWN) {
        _ if names.is_empty() => String::new(),
        Some(first) if names.len() > SHOWN => format!("; there are {}, ..", first.join(", ")),
        _ => format!("; there are {}", names.join(", ")),
    }
}
