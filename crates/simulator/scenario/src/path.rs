//! Where in a scenario something stands: `link[0].queue.limit`.

use std::fmt;

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Key(String),
    /// An element of an array, from 0, or the tables in it that are called so; `*` in it stands for any characters.
    Element(String),
}

/// The way from the root of a scenario to one of its values, or with `*` to several. The empty path is the scenario itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(pub(crate) Vec<Step>);

/// Far more than any key of a scenario needs.
const MAX_STEPS: usize = 16;

impl Path {
    /// This path and one key more.
    pub(crate) fn key(&self, key: &str) -> Self {
        self.and(Step::Key(key.to_owned()))
    }

    /// This path and one index more.
    pub(crate) fn index(&self, index: usize) -> Self {
        self.and(Step::Element(index.to_string()))
    }

    /// This path and the steps of a relative one.
    pub(crate) fn join(&self, steps: &[Step]) -> Self {
        Self(self.0.iter().chain(steps).cloned().collect())
    }

    pub(crate) fn and(&self, step: Step) -> Self {
        self.join(&[step])
    }

    /// Reads `link[0].queue.limit` or `flow[ftp].start`; `Err` says what is wrong and what would be right.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "\"{}\" is not a key: {what}; write it like link[0].rate or flow[ftp].start",
                crate::suggest::quoted(text)
            )
        };
        let mut steps = Vec::new();
        let mut rest = text.trim();
        loop {
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            let (key, tail) = rest.split_at(end);
            if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
                return Err(wrong("a name of letters, digits and _ is missing"));
            }
            steps.push(Step::Key(key.to_owned()));
            rest = tail;
            while let Some(tail) = rest.strip_prefix('[') {
                let Some((element, tail)) = tail.split_once(']') else {
                    return Err(wrong("a bracket is not closed"));
                };
                if element.is_empty() {
                    return Err(wrong("the brackets are empty"));
                }
                steps.push(Step::Element(element.to_owned()));
                rest = tail;
            }
            if steps.len() > MAX_STEPS {
                return Err(wrong("it has too many steps"));
            }
            if rest.is_empty() {
                return Ok(Self(steps));
            }
            rest = rest.strip_prefix('.').ok_or_else(|| wrong("a dot is missing"))?;
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if position == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Element(element) => write!(f, "[{element}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_printed_as_they_are_written() {
        for text in ["duration", "link[0].rate", "flow[ftp].transport.window", "link[r1->r2].queue.limit", "a[0][1].b"]
        {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_paths_are_told_what_is_missing() {
        for (text, part) in [
            ("", "is missing"),
            ("link[0", "not closed"),
            ("link[].rate", "empty"),
            ("link[0]rate", "a dot"),
            ("link..rate", "is missing"),
            ("link.", "is missing"),
            (&"a.".repeat(99), "too many steps"),
        ] {
            let message = Path::parse(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-c.\\[\\]0-9 é]{0,40}") {
            if let Ok(path) = Path::parse(&text) {
                prop_assert_eq!(Path::parse(&path.to_string()).unwrap(), path);
            }
        }
    }
}
