//! Paths to values of a scenario, such as `link[0].queue.limit`.

use std::fmt;

/// Step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Key(String),
    /// Element of an array by its index from 0, or the tables with a matching name; `*` matches any characters.
    Element(String),
}

/// Path from the root of a scenario to a value, or with `*` to several values. The empty path is the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(pub(crate) Vec<Step>);

/// Maximum number of steps, well above that of any key.
const MAX_STEPS: usize = 16;

/// Error of a text that is not a path.
#[derive(Debug, thiserror::Error)]
#[error("\"{}\" is not a key: {fault}; write it like link[0].rate or flow[ftp].start", crate::suggest::quoted(text))]
pub(crate) struct PathError {
    text: String,
    fault: PathFault,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum PathFault {
    #[error("a name of letters, digits and _ is missing")]
    NoName,
    #[error("a bracket is not closed")]
    OpenBracket,
    #[error("the brackets are empty")]
    EmptyBrackets,
    #[error("it has more than {MAX_STEPS} steps")]
    TooLong,
    #[error("a dot is missing")]
    NoDot,
}

impl Path {
    pub(crate) fn key(&self, key: &str) -> Self {
        self.and(Step::Key(key.to_owned()))
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        self.and(Step::Element(index.to_string()))
    }

    pub(crate) fn join(&self, steps: &[Step]) -> Self {
        Self(self.0.iter().chain(steps).cloned().collect())
    }

    pub(crate) fn and(&self, step: Step) -> Self {
        self.join(&[step])
    }

    /// Parses a path such as `link[0].queue.limit` or `flow[ftp].start`.
    pub(crate) fn parse(text: &str) -> Result<Self, PathError> {
        let wrong = |fault| PathError { text: text.to_owned(), fault };
        let mut steps = Vec::new();
        let mut rest = text.trim();
        loop {
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            let (key, tail) = rest.split_at(end);
            if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
                return Err(wrong(PathFault::NoName));
            }
            steps.push(Step::Key(key.to_owned()));
            rest = tail;
            while let Some(tail) = rest.strip_prefix('[') {
                let (element, tail) = tail.split_once(']').ok_or_else(|| wrong(PathFault::OpenBracket))?;
                if element.is_empty() {
                    return Err(wrong(PathFault::EmptyBrackets));
                }
                steps.push(Step::Element(element.to_owned()));
                rest = tail;
            }
            if steps.len() > MAX_STEPS {
                return Err(wrong(PathFault::TooLong));
            }
            if rest.is_empty() {
                return Ok(Self(steps));
            }
            rest = rest.strip_prefix('.').ok_or_else(|| wrong(PathFault::NoDot))?;
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
    fn printed_paths_equal_the_parsed_text() {
        for text in ["duration", "link[0].rate", "flow[ftp].transport.window", "link[r1->r2].queue.limit", "a[0][1].b"]
        {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_of_paths_name_the_fault() {
        for (text, fault) in [
            ("", PathFault::NoName),
            ("link[0", PathFault::OpenBracket),
            ("link[].rate", PathFault::EmptyBrackets),
            ("link[0]rate", PathFault::NoDot),
            ("link..rate", PathFault::NoName),
            ("link.", PathFault::NoName),
            (&"a.".repeat(99), PathFault::TooLong),
        ] {
            assert_eq!(Path::parse(text).unwrap_err().fault, fault, "{text}");
        }
        let error = Path::parse("link[0").unwrap_err().to_string();
        assert_eq!(
            error,
            "\"link[0\" is not a key: a bracket is not closed; write it like link[0].rate or flow[ftp].start"
        );
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
