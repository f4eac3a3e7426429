//! Loss filters and spacing schemes: `--loss-filter` and `--spacing`, each `KIND[,KEY=VALUE...]`.

use super::controller::{message, with_keys};
use crate::error::Failure;
use crate::keys::{Pair, pairs};
use headway_net::{LossFilterKind, Options, Spacing};
use headway_scenario::choices;
use headway_units::Duration;
use serde_json::{Value, json};

/// Loss filters of a receiver. The library refuses the oracle with a reason.
const FILTERS: [(&str, LossFilterKind); 6] = [
    ("uddj", LossFilterKind::Uddj),
    ("guarded", LossFilterKind::Guarded),
    ("zigzag", LossFilterKind::Zigzag),
    ("mbiaz", LossFilterKind::Mbiaz),
    ("spike", LossFilterKind::Spike),
    ("oracle", LossFilterKind::Oracle),
];

/// Scheme of the paper on packet spacing: its name, the kind of its controller, and its default options.
type Scheme = (&'static str, &'static str, fn() -> Spacing);

const SCHEMES: [Scheme; 4] = [
    ("fixed", "spacing-fixed", || Spacing::fixed(Duration::from_millis(1))),
    ("ad-hoc", "spacing", Spacing::ad_hoc),
    ("damped", "spacing", Spacing::damped),
    ("equation", "spacing-equation", Spacing::equation),
];

/// Sets the filter of the losses of received data.
pub(super) fn with_loss_filter(options: Options, text: &str) -> Result<Options, Failure> {
    let wrong = |message: String| Failure::Sockets(format!("--loss-filter {text}: {message}"));
    let (kind, keys) = pairs(text).map_err(wrong)?;
    let filter = known("loss filter", kind, &FILTERS, |filter| filter != LossFilterKind::Oracle).map_err(wrong)?;
    let options = options.with_loss_filter(filter, None).map_err(|error| wrong(message(&error)))?;
    if !keys.is_empty() && filter != LossFilterKind::Uddj {
        return Err(wrong("this filter has no keys; only uddj has keys".to_owned()));
    }
    let uddj = Value::Object(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    set(options, if uddj == json!({}) { vec![] } else { vec![("uddj", uddj)] }).map_err(wrong)
}

/// Sets the scheme that spaces the packets of sent data.
pub(super) fn with_spacing(options: Options, text: &str) -> Result<Options, Failure> {
    let wrong = |message: String| Failure::Sockets(format!("--spacing {text}: {message}"));
    let (name, keys) = pairs(text).map_err(wrong)?;
    let scheme = known("spacing", name, &SCHEMES.map(|(name, _, scheme)| (name, scheme)), |_| true).map_err(wrong)?;
    if let Some((_, damping)) = keys.iter().find(|(key, _)| *key == "damping")
        && let Some(other) = other_scheme(name, damping)
    {
        let error =
            format!("damping: {} is the scheme {other}; set --spacing {other}, or remove damping", shown(damping));
        return Err(wrong(error));
    }
    let options = options.with_spacing(scheme()).map_err(|error| wrong(message(&error)))?;
    set(options, keys).map_err(wrong)
}

/// Returns the other scheme that this `damping` belongs to: ad-hoc has no damping, damped has one.
fn other_scheme(name: &str, damping: &Value) -> Option<&'static str> {
    match (name, damping.as_str()?) {
        ("damped", "none") => Some("ad-hoc"),
        ("ad-hoc", "newest" | "in-force") => Some("damped"),
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the kind of the controller of `--spacing`.
pub(super) fn controller_of_spacing(text: &str) -> &str {
    let name = text.split(',').next().unwrap_or_default().trim();
    SCHEMES.iter().find(|(scheme, ..)| *scheme == name).map_or("spacing", |(_, kind, _)| kind)
}

/// Returns the value with this name. The error lists the values that are `allowed`.
fn known<T: Copy>(what: &str, name: &str, all: &[(&str, T)], allowed: fn(T) -> bool) -> Result<T, String> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let listed = all.iter().filter(|(_, value)| allowed(*value)).map(|(known, _)| *known);
        format!("there is no {what} \"{name}\"{}", choices(name, listed))
    })
}

/// Sets keys of the only controller that these options propose.
fn set(mut options: Options, keys: Vec<Pair<'_>>) -> Result<Options, String> {
    let ccid = options.connection.send_ccids.first().copied();
    let mut rows = options.connection.controllers.iter_mut();
    if let Some(row) = rows.find(|row| Some(row.ccid.0) == ccid).filter(|_| !keys.is_empty()) {
        row.controller = with_keys(&row.controller, keys)?;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Rate;

    fn controller(options: Result<Options, Failure>) -> Result<Value, String> {
        let options = options.map_err(|error| error.to_string())?;
        let [ccid] = options.connection.send_ccids[..] else { panic!("one CCID") };
        let row = options.connection.controllers.iter().find(|row| row.ccid.0 == ccid).unwrap();
        Ok(serde_json::to_value(&row.controller).unwrap())
    }

    fn filter(text: &str) -> Result<Value, String> {
        controller(with_loss_filter(Options::insecure(), text))
    }

    fn spacing(text: &str, rate: Option<u64>) -> Result<Value, String> {
        let mut options = Options::insecure();
        options.connection.line_rate = rate.map(Rate::from_bits_per_second);
        controller(with_spacing(options, text))
    }

    #[test]
    fn uddj_future_work_filters_are_options() {
        for (name, _) in &FILTERS[..5] {
            let found = filter(name).unwrap();
            assert_eq!((&found["kind"], &found["loss_filter"]), (&"tfrc-filtered".into(), &(*name).into()));
        }
        let found = filter("uddj,action=filter,floor=10ms").unwrap();
        assert_eq!((&found["uddj"]["action"], &found["uddj"]["floor"]), (&"filter".into(), &"10ms".into()));
        for (text, why) in [
            ("oracle", "the oracle counts the losses that the channel did not cause, and only a simulator knows these"),
            ("zigzg", "there is no loss filter \"zigzg\"; did you mean \"zigzag\"?"),
            ("uddj,floor", "\"floor\" has no value; expected KEY=VALUE"),
            ("uddj,flor=1ms", "uddj.flor: unknown key \"flor\"; did you mean \"floor\"?"),
            ("uddj,margin=1", "uddj.margin: 1 is out of range"),
            ("spike,floor=1ms", "this filter has no keys; only uddj has keys"),
        ] {
            let found = filter(text).unwrap_err();
            assert!(found.starts_with(&format!("--loss-filter {text}: {why}")), "{found}");
        }
    }

    #[test]
    fn packet_spacing_2_schemes_are_options() {
        let rate = Some(100_000_000);
        for (text, key, value) in [
            ("fixed,spacing=500us", "spacing", "500us"),
            ("fixed", "spacing", "1ms"),
            ("ad-hoc,shorten=step,step=1ms", "damping", "none"),
            ("damped,damping=newest", "damping", "newest"),
            ("damped", "damping", "in-force"),
        ] {
            let found = spacing(text, rate).unwrap();
            assert_eq!((&found["kind"], &found[key]), (&controller_of_spacing(text).into(), &value.into()), "{text}");
        }
        assert_eq!(spacing("equation", None).unwrap()["expert"]["pacing"], "even");
        for (text, rate, why) in [
            (
                "damped",
                None,
                "the rate of this host's network interface is required; set --line-rate, such as 100Mbps. On Linux \"ip route",
            ),
            ("dampd", rate, "there is no spacing \"dampd\"; did you mean \"damped\"?"),
            ("fixed,gap=1ms", rate, "gap: unknown key \"gap\""),
            ("fixed,spacing=65s", rate, "spacing: 65s is out of range"),
            (
                "damped,damping=none",
                rate,
                "damping: none is the scheme ad-hoc; set --spacing ad-hoc, or remove damping",
            ),
            (
                "ad-hoc,damping=newest",
                rate,
                "damping: newest is the scheme damped; set --spacing damped, or remove damping",
            ),
            (
                "damped,step=1ms",
                rate,
                "step: this key has no effect without shorten = \"step\": write shorten = \"step\", or leave",
            ),
            ("damped,silence=-1", rate, "silence: -1 is out of range: write a whole number from 0 to 255"),
        ] {
            let found = spacing(text, rate).unwrap_err();
            assert!(found.starts_with(&format!("--spacing {text}: {why}")), "{found}");
        }
    }
}
