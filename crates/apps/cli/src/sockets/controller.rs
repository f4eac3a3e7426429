//! Rate controller of an endpoint: `--controller KIND[,KEY=VALUE...]`.

use crate::error::Failure;
use crate::keys::{Pair, pairs};
use headway_net::{ControllerOptions, Options};
use headway_scenario::choices;
use headway_units::{OptionError, Registry as _};
use serde_json::Value;

/// Sets the controller of both directions of each connection.
pub(super) fn with_controller(options: Options, text: &str) -> Result<Options, Failure> {
    let wrong = |message: String| Failure::Sockets(format!("--controller {text}: {message}"));
    let (kind, keys) = pairs(text).map_err(wrong)?;
    if !Options::controllers().any(|known| known == kind) {
        return Err(wrong(format!("there is no controller \"{kind}\"{}", choices(kind, Options::controllers()))));
    }
    let mut controller = options.controller_options(kind).map_err(|error| wrong(message(&error)))?;
    if !keys.is_empty() {
        controller = with_keys(&controller, keys).map_err(wrong)?;
    }
    options.with_controller_options(controller).map_err(|error| wrong(message(&error)))
}

/// Returns the controller with these keys set.
pub(super) fn with_keys(controller: &ControllerOptions, keys: Vec<Pair<'_>>) -> Result<ControllerOptions, String> {
    let set_keys: Vec<String> = keys.iter().map(|(key, _)| (*key).to_owned()).collect();
    let mut all = serde_json::to_value(controller).map_err(|error| error.to_string())?;
    if let Some(table) = all.as_object_mut() {
        table.remove("kind");
    }
    for (path, value) in keys {
        let (table, key) = match path.rsplit_once('.') {
            Some((table, key)) => (all.get_mut(table), key),
            None => (Some(&mut all), path),
        };
        let table = table.and_then(Value::as_object_mut).ok_or_else(|| format!("unknown key \"{path}\""))?;
        if !table.contains_key(key) && table.get("expert").is_some_and(|expert| expert.get(key).is_some()) {
            return Err(format!("unknown key \"{key}\"; it is called \"expert.{key}\" now"));
        }
        table.insert(key.to_owned(), value);
    }
    let controller: ControllerOptions =
        headway_scenario::options(controller.kind(), all).map_err(|error| error.to_string())?;
    controller.check().map_err(|error| message(&error))?;
    match controller.unused().iter().find(|error| set_keys.contains(&path(error))) {
        Some(error) => Err(message(error)),
        None => Ok(controller),
    }
}

/// Error of a missing `--line-rate`. The rate cannot be measured: a packet pair measures the bottleneck of the path
/// instead of this interface, and the feedback of these controllers has no arrival times.
const LINE_RATE: &str = "the rate of this host's network interface is required; set --line-rate, such as 100Mbps. On Linux \
     \"ip route get ADDRESS\" prints the interface to the peer, and \"cat /sys/class/net/INTERFACE/speed\" its rate in Mb/s";

/// Returns the path of a key with its tables.
fn path(error: &OptionError) -> String {
    error.tables.iter().chain([&error.key]).copied().collect::<Vec<_>>().join(".")
}

/// Returns the message of a library error, with the name of the option on the command line.
pub(super) fn message(error: &OptionError) -> String {
    match error.key {
        "line_rate" => LINE_RATE.to_owned(),
        "controller" | "loss_filter" => error.message.clone(),
        _ => format!("{}: {}", path(error), error.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udpm(text: &str) -> Result<Value, String> {
        let options = with_controller(Options::insecure(), text).map_err(|error| error.to_string())?;
        let [row] = &options.connection.controllers[..] else { panic!("{text}: one controller") };
        Ok(serde_json::to_value(&row.controller).unwrap())
    }

    #[test]
    fn udpm_2_2_levels_and_rules_are_options() {
        let five = udpm("udpm,levels=5,step=100kbps,decide=round-trip").unwrap();
        assert_eq!(
            (&five["levels"], &five["step"], &five["decide"]),
            (&5.into(), &"100kbps".into(), &"round-trip".into())
        );
        let three = udpm("udpm,ladder=[64kbps,128kbps,1Mbps]").unwrap();
        assert_eq!(three["ladder"], serde_json::json!(["64kbps", "128kbps", "1Mbps"]));
    }

    #[test]
    fn errors_of_keys_include_the_allowed_values() {
        for (text, why) in [
            ("udpm,levels", "\"levels\" has no value; expected KEY=VALUE"),
            ("udpm,levels=0", "levels: there are 1 to 256 rates"),
            ("udpm,levels=-1", "levels: -1 is out of range: there are 1 to 256 rates"),
            (
                "udpm,step=1e30bps",
                "step: \"1e30bps\" is out of range: a rate is more than 0bps; the greatest rate is at most 100Gbps",
            ),
            ("udpm,interval=1s,decide=packet", "interval: this key has no effect without decide = \"interval\""),
            ("tfrc,loss_after=3", "unknown key \"loss_after\"; it is called \"expert.loss_after\" now"),
            ("tfrc,expert.loss_after=-1", "expert.loss_after: -1 is out of range: write more than 0; at most 255"),
            (
                "tfrc,discounting=false,expert.discount_threshold=0.5",
                "expert.discount_threshold: this key has no effect without discounting = true",
            ),
            ("udpm,levels=5,ladder=[64kbps]", "levels: a ladder has all rates, so that levels has no effect"),
            ("udpm,halve=once,halve=each-loss", "halve: duplicate key"),
            ("udpm,levels=many", "levels"),
            ("udpm,levles=5", "did you mean \"levels\"?"),
            ("udpm,decide=each", "decide"),
            ("udpm,ladder=[2kbps,1kbps]", "ladder: 1kbps follows 2kbps; expected rates in ascending order"),
            ("udpn,levels=5", "there is no controller \"udpn\"; did you mean \"udpm\"? Known are tcp-like, tfrc"),
            ("spacing", "set --line-rate, such as 100Mbps"),
            ("tfrc,loss_filter=spike", "a filter needs the sender's clock, which only data of tfrc-filtered carries"),
        ] {
            let error = udpm(text).unwrap_err();
            assert!(error.contains(&format!("--controller {text}: ")) && error.contains(why), "{text}: {error}");
        }
        let fifty: Vec<String> = (1..=50).map(|rate| format!("{rate}kbps")).collect();
        let error = udpm(&format!("udpm,ladder=[{}]", fifty.join(","))).unwrap_err();
        assert!(error.contains("ladder: 50 rates are too many for a connection; expected 1 to 49"), "{error}");
    }

    /// Keys that are not set keep the values for real paths.
    #[test]
    fn keys_change_the_preset_of_real_paths() {
        let of = |text: &str| {
            let options = with_controller(Options::insecure(), text).unwrap();
            let row = options.connection.controllers.iter().find(|row| row.ccid.0 == 3).unwrap().clone();
            (serde_json::to_value(&row.controller).unwrap(), row.ack_vectors)
        };
        let ((usual, vectors), (mut other, other_vectors)) = (of("tfrc"), of("tfrc,expert.t_gran=1ms"));
        assert_eq!((&usual["expert"]["t_gran"], &other["expert"]["t_gran"]), (&"100us".into(), &"1ms".into()));
        other["expert"]["t_gran"] = usual["expert"]["t_gran"].clone();
        assert_eq!((usual, vectors), (other, other_vectors));
    }
}
