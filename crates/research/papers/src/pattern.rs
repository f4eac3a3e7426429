//! Names of many things in one line, as shells write them: `{queue=droptail|red}.tcp.{n=3|5}` is four names, and in
//! each of them `queue` and `n` stand for what was chosen. What goes together is chosen together:
//! `{rtt,way=30,15|80,40}` is two names, 30 and 80, in which `way` stands for 15 and 40.

use std::collections::BTreeMap;

/// What the variables of a pattern stand for.
pub(crate) type Bindings = BTreeMap<String, String>;

/// One of the names that a pattern gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expanded {
    /// The name.
    pub(crate) name: String,
    /// What was chosen for it, and what was known before.
    pub(crate) bindings: Bindings,
}

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum PatternError {
    #[error("\"{pattern}\": every {{ needs a }} after it, and none stands inside another")]
    Braces { pattern: String },
    #[error("\"{pattern}\": \"{value}\" does not have one value for each variable")]
    Together { pattern: String, value: String },
    #[error("\"{pattern}\": {{{name}}} stands for nothing here; known are {known}")]
    Unbound { pattern: String, name: String, known: String },
}

/// Every name that `pattern` gives, the last choice changing fastest. `{n}` is what `known` or an earlier part of the
/// pattern says, `{n=3|5}` chooses and remembers, `{3|5}` only chooses. `{}` is an empty table, not a choice.
///
/// # Errors
/// Braces that do not match, or a variable that nothing is known of.
pub(crate) fn expand(pattern: &str, known: &Bindings) -> Result<Vec<Expanded>, PatternError> {
    let braces = || PatternError::Braces { pattern: pattern.to_owned() };
    let mut all = vec![Expanded { name: String::new(), bindings: known.clone() }];
    let mut rest = pattern;
    while let Some((text, after)) = rest.split_once('{') {
        let (choice, after) = after.split_once('}').ok_or_else(braces)?;
        if text.contains('}') || choice.contains('{') {
            return Err(braces());
        }
        let mut longer = Vec::new();
        for one in &all {
            let (variables, values) = match choice.split_once('=') {
                Some((variables, values)) => (variables.split(',').collect(), values.to_owned()),
                None if choice.contains('|') => (Vec::new(), choice.to_owned()),
                None if choice.is_empty() => (Vec::new(), "{}".to_owned()),
                None => (Vec::new(), known_value(pattern, choice, &one.bindings)?),
            };
            for value in values.split('|') {
                let parts: Vec<&str> = if variables.len() > 1 { value.split(',').collect() } else { vec![value] };
                if variables.len() > 1 && variables.len() != parts.len() {
                    return Err(PatternError::Together { pattern: pattern.to_owned(), value: value.to_owned() });
                }
                let mut next = one.clone();
                next.name = format!("{}{text}{}", one.name, parts[0]);
                let chosen = variables.iter().zip(&parts).map(|(name, part)| ((*name).to_owned(), (*part).to_owned()));
                next.bindings.extend(chosen);
                longer.push(next);
            }
        }
        all = longer;
        rest = after;
    }
    if rest.contains('}') {
        return Err(braces());
    }
    for one in &mut all {
        one.name.push_str(rest);
    }
    Ok(all)
}

/// `pattern` where it gives one name only: every choice is made by `known`.
///
/// # Errors
/// As [`expand`]; of several names the first is taken.
pub(crate) fn fill(pattern: &str, known: &Bindings) -> Result<String, PatternError> {
    Ok(expand(pattern, known)?.into_iter().next().map(|one| one.name).unwrap_or_default())
}

fn known_value(pattern: &str, name: &str, known: &Bindings) -> Result<String, PatternError> {
    known.get(name).cloned().ok_or_else(|| PatternError::Unbound {
        pattern: pattern.to_owned(),
        name: name.to_owned(),
        known: known.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pattern: &str, known: &[(&str, &str)]) -> Vec<String> {
        let known = known.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        expand(pattern, &known).unwrap().into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn the_last_choice_changes_fastest() {
        assert_eq!(names("{q=a|b}.tcp.{n=3|5}", &[]), ["a.tcp.3", "a.tcp.5", "b.tcp.3", "b.tcp.5"]);
        assert_eq!(names("plain", &[]), ["plain"]);
        assert_eq!(names("x{3|5}y", &[]), ["x3y", "x5y"]);
    }

    #[test]
    fn variables_stand_for_what_was_chosen() {
        assert_eq!(names("{n}-{m=1|2}-{m}", &[("n", "7")]), ["7-1-1", "7-2-2"]);
        let all = expand("{n=3|5}", &Bindings::new()).unwrap();
        assert_eq!(all[1].bindings["n"], "5");
        assert_eq!(fill("node[client].count={n}", &all[1].bindings).unwrap(), "node[client].count=5");
    }

    #[test]
    fn what_goes_together_is_chosen_together() {
        assert_eq!(names("{rtt,way=30,15|80,40}.{rtt}-{way}ms", &[]), ["30.30-15ms", "80.80-40ms"]);
        assert_eq!(names("{a,b|c,d}", &[]), ["a,b", "c,d"]);
    }

    #[test]
    fn empty_braces_are_an_empty_table() {
        assert_eq!(names("{a|b}={}", &[]), ["a={}", "b={}"]);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |pattern| expand(pattern, &Bindings::new()).unwrap_err().to_string();
        assert!(error("{n,m=1,2|3}").contains("\"3\" does not have one value for each variable"));
        assert!(error("{n").contains("needs a }"));
        assert!(error("n}").contains("needs a }"));
        assert!(error("{a{b}}").contains("needs a }"));
        assert!(error("{n}").contains("{n} stands for nothing here"));
    }
}
