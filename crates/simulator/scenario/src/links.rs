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

impl Links {
    /// The two directions of the link that is called `name`, `"n1->n2"`, as it is written; or of the only one there is.
    ///
    /// # Errors
    /// A sentence, if there is none with that name or several without, or if it leads one way only.
    pub fn duplex(&self, name: Option<&str>) -> Result<[&Link; 2], String> {
        const NAMED: usize = 10;
        let names = || {
            let names: Vec<&str> = self.links.iter().take(NAMED).map(|link| link.name.as_str()).collect();
            let more = if self.links.len() > NAMED { ", .." } else { "" };
            format!("{}{more}", names.join(", "))
        };
        let back_of = |there: &Link| self.links.iter().find(|back| (back.from, back.to) == (there.to, there.from));
        let there = match name {
            Some(name) => self
                .links
                .iter()
                .find(|link| link.name == name)
                .ok_or_else(|| format!("there is no link \"{}\": there are {}", crate::printable(name), names()))?,
            None => match &self.links[..] {
                [] => return Err("there is no link: write one [[link]] with between, rate and delay".to_owned()),
                [there] => there,
                [there, back] if (back.from, back.to) == (there.to, there.from) => there,
                _ => return Err(format!("there are several links, of which one must be named: {}", names())),
            },
        };
        match back_of(there) {
            Some(back) => Ok([there, back]),
            None => Err(format!("the link {} has no way back: leave one_way out", there.name)),
        }
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
