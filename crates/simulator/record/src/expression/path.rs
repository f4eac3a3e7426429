//! Paths that select numbers of a record.

use super::fault::ExpressionFault;
use super::keys::keys_of;
use serde_json::Value;

/// `flow[NAME].key.key`, or `key.key`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) list: Option<Selector>,
    pub(super) keys: Vec<String>,
}

/// Selection of the elements of a list by name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selector {
    /// Name of the list, in the singular.
    pub(super) list: String,
    /// Pattern of names; `*` matches any characters.
    pub(super) name: String,
}

impl Path {
    /// Returns whether the last key is `p` and a number, such as `one_way_delay_s.p95`.
    pub(super) fn is_percentile(&self) -> bool {
        let percent = self.keys.last().and_then(|key| key.strip_prefix('p'));
        percent.is_some_and(|percent| percent.parse::<u32>().is_ok())
    }

    /// Returns the numbers; `None` if a selected element has no number.
    pub(super) fn evaluate(&self, record: &Value) -> Result<Option<Vec<f64>>, ExpressionFault> {
        let Some(Selector { list, name }) = &self.list else {
            return match find(record, &self.keys) {
                Some(value) => self.check_text(value).map(|()| numbers(value)),
                None if self.may_be_absent(None, &[record]) => Ok(None),
                None => Err(self.no_key(&[record])),
            };
        };
        let Some(all) = record.get(format!("{list}s")).and_then(Value::as_array) else {
            return Err(ExpressionFault::UnknownList { list: list.clone(), known: lists(record) });
        };
        let name_of = |element: &Value| element.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let selected: Vec<&Value> = all.iter().filter(|element| matches_pattern(name, &name_of(element))).collect();
        if selected.is_empty() {
            let (list, name, known) = (list.clone(), name.clone(), all.iter().map(name_of).collect());
            return Err(ExpressionFault::UnknownName { list, name, known });
        }
        let found: Vec<Option<&Value>> = selected.iter().map(|element| find_or_null(element, &self.keys)).collect();
        // Elements that are not selected may have the key.
        let exists = || all.iter().any(|element| find(element, &self.keys).is_some());
        if found.iter().all(Option::is_none) && !exists() && !self.may_be_absent(Some(list), &selected) {
            return Err(self.no_key(&selected));
        }
        found.iter().flatten().try_for_each(|value| self.check_text(value))?;
        let values: Option<Vec<Vec<f64>>> = found.into_iter().map(|value| value.and_then(numbers)).collect();
        Ok(values.map(|values| values.concat()))
    }

    /// Returns whether the first key is valid but absent or empty in all `elements`, such as `timeouts` without TCP
    /// flows.
    fn may_be_absent(&self, list: Option<&str>, elements: &[&Value]) -> bool {
        let Some(key) = self.keys.first() else { return false };
        let has = |element: &&Value| match element.get(key) {
            Some(Value::Object(object)) => !object.is_empty(),
            value => value.is_some(),
        };
        keys_of(list).contains(&key.as_str()) && !elements.iter().any(has)
    }

    /// Returns an error if `value` is a string.
    fn check_text(&self, value: &Value) -> Result<(), ExpressionFault> {
        let key = || self.keys.last().cloned().unwrap_or_default();
        if value.is_string() { Err(ExpressionFault::Text(key())) } else { Ok(()) }
    }

    fn no_key(&self, elements: &[&Value]) -> ExpressionFault {
        // The longest prefix of the path that exists, and the keys after it.
        let known = |depth: usize| {
            let parent = elements.iter().find_map(|element| find(element, self.keys.get(..depth)?))?;
            parent.as_object().filter(|keys| !keys.is_empty())
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

/// Returns the names of a record's lists, in the singular.
fn lists(record: &Value) -> Vec<String> {
    let of = |(key, value): (&String, &Value)| value.is_array().then(|| key.trim_end_matches('s').to_owned());
    record.as_object().map(|record| record.iter().filter_map(of).collect()).unwrap_or_default()
}

fn find<'a>(root: &'a Value, keys: &[String]) -> Option<&'a Value> {
    keys.iter().try_fold(root, |value, key| value.get(key))
}

/// Like [`find`], but returns null for keys within null, such as those of a size class without sessions.
fn find_or_null<'a>(root: &'a Value, keys: &[String]) -> Option<&'a Value> {
    keys.iter().try_fold(root, |value, key| if value.is_null() { Some(value) } else { value.get(key) })
}

/// Returns all numbers in a value; `None` if one is missing or there is none.
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

/// Returns whether a name matches a pattern in which `*` matches any characters.
pub(super) fn matches_pattern(pattern: &str, name: &str) -> bool {
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
    fn a_star_matches_any_characters() {
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
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }

    proptest! {
        /// A name matches the pattern in which a part of it is replaced by a star.
        #[test]
        fn a_star_matches_the_part_that_it_replaces(name in "[ab*-]{0,9}", from in 0usize..9, len in 0usize..9) {
            let (from, to) = (from.min(name.len()), (from + len).min(name.len()).max(from.min(name.len())));
            let pattern = format!("{}*{}", &name[..from], &name[to..]);
            prop_assert!(matches_pattern(&pattern, &name), "{} {}", pattern, name);
        }
    }
}
