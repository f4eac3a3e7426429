//! `--vary KEY=V1,V2`: a key that varies beside those of `[vary]`.

use crate::document::{Data, DocumentError, Entry, Origin, Table, Value, parse_value, split};
use crate::overrides::OverrideError;
use crate::problem::{Place, ScenarioError};
use crate::range;
use crate::suggest::quoted;
use std::str::FromStr;
use std::sync::Arc;

/// A key and the values that it takes in turn, in place of those that the scenario gives it. Text: `link[0].rate=1Mbps,2Mbps`, a range with so many values
/// `link[*].delay=10ms..100ms/10` or evenly on a log scale `10ms..1s/5/log`, whole numbers `seed=1..20`, or `seeds=20`. Commas within quotes, brackets and braces are
/// part of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    pub(crate) key: String,
    /// As it would stand in `[vary]`.
    pub(crate) value: Value,
}

impl FromStr for Vary {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let key = text.split_once('=').map_or(text, |(key, _)| key).trim();
        let read = Self::read(text, key, &Origin::Vary(Arc::from(key), 0));
        read.map_err(|error| ScenarioError::new("", Place::Vary(quoted(key)), error))
    }
}

impl Vary {
    /// Returns how many `seeds` there are, from 1 on, as the option `--seeds` has it. Errors name that option.
    #[must_use]
    pub fn seeds(count: u64) -> Self {
        let origin = Origin::Option(Arc::from("--seeds"));
        Self { key: "seeds".to_owned(), value: Value { origin, data: Data::Integer(count.into()) } }
    }

    /// Where it is written.
    pub(crate) fn place(&self) -> Place {
        match &self.value.origin {
            Origin::Option(option) => Place::Option(option.to_string()),
            _ => Place::Vary(self.key.clone()),
        }
    }

    fn read(text: &str, key: &str, origin: &Origin) -> Result<Self, OverrideError> {
        let (_, values) = text.split_once('=').ok_or(OverrideError::NoValues)?;
        let one = |text: &str| parse_value(text.trim(), origin);
        let values = values.trim();
        let value = match key {
            // Words of `[vary]` itself.
            "seeds" | "zip" | "list" => one(values)?,
            _ => match dotted(values) {
                Some(range) => table(range, origin, &one)?,
                None => {
                    let mut listed: Vec<Value> = split(values).into_iter().map(one).collect::<Result<_, _>>()?;
                    // An array is the list itself, and a range is no value.
                    if listed.len() == 1 && (listed[0].array().is_some() || range::is_meant(&listed[0])) {
                        listed.swap_remove(0)
                    } else {
                        Value { origin: origin.clone(), data: Data::Array(listed) }
                    }
                }
            },
        };
        Ok(Self { key: key.to_owned(), value })
    }
}

/// The parts of `FROM..TO/STEPS/log` by their keys in a range's table.
fn dotted(text: &str) -> Option<Vec<(&'static str, &str)>> {
    let (from, rest) = text.split_once("..").filter(|_| !text.contains([',', '"', '\'', '[', '{']))?;
    let mut parts = rest.split('/').map(str::trim);
    let mut range = vec![("from", from.trim()), ("to", parts.next()?)];
    match parts.next() {
        Some(steps) => range.push(("steps", steps)),
        // One by one, if they are whole numbers: other ranges say how many values they have.
        None if range.iter().all(|(_, end)| end.parse::<i128>().is_ok()) => range.push(("step", "1")),
        None => {}
    }
    range.extend(parts.next().map(|scale| ("scale", scale)));
    parts.next().is_none().then_some(range)
}

fn table<'a>(
    parts: Vec<(&'static str, &'a str)>,
    origin: &Origin,
    one: &impl Fn(&'a str) -> Result<Value, DocumentError>,
) -> Result<Value, DocumentError> {
    let mut table = Table::new();
    for (key, text) in parts {
        table.insert(key.to_owned(), Entry { key: origin.clone(), value: one(text)? });
    }
    Ok(Value { origin: origin.clone(), data: Data::Table(table) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_something_are_part_of_it() {
        for (text, parts) in [
            ("1Mbps, 2Mbps", &["1Mbps", " 2Mbps"][..]),
            ("{ kind = \"red\", limit = 5 },droptail", &["{ kind = \"red\", limit = 5 }", "droptail"]),
            ("[1,2],[3]", &["[1,2]", "[3]"]),
            ("\"a,b\",c", &["\"a,b\"", "c"]),
            ("", &[""]),
            ("]},é,", &["]}", "é", ""]),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
    }

    /// `--vary 'link[0].queue={kind=codel}'` was taken for a text, although `--vary link[0].queue.kind=codel` was not.
    #[test]
    fn texts_within_tables_need_no_quotes() {
        let value = |text: &str| text.parse::<Vary>().unwrap().value;
        let quoted = "queue={ kind = \"red\", limit = \"9packets\", ecn = true, dscp = [\"ef\", 46] },codel";
        assert!(value(quoted).is_alike(&value("queue={kind=red, limit=9packets,ecn=true,dscp=[ef,46]},codel")));
        for text in ["queue={kind}", "queue={=red}", "queue={kind=}", "queue={kind=red,kind=red}", "queue={a.b=red}"] {
            let listed = value(text);
            assert!(listed.array().unwrap()[0].text().is_some(), "{text}");
        }
        let deep = format!("queue={}x{}", "[".repeat(500), "]".repeat(500));
        assert!(deep.parse::<Vary>().is_ok_and(|vary| vary.value.array().is_some()));
    }

    #[test]
    fn a_range_is_two_ends_with_dots_between() {
        assert_eq!(
            dotted("10ms..1s/5/log"),
            Some(vec![("from", "10ms"), ("to", "1s"), ("steps", "5"), ("scale", "log")])
        );
        assert_eq!(dotted("1..20"), Some(vec![("from", "1"), ("to", "20"), ("step", "1")]));
        assert_eq!(
            (dotted("\"a..b\""), dotted("1..2,3"), dotted("1Mbps"), dotted("1..2/3/log/x")),
            (None, None, None, None)
        );
    }
}
