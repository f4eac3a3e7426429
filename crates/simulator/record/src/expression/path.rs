//! Which numbers of a record a path names.

use super::fault::ExpressionFault;
use super::keys::keys_of;
use serde_json::Value;

/// `flow[NAME].key.key`, or `key.key`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) list: Option<Named>,
    pub(super) keys: Vec<String>,
}

/// Those of a list whose names fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    /// In the singular.
    pub(super) list: String,
    /// A name; `*` stands for any characters.
    pub(super) name: String,
}

impl Path {
    /// Whether its last key is `p` with a number: `one_way_delay_s.p95`.
    pub(super) fn is_percentile(&self) -> bool {
        let percent = self.keys.last().and_then(|key| key.strip_prefix('p'));
        percent.is_some_and(|percent| percent.parse::<u32>().is_ok())
    }

    /// The numbers; none if one of those that are named has no number there.
    pub(super) fn of(&self, record: &Value) -> Result<Option<Vec<f64>>, ExpressionFault> {
        let Some(Named { list, name }) = &self.list else {
            return match find(record, &self.keys) {
                Some(value) => self.check_text(value).map(|()| numbers(value)),
                None if self.may_be_absent(None, &[record]) => Ok(None),
                None => Err(self.no_key(&[record])),
            };
        };
        let Some(all) = record.get(format!("{list}s")).and_then(Value::as_array) else {
            return Err(ExpressionFault::UnknownList { list: list.clone(), known: lists(record) });
        };
        let called = |one: &Value| one.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let fitting: Vec<&Value> = all.iter().filter(|one| fits(name, &called(one))).collect();
        if fitting.is_empty() {
            let (list, name, known) = (list.clone(), name.clone(), all.iter().map(called).collect());
            return Err(ExpressionFault::UnknownName { list, name, known });
        }
        let found: Vec<Option<&Value>> = fitting.iter().map(|one| find_or_null(one, &self.keys)).collect();
        // What none of the named has, another may.
        let other_has = || all.iter().any(|one| find(one, &self.keys).is_some());
        if found.iter().all(Option::is_none) && !other_has() && !self.may_be_absent(Some(list), &fitting) {
            return Err(self.no_key(&fitting));
        }
        found.iter().flatten().try_for_each(|value| self.check_text(value))?;
        let values: Option<Vec<Vec<f64>>> = found.into_iter().map(|value| value.and_then(numbers)).collect();
        Ok(values.map(|values| values.concat()))
    }

    /// Whether its first key is one of such a record that none of these places has, or has with nothing in it (`timeouts` where no flow is a TCP).
    fn may_be_absent(&self, list: Option<&str>, places: &[&Value]) -> bool {
        let Some(key) = self.keys.first() else { return false };
        let has = |place: &&Value| match place.get(key) {
            Some(Value::Object(inside)) => !inside.is_empty(),
            inside => inside.is_some(),
        };
        keys_of(list).contains(&key.as_str()) && !places.iter().any(has)
    }

    /// `Err` if the value of its last key is a text.
    fn check_text(&self, value: &Value) -> Result<(), ExpressionFault> {
        let key = || self.keys.last().cloned().unwrap_or_default();
        if value.is_string() { Err(ExpressionFault::Text(key())) } else { Ok(()) }
    }

    fn no_key(&self, places: &[&Value]) -> ExpressionFault {
        // The longest part of the path that there is, and what there is behind it.
        let known = |depth: usize| {
            let place = places.iter().find_map(|place| find(place, self.keys.get(..depth)?))?;
            place.as_object().filter(|keys| !keys.is_empty())
        };
        let deepest = (0..self.keys.len()).rev().find_map(|depth| Some((depth, known(depth)?)));
        let Some((depth, keys)) = deepest else {
            return ExpressionFault::AbsentKey { key: self.keys.join("."), within: Vec::new(), known: Vec::new() };
        };
        let (key, within) = (self.keys[depth].clone(), self.keys[..depth].to_vec());
        let known = keys.iter().filter(|(_, value)| !value.is_string()).map(|(key, _)| key.clone()).collect();
        ExpressionFault::AbsentKey { key, within, known }
    }
}

/// The lists of a record, in the singular.
fn lists(record: &Value) -> Vec<String> {
    let of = |(key, value): (&String, &Value)| value.is_array().then(|| key.trim_end_matches('s').to_owned());
    record.as_object().map(|record| record.iter().filter_map(of).collect()).unwrap_or_default()
}

fn find<'a>(place: &'a Value, keys: &[String]) -> Option<&'a Value> {
    keys.iter().try_fold(place, |place, key| place.get(key))
}

/// The same; of what has no value, such as a class of which there is none in this run, no value either.
fn find_or_null<'a>(place: &'a Value, keys: &[String]) -> Option<&'a Value> {
    keys.iter().try_fold(place, |place, key| if place.is_null() { Some(place) } else { place.get(key) })
}

/// All numbers in it; none if one is missing, or it has none.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Number(number) => number.as_f64().map(|number| vec![number]),
        Value::Bool(yes) => Some(vec![f64::from(u8::from(*yes))]),
        Value::Object(all) if !all.is_empty() => {
            all.values().map(numbers).collect::<Option<Vec<_>>>().map(|all| all.concat())
        }
        _ => None,
    }
}

/// Whether a name fits, in which `*` stands for any characters.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, expected) in [
            ("media", "media", true),
            ("media", "media-2", false),
            ("*", "", true),
            ("media*", "media-2", true),
            ("*-2", "media-2", true),
            ("m*a*2", "media-2", true),
            ("m*x*2", "media-2", false),
            ("a*a", "a", false),
            ("a*->r*", "a3->r1", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    proptest! {
        /// A pattern that is made of a name by putting stars into it fits it.
        #[test]
        fn what_is_cut_out_fits(name in "[ab*-]{0,9}", from in 0usize..9, len in 0usize..9) {
            let (from, to) = (from.min(name.len()), (from + len).min(name.len()).max(from.min(name.len())));
            let pattern = format!("{}*{}", &name[..from], &name[to..]);
            prop_assert!(fits(&pattern, &name), "{} {}", pattern, name);
        }
    }
}
