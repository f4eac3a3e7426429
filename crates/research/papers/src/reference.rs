//! Means of ns-2 in the same cells, from `ns2.csv`.

use headway_record::Estimate;
use std::collections::BTreeMap;

const HEAD: &str = "cell,metric,mean,ci95,runs";

/// ns-2's means, by cell and metric.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    rows: BTreeMap<(String, String), Estimate>,
}

/// Error in `ns2.csv`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ReferenceError {
    line: usize,
    what: String,
}

impl Reference {
    /// Parses rows of `cell,metric,mean,ci95,runs` below a header line; lines that start with `#` are comments. `ci95`
    /// is empty for a single run; 0, which ns-2's means have for equal runs, is read as no interval.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let mut rows = BTreeMap::new();
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
        let wrong = |line: usize, what: &str| ReferenceError { line: line + 1, what: what.to_owned() };
        match lines.next() {
            None => return Ok(Self::default()),
            Some((_, HEAD)) => {}
            Some((line, _)) => return Err(wrong(line, &format!("expected the header {HEAD}"))),
        }
        for (line, text) in lines {
            let fields: Vec<&str> = text.split(',').collect();
            let [cell, metric, mean, ci95, runs] = fields[..] else {
                return Err(wrong(line, &format!("the row has {} fields; expected {HEAD}", fields.len())));
            };
            let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
            let mean = number(mean).ok_or_else(|| wrong(line, "mean is not a finite number"))?;
            let runs = runs.parse().map_err(|_| wrong(line, "runs is not an integer of 0 or more"))?;
            let ci95 = match ci95 {
                "" => None,
                text => Some(number(text).ok_or_else(|| wrong(line, "ci95 is not a finite number"))?),
            };
            let estimate = Estimate { mean, ci95: ci95.filter(|ci95| runs > 1 && *ci95 > 0.0), runs };
            if rows.insert((cell.to_owned(), metric.to_owned()), estimate).is_some() {
                return Err(wrong(line, "duplicate cell and metric"));
            }
        }
        Ok(Self { rows })
    }

    /// Returns ns-2's mean of a metric in a cell.
    #[must_use]
    pub fn get(&self, cell: &str, metric: &str) -> Option<Estimate> {
        self.rows.get(&(cell.to_owned(), metric.to_owned())).copied()
    }

    /// Returns every cell and metric with its mean.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, Estimate)> {
        self.rows.iter().map(|((cell, metric), estimate)| (cell.as_str(), metric.as_str(), *estimate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_parsed_and_errors_have_the_line() {
        let text = "# ns-2.35\ncell,metric,mean,ci95,runs\na,m,1.5,0.25,10\nb,m,2,,1\n";
        let reference = Reference::parse(text).unwrap();
        assert_eq!(reference.get("a", "m"), Some(Estimate { mean: 1.5, ci95: Some(0.25), runs: 10 }));
        assert_eq!(reference.get("b", "m"), Some(Estimate { mean: 2.0, ci95: None, runs: 1 }));
        assert_eq!(reference.get("b", "x"), None);
        for (line, part) in [
            ("a,m,1.5,0.25,10", "line 5: duplicate cell and metric"),
            ("c,m,1.5", "the row has 3 fields"),
            ("c,m,NaN,0,10", "mean is not a finite number"),
            ("c,m,1,x,10", "ci95 is not a finite number"),
            ("c,m,1,0,-1", "runs is not an integer of 0 or more"),
        ] {
            let error = Reference::parse(&format!("{text}{line}\n")).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(Reference::parse("mean\n").unwrap_err().to_string().contains("expected the header"));
    }
}
