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
    /// Name of the metric: heading of its column in tables.
    pub name: String,
    /// Expression that computes the metric from the summary of a run.
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

    /// Returns the default metrics for runs with the flows of `run`: rate, loss, delay and on-time ratios of each group
    /// of flows whose names differ only in a final number, and Jain's index.
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
    use headway_record::Numbers;
    use headway_scenario::{NoFiles, load};

    /// Runs flows with these names. Names that end with ! have deadlines.
    fn run(names: &[&str]) -> Summary {
        let mut text =
            "duration = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n".to_owned();
        for name in names {
            let lifetime = if name.ends_with('!') { ", lifetime = \"1s\"" } else { "" };
            let name = name.trim_end_matches('!');
            text += &format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"udp\" }}\n\
                 source = {{ kind = \"cbr\", interval = \"100ms\", size = \"1000B\"{lifetime} }}\n"
            );
        }
        let scenario = load("metric.toml", &text, &[], &NoFiles).unwrap().scenario;
        crate::simulate(&scenario, (), &(), |_| Ok(())).unwrap().record.summary
    }

    /// Up to three groups of flows have separate metrics, more have common ones. Flows with equal names before their
    /// number are one group.
    #[test]
    fn default_metrics_are_those_of_groups_of_flows() {
        for (flows, groups) in [
            (&["ftp"][..], &["ftp"][..]),
            (&["f1"], &["f1"]),
            (&["f1", "f2"], &["f"]),
            (&["f-1", "f-2", "g"], &["f", "g"]),
            (&["f1", "fast"], &["f1", "fast"]),
            (&["1", "2"], &["1", "2"]),
            (&["f1", "g", "h"], &["f1", "g", "h"]),
            (&["f", "g", "h", "i"], &["flows"]),
            (&["f!", "g", "h2!", "h1!"], &["f!", "g", "h!"]),
            (&["f!", "g!", "h!", "i!"], &["flows!"]),
        ] {
            let summary = run(flows);
            let metrics = Metric::defaults(&summary);
            let mut expected = Vec::new();
            for group in groups {
                let title = group.trim_end_matches('!');
                expected.extend(["Mb/s", "loss %", "delay ms"].map(|what| format!("{title} {what}")));
                expected.extend(group.ends_with('!').then(|| format!("{title} data on time %")));
            }
            expected.extend((flows.len() > 1).then(|| "Jain's index".to_owned()));
            assert_eq!(metrics.iter().map(|metric| metric.name.clone()).collect::<Vec<_>>(), expected);
            // 1000 B each 100 ms are 80 kb/s; a packet takes 8 ms and 5 ms.
            let numbers = Numbers::from(serde_json::to_value(&summary).unwrap());
            for metric in metrics {
                let value =
                    metric.of.evaluate(&numbers).unwrap().unwrap_or_else(|| panic!("{flows:?}: {}", metric.name));
                let is_expected = match metric.name.rsplit_once(' ').unwrap().1 {
                    "Mb/s" => (value - 0.08).abs() < 0.009,
                    "ms" => (13.0 - 1e-9..13.0 + 8.0 * flows.len() as f64).contains(&value),
                    "%" if metric.name.contains("loss") => value == 0.0,
                    "%" => value == 100.0,
                    _ => value > 0.9,
                };
                assert!(is_expected, "{}: {value}", metric.name);
            }
        }
    }

    #[test]
    fn a_metric_without_a_name_is_named_by_its_expression() {
        for (text, name) in [(" a b = jain_index", "a b"), (" jain_index ", "jain_index")] {
            let metric: Metric = text.parse().unwrap();
            assert_eq!((metric.name.as_str(), metric.of), (name, "jain_index".parse().unwrap()));
        }
        assert!("a=".parse::<Metric>().is_err() && "=jain_index".parse::<Metric>().is_err());
    }

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
