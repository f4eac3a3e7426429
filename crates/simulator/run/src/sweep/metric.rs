//! Metrics of a sweep, and the defaults.

use headway_record::{Expression, ExpressionError, ExpressionFault, Summary};
use headway_units::MediaKind;
use std::collections::BTreeSet;
use std::str::FromStr;

/// Maximum number of groups of flows with separate default metrics.
const MAX_GROUPS: usize = 3;

/// A named expression that is evaluated for each run. Text form: `NAME=EXPRESSION`, or an expression, which
/// is its own name.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Heading of its column.
    pub name: String,
    /// The expression.
    pub of: Expression,
}

impl FromStr for Metric {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        let named = text.split_once('=').map(|(name, of)| (name.trim(), of));
        let (name, of) = named.filter(|(name, _)| !name.is_empty()).unwrap_or((text.trim(), text));
        Ok(Self { name: name.to_owned(), of: of.parse()? })
    }
}

impl Metric {
    /// Parses metrics with unique names.
    ///
    /// # Errors
    /// A metric is invalid, or has the name of an earlier one.
    pub fn read_all(texts: &[String]) -> Result<Vec<Self>, ExpressionError> {
        let mut metrics: Vec<Self> = Vec::new();
        for text in texts {
            let metric: Self = text.parse()?;
            if metrics.iter().any(|other| other.name == metric.name) {
                return Err(ExpressionError { expression: metric.name, fault: ExpressionFault::SameName });
            }
            metrics.push(metric);
        }
        Ok(metrics)
    }

    /// Returns default metrics for runs like `run`: rate, loss, delay and on-time ratios of each group of
    /// flows, and Jain's index.
    #[must_use]
    pub fn defaults(run: &Summary) -> Vec<Self> {
        let mut groups: Vec<String> = Vec::new();
        for flow in &run.flows {
            let group = group(&flow.name, run);
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        if groups.len() > MAX_GROUPS {
            groups = vec!["*".to_owned()];
        }
        let mut metrics = Vec::new();
        for group in &groups {
            let title = if group == "*" { "flows" } else { group.trim_end_matches(['*', '-']) };
            let mut add = |what: &str, of: String| {
                // The expressions are valid unless a flow name breaks the syntax; then the metric is omitted.
                if let Ok(of) = of.parse() {
                    metrics.push(Self { name: format!("{title} {what}"), of });
                }
            };
            let path = format!("flow[{group}]");
            add("Mb/s", format!("mean({path}.throughput_bps) / 1e6"));
            add("loss %", format!("100 * sum({path}.lost_packets) / sum({path}.sent_packets)"));
            add("delay ms", format!("1e3 * mean({path}.one_way_delay_s.mean)"));
            let kinds = run.flows.iter().filter(|flow| *group == self::group(&flow.name, run) || group == "*");
            let kinds: BTreeSet<MediaKind> = kinds.flat_map(|flow| flow.on_time_ratio.keys().copied()).collect();
            for kind in kinds {
                let kind = kind.name();
                add(&format!("{kind} on time %"), format!("100 * mean({path}.on_time_ratio.{kind})"));
            }
        }
        if run.flows.len() > 1
            && let Ok(of) = "jain_index".parse()
        {
            metrics.push(Self { name: "Jain's index".to_owned(), of });
        }
        metrics
    }
}

/// Returns the pattern of a flow and its replicas, such as `ftp*` for `ftp3`, if there are several and all
/// their names are the prefix and a number. Otherwise returns the name.
fn group(name: &str, run: &Summary) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let alike = || run.flows.iter().filter_map(|flow| flow.name.strip_prefix(stem));
    if !stem.is_empty() && stem.len() < name.len() && alike().all(is_number) && alike().count() > 1 {
        return format!("{stem}*");
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns need unique names.
    #[test]
    fn metric_names_are_unique() {
        let read = |texts: &[&str]| Metric::read_all(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(read(&["a=jain_index", "jain_index"]).unwrap().len(), 2);
        for texts in [["a=jain_index", "a=2 * jain_index"], ["jain_index", " jain_index "]] {
            assert_eq!(read(&texts).unwrap_err().fault, ExpressionFault::SameName);
        }
    }
}
