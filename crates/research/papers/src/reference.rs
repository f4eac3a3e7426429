//! What ns-2 gave in the same cells: stored numbers, with the head that says where they are from.

use headway_record::Estimate;
use std::collections::BTreeMap;

/// The columns of the file.
const HEAD: &str = "cell,metric,mean,ci95,runs";

/// ns-2's means, by cell and metric.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    rows: BTreeMap<(String, String), Estimate>,
}

/// The file is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ReferenceError {
    line: usize,
    what: String,
}

impl Reference {
    /// Reads lines of `cell,metric,mean,ci95,runs` below a line that says so; lines with `#` tell where they are from.
    /// An interval may be left empty: a single run has none. Neither have equal runs, of which ns-2's means say 0.
    ///
    /// # Errors
    /// The first line that is none of these.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let mut rows = BTreeMap::new();
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
        let wrong = |line: usize, what: &str| ReferenceError { line: line + 1, what: what.to_owned() };
        match lines.next() {
            None => return Ok(Self::default()),
            Some((_, HEAD)) => {}
            Some((line, _)) => return Err(wrong(line, &format!("the columns are {HEAD}"))),
        }
        for (line, text) in lines {
            let fields: Vec<&str> = text.split(',').collect();
            let [cell, metric, mean, ci95, runs] = fields[..] else {
                return Err(wrong(line, &format!("this has {} fields instead of those of {HEAD}", fields.len())));
            };
            let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
            let mean = number(mean).ok_or_else(|| wrong(line, "the mean is no number"))?;
            let runs = runs.parse().map_err(|_| wrong(line, "runs is a whole number"))?;
            let ci95 = match ci95 {
                "" => None,
                text => Some(number(text).ok_or_else(|| wrong(line, "ci95 is no number"))?),
            };
            let estimate = Estimate { mean, ci95: ci95.filter(|ci95| runs > 1 && *ci95 > 0.0), runs };
            if rows.insert((cell.to_owned(), metric.to_owned()), estimate).is_some() {
                return Err(wrong(line, "this cell and metric stand here twice"));
            }
        }
        Ok(Self { rows })
    }

    /// What ns-2 gave.
    #[must_use]
    pub fn get(&self, cell: &str, metric: &str) -> Option<Estimate> {
        self.rows.get(&(cell.to_owned(), metric.to_owned())).copied()
    }

    /// Every cell and metric that there is.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, Estimate)> {
        self.rows.iter().map(|((cell, metric), estimate)| (cell.as_str(), metric.as_str(), *estimate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_mistakes_are_named() {
        let text = "# ns-2.35\ncell,metric,mean,ci95,runs\na,m,1.5,0.25,10\nb,m,2,,1\n";
        let reference = Reference::parse(text).unwrap();
        assert_eq!(reference.get("a", "m"), Some(Estimate { mean: 1.5, ci95: Some(0.25), runs: 10 }));
        assert_eq!(reference.get("b", "m"), Some(Estimate { mean: 2.0, ci95: None, runs: 1 }));
        assert_eq!(reference.get("b", "x"), None);
        for (line, part) in [
            ("a,m,1.5,0.25,10", "line 5: this cell and metric stand here twice"),
            ("c,m,1.5", "this has 3 fields"),
            ("c,m,NaN,0,10", "the mean is no number"),
            ("c,m,1,x,10", "ci95 is no number"),
            ("c,m,1,0,-1", "runs is a whole number"),
        ] {
            let error = Reference::parse(&format!("{text}{line}\n")).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(Reference::parse("mean\n").unwrap_err().to_string().contains("the columns are"));
    }
}
