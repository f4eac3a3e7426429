//! The links of a text that need not be a whole scenario.

use crate::files::{Files, Traces};
use crate::link::Link;
use crate::overrides::{Override, document};
use crate::problem::{Problems, ScenarioError};
use crate::reader::Reader;
use crate::scenario;
use headway_engine::Ties;

/// Links, and what all of them go by.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    /// The seed of every random stream.
    pub seed: u64,
    /// Who comes first of what is alike to the last bit.
    pub ties: Ties,
    /// One entry a direction, as in [`Scenario::links`](crate::Scenario::links).
    pub links: Vec<Link>,
}

/// Reason why a link with two directions cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum DuplexError {
    #[error("there is no link: write one [[link]] with between, rate and delay")]
    None,
    #[error("there is no link \"{}\": there are {}", crate::printable(name), first(known))]
    Unknown { name: String, known: Vec<String> },
    #[error("there are several links: name one of {}", first(.0))]
    Several(Vec<String>),
    #[error("the link {0} has no reverse path: leave one_way out")]
    OneWay(String),
}

/// Returns the first ten names.
fn first(names: &[String]) -> String {
    let more = if names.len() > 10 { ", .." } else { "" };
    format!("{}{more}", names[..names.len().min(10)].join(", "))
}

impl Links {
    /// Returns the two directions of the link with this name, such as `"n1->n2"`, or of the only link.
    ///
    /// # Errors
    /// There is no such link, there are several and none is named, or the link has one direction.
    pub fn duplex(&self, name: Option<&str>) -> Result<[&Link; 2], DuplexError> {
        let known = || self.links.iter().map(|link| link.name.clone()).collect();
        let back_of = |there: &Link| self.links.iter().find(|back| (back.from, back.to) == (there.to, there.from));
        let there = match name {
            Some(name) => {
                let named = self.links.iter().find(|link| link.name == name);
                named.ok_or_else(|| DuplexError::Unknown { name: name.to_owned(), known: known() })?
            }
            None => match &self.links[..] {
                [] => return Err(DuplexError::None),
                [there] => there,
                [there, back] if (back.from, back.to) == (there.to, there.from) => there,
                _ => return Err(DuplexError::Several(known())),
            },
        };
        Ok([there, back_of(there).ok_or_else(|| DuplexError::OneWay(there.name.clone()))?])
    }
}

/// Reads the links of `text`, which may be a scenario or have nothing but `[[link]]`, `[[node]]`, `seed`, `dialect` and `ties`: what else
/// a scenario says is not looked at. `file` is for messages.
///
/// # Errors
/// Everything that is wrong with them, as far as one thing does not hide another.
pub fn links(file: &str, text: &str, overrides: &[Override], files: &dyn Files) -> Result<Links, ScenarioError> {
    let mut problems = Problems::default();
    let Some(root) = document(text, overrides, &mut problems) else {
        return Err(problems.into_error(file, text));
    };
    let mut reader = Reader::new(&root);
    let links = scenario::read_links(&mut reader)
        .and_then(|tables| scenario::expand_links(&mut reader, &tables, &mut Traces::new(files)));
    links.ok_or_else(|| reader.problems.into_error(file, text))
}
