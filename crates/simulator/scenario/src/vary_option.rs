//! `--vary KEY=V1,V2`: a key that varies in addition to those of `[vary]`.

use crate::document::{Data, DocumentError, Entry, Origin, Table, Value, parse_value, split};
use crate::overrides::OverrideError;
use crate::problem::{Place, ScenarioError};
use crate::range;
use crate::suggest::quoted;
use headway_units::number_and_unit;
use std::str::FromStr;
use std::sync::Arc;

/// Key with several values, which replace those of the scenario. Text: values `link[0].rate=1Mbps,2Mbps`, a range with
/// a number of values `link[*].delay=10ms..100ms/10` or on a log scale `10ms..1s/5/log`, integers `seed=1..20`, or
/// `seeds=20`. Commas within quotes, brackets and braces are part of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    pub(crate) key: String,
    /// Value as in `[vary]`.
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
    /// Returns the key `seeds` with the seeds 1 to `count`, for the command-line option `--seeds`. Errors name that
    /// option.
    #[must_use]
    pub fn seeds(count: u64) -> Self {
        let origin = Origin::Option(Arc::from("--seeds"));
        Self { key: "seeds".to_owned(), value: Value { origin, data: Data::Integer(count.into()) } }
    }

    /// Returns the place for error messages.
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
            // Keywords of `[vary]`.
            "seeds" | "zip" | "list" => one(values)?,
            _ if is_range(values) => {
                let parts = range_parts(values).ok_or_else(|| OverrideError::Range(values.to_owned()))?;
                table(parts, origin, &one)?
            }
            _ => {
                let parts = split(values);
                if let Some(range) = parts.iter().find(|part| parts.len() > 1 && is_range(part)) {
                    return Err(OverrideError::RangeInList(range.trim().to_owned()));
                }
                let mut listed: Vec<Value> = parts.into_iter().map(one).collect::<Result<_, _>>()?;
                // A single array is the list of values, and a single range is not a value.
                if listed.len() == 1 && (listed[0].array().is_some() || range::is_range(&listed[0])) {
                    listed.swap_remove(0)
                } else {
                    Value { origin: origin.clone(), data: Data::Array(listed) }
                }
            }
        };
        Ok(Self { key: key.to_owned(), value })
    }
}

/// Returns whether a text is meant as a range. Paths such as `../loss.txt` and `traces/../loss.txt` are not.
fn is_range(text: &str) -> bool {
    let is_quoted = text.contains([',', '"', '\'', '[', '{']);
    text.trim().split_once("..").is_some_and(|(from, _)| !is_quoted && !from.is_empty() && !from.contains('/'))
}

/// Splits `FROM..TO/COUNT/log` into the keys of a range table. Returns `None` if the text has another form.
fn range_parts(text: &str) -> Option<Vec<(&'static str, &str)>> {
    let (from, rest) = text.split_once("..")?;
    let mut parts = rest.split('/').map(str::trim);
    let mut range = vec![("from", from.trim()), ("to", parts.next()?)];
    let is_number = |end: &str| number_and_unit(end).is_some_and(|(_, unit)| !unit.starts_with('.'));
    if !range.iter().all(|(_, end)| is_number(end)) {
        return None;
    }
    match parts.next() {
        Some(count) => range.push(("steps", count.parse::<i128>().is_ok().then_some(count)?)),
        // Integers have a step of 1; other ranges require a number of values.
        None if range.iter().all(|(_, end)| end.parse::<i128>().is_ok()) => range.push(("step", "1")),
        None => return None,
    }
    if let Some(scale) = parts.next() {
        range.push(("scale", matches!(scale, "log" | "linear").then_some(scale)?));
    }
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
    fn commas_within_quotes_and_brackets_do_not_split() {
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

    /// `--vary 'link[0].queue={kind=codel}'` was read as a string, unlike `--vary link[0].queue.kind=codel`.
    #[test]
    fn strings_within_tables_need_no_quotes() {
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
    fn a_range_has_two_ends_separated_by_dots() {
        assert_eq!(
            range_parts("10ms..1s/5/log"),
            Some(vec![("from", "10ms"), ("to", "1s"), ("steps", "5"), ("scale", "log")])
        );
        assert_eq!(range_parts("1..20"), Some(vec![("from", "1"), ("to", "20"), ("step", "1")]));
        assert_eq!(range_parts("10..1"), Some(vec![("from", "10"), ("to", "1"), ("step", "1")]));
        for text in ["\"a..b\"", "1..2,3", "1Mbps", "../loss.txt", "traces/../loss.txt", "{from=1,to=9,step=2}"] {
            assert!(!is_range(text), "{text}");
        }
    }

    /// `1..10..2` was read as a number and the unit ".2".
    #[test]
    fn errors_of_ranges_list_the_allowed_forms() {
        let error = |text: &str| text.parse::<Vary>().unwrap_err().to_string();
        for range in [
            "1..10..2",
            "a..b",
            "1..b",
            "1..",
            "1...9",
            "1ms..9ms",
            "0.1..0.5",
            "1..9/x",
            "1..9/",
            "1..9/3/logs",
            "1..9/3/log/2",
        ] {
            assert_eq!(
                error(&format!("link[0].delay={range}")),
                format!(
                    "--vary link[0].delay: \"{range}\" is not a range: write FROM..TO with whole numbers, such as 1..10, \
                     FROM..TO/COUNT, such as 10ms..100ms/10 (10 values), or FROM..TO/COUNT/log; a step needs a table, \
                     such as {{from=1,to=9,step=2}}"
                )
            );
        }
        assert_eq!(
            error("seed=1..3, 7"),
            "--vary seed: \"1..3\" is a range among other values: write the range alone, or list its values"
        );
        for valid in ["seed=10..1", "seed={from=1,to=9,step=2}", "delay=1ms..9ms/3", "file=../a.txt,../b.txt"] {
            assert!(valid.parse::<Vary>().is_ok(), "{valid}");
        }
    }
}
