//! Patterns that expand to several names, like brace expansion in shells: `{queue=droptail|red}.tcp.{n=3|5}` expands to
//! four names, and sets the variables `queue` and `n` for each. Variables can be set together: `{rtt,way=30,15|80,40}`
//! expands to 30 and 80 with `way` set to 15 and 40.

use std::collections::BTreeMap;

/// Values of the variables of a pattern.
pub(crate) type Bindings = BTreeMap<String, String>;

/// A name that a pattern expands to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expanded {
    pub(crate) name: String,
    /// Variables of this name, and those known before.
    pub(crate) bindings: Bindings,
}

/// Error in a pattern of names, such as `{queue=droptail|red}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum PatternError {
    #[error("\"{pattern}\": every {{ needs a matching }}, and braces cannot be nested")]
    Braces { pattern: String },
    #[error("\"{pattern}\": \"{value}\" does not have one value for each variable")]
    Together { pattern: String, value: String },
    #[error("\"{pattern}\": {{{name}}} is unknown; known variables: {known}")]
    Unbound { pattern: String, name: String, known: String },
}

/// Expands `pattern`; the last choice changes fastest. `{n}` is a variable of `known` or of an earlier part, `{n=3|5}`
/// chooses a value and sets the variable, `{3|5}` only chooses. `{}` is kept as an empty table.
///
/// # Errors
/// If braces do not match, or a variable is unknown.
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

/// Expands a pattern that has only variables of `known`; returns the first name if there are several.
///
/// # Errors
/// Those of [`expand`].
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
    fn variables_have_the_chosen_values() {
        assert_eq!(names("{n}-{m=1|2}-{m}", &[("n", "7")]), ["7-1-1", "7-2-2"]);
        let all = expand("{n=3|5}", &Bindings::new()).unwrap();
        assert_eq!(all[1].bindings["n"], "5");
        assert_eq!(fill("node[client].count={n}", &all[1].bindings).unwrap(), "node[client].count=5");
    }

    #[test]
    fn variables_can_be_set_together() {
        assert_eq!(names("{rtt,way=30,15|80,40}.{rtt}-{way}ms", &[]), ["30.30-15ms", "80.80-40ms"]);
        assert_eq!(names("{a,b|c,d}", &[]), ["a,b", "c,d"]);
    }

    #[test]
    fn empty_braces_are_an_empty_table() {
        assert_eq!(names("{a|b}={}", &[]), ["a={}", "b={}"]);
    }

    #[test]
    fn errors_name_the_part() {
        let error = |pattern| expand(pattern, &Bindings::new()).unwrap_err().to_string();
        assert!(error("{n,m=1,2|3}").contains("\"3\" does not have one value for each variable"));
        assert!(error("{n").contains("needs a matching }"));
        assert!(error("n}").contains("needs a matching }"));
        assert!(error("{a{b}}").contains("needs a matching }"));
        assert!(error("{n}").contains("{n} is unknown"));
    }
}
