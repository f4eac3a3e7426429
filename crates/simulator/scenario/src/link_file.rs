//! Links of a text that need not be a complete scenario.

use crate::files::{Files, Traces};
use crate::link::Link;
use crate::overrides::{Override, document};
use crate::problem::{Problems, ScenarioError};
use crate::reader::Reader;
use crate::scenario;
use headway_engine::Ties;

/// Links of a text, with the seed and the rule for the order of simultaneous events.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    /// Seed of all random streams.
    pub seed: u64,
    /// Rule for the order of simultaneous events.
    pub ties: Ties,
    /// Directions of the links, in file order; for a duplex link the forward direction, then the reverse direction.
    pub links: Vec<Link>,
}

/// Reason why [`Links::duplex`] cannot select a link.
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

/// Lists the first ten names.
fn first(names: &[String]) -> String {
    let more = if names.len() > 10 { ", .." } else { "" };
    format!("{}{more}", names[..names.len().min(10)].join(", "))
}

impl Links {
    /// Returns the link direction with this name, such as `"n1->n2"`, and the opposite direction; without `name`, the
    /// forward and the reverse direction of the only link.
    ///
    /// # Errors
    /// No direction has this name, there are several links and `name` is `None`, or the link has only one direction.
    pub fn duplex(&self, name: Option<&str>) -> Result<[&Link; 2], DuplexError> {
        let known = || self.links.iter().map(|link| link.name.clone()).collect();
        let reverse_of = |link: &Link| self.links.iter().find(|other| (other.from, other.to) == (link.to, link.from));
        let forward = match name {
            Some(name) => {
                let named = self.links.iter().find(|link| link.name == name);
                named.ok_or_else(|| DuplexError::Unknown { name: name.to_owned(), known: known() })?
            }
            None => match &self.links[..] {
                [] => return Err(DuplexError::None),
                [link] => link,
                [link, reverse] if (reverse.from, reverse.to) == (link.to, link.from) => link,
                _ => return Err(DuplexError::Several(known())),
            },
        };
        Ok([forward, reverse_of(forward).ok_or_else(|| DuplexError::OneWay(forward.name.clone()))?])
    }
}

/// Parses the links of `text`: a scenario, or only its `[[link]]`, `[[node]]`, `seed`, `dialect` and `ties`. The values
/// of other keys are ignored. `file` is the name in error messages.
///
/// # Errors
/// All errors of these keys that can be found despite the others.
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
