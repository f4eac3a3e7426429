//! `[[attacker]]`: keys, errors and the resolved scenario.

use headway_scenario::{Loaded, NoFiles, ScenarioError};
use headway_units::{Duration, Instant, Registry};

fn load(attacker: &str, transport: &str) -> Result<Loaded, ScenarioError> {
    let text = format!(
        r#"duration = "10s"
[[node]]
name = "many"
count = 2
[[link]]
between = ["a", "b"]
rate = "2Mbps"
delay = "10ms"
[[link]]
between = ["b", "c"]
rate = "2Mbps"
delay = "10ms"
[[link]]
between = ["lonely", "island"]
rate = "2Mbps"
delay = "10ms"
[[flow]]
name = "call"
from = "a"
to = "c"
transport = {transport}
source = {{ kind = "cbr", interval = "20ms", payload = "160B" }}
[[attacker]]
{attacker}
"#
    );
    headway_scenario::load("attack.toml", &text, &[], &NoFiles)
}

const DCCP: &str = r#"{ kind = "dccp", ccid = 3 }"#;
const TWO: &str = r#"{ kind = "dccp", ccid = 2 }"#;
const FORGE_ATTACK: &str = r#"attack = { kind = "forge" }"#;
const FORGE: &str = r#"name = "mallory"
at = "b"
target = "call"
attack = { kind = "forge" }"#;

#[test]
fn an_attacker_is_read_and_resolved() {
    let loaded = load(FORGE, DCCP).unwrap();
    let [attacker] = &loaded.scenario.attackers[..] else { panic!("{:?}", loaded.scenario.attackers) };
    assert_eq!((attacker.at, attacker.target, attacker.on_path), (3, 0, false));
    assert_eq!((attacker.start, attacker.stop, attacker.attack.kind()), (Instant::ZERO, None, "forge"));
    let again = headway_scenario::load("resolved.toml", &loaded.resolved_toml, &[], &NoFiles).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    let later = load(&FORGE.replace("attack =", "start = \"2s\"\nstop = \"3s\"\nattack ="), DCCP).unwrap();
    let attacker = &later.scenario.attackers[0];
    assert_eq!((attacker.start, attacker.stop), (Instant::from_secs(2), Some(Instant::ZERO + Duration::from_secs(3))));
}

fn lie(claim: &str) -> String {
    format!("on_path = true\nattack = {{ kind = \"lie\", claim = \"{claim}\" }}")
}

#[test]
fn each_ccid_has_its_claims() {
    for (transport, claims) in [
        (TWO, ["no-losses", "ahead", "elapsed", "no-marks"].as_slice()),
        (DCCP, &["no-losses", "ahead", "elapsed", "one-event", "first-interval", "receive-rate"]),
    ] {
        for claim in claims {
            load(&FORGE.replace(FORGE_ATTACK, &lie(claim)), transport).unwrap();
        }
    }
}

#[test]
fn errors_name_their_place() {
    let udp = r#"{ kind = "udp" }"#;
    for (from, to, transport, expected) in [
        ("\"b\"", "\"a\"", DCCP, "attack.toml:25:6: attacker[0].at: \"a\" is an end of \"call\""),
        ("\"b\"", "\"bb\"", DCCP, "attacker[0].at: unknown node \"bb\"; did you mean"),
        ("\"b\"", "\"many\"", DCCP, "attacker[0].at: \"many\" has replicas"),
        ("\"b\"", "\"island\"", DCCP, "attacker[0].at: there is no path from \"island\" to"),
        ("\"call\"", "\"cal\"", DCCP, "attacker[0].target: unknown flow \"cal\"; did you mean \"call\"?"),
        ("mallory", "mallory", udp, "attacker[0].target: \"call\" is not a connection"),
        ("\"forge\"", "\"frge\"", DCCP, "attacker[0].attack.kind: unknown attack \"frge\"; did you mean \"forge\"?"),
        ("\"forge\"", "\"replay\"", DCCP, "attacker[0].attack: this attack needs an on-path attacker"),
        ("\"forge\"", "\"forge\", unknown_bits = 20", DCCP, "attacker[0].attack: this attack needs an on-path"),
        ("\"forge\"", "\"forge\", unknown_bits = 49", DCCP, "attacker[0].attack.unknown_bits: 49 is out of range"),
        ("\"forge\"", "\"forge\", interval = \"1ns\"", DCCP, "attacker[0].attack.interval: 1ns is too short"),
        (
            FORGE_ATTACK,
            &lie("no-marks"),
            DCCP,
            "attacker[0].attack.claim: a receiver of CCID 3 does not report what this claim changes",
        ),
        (FORGE_ATTACK, &lie("one-event"), TWO, "expected no-losses, ahead, elapsed, no-marks"),
        (FORGE_ATTACK, &lie("first-interval"), TWO, "a receiver of CCID 2"),
        (FORGE_ATTACK, &lie("receive-rate"), TWO, "a receiver of CCID 2"),
        (
            FORGE_ATTACK,
            &lie("ahead\", towards = \"to-server"),
            DCCP,
            "attacker[0].attack.towards: the client sends all data",
        ),
        ("\"forge\"", "\"flood\", sources = 0", DCCP, "attacker[0].attack.sources: 0 is out of range"),
        ("attack =", "stop = \"0s\"\nattack =", DCCP, "attacker[0].stop: 0s is not after the start at 0s"),
        ("attack =", "onpath = true\nattack =", DCCP, "unknown key \"onpath\"; did you mean \"on_path\"?"),
        ("attack = { kind = \"forge\" }", "", DCCP, "the key \"attack\" is missing; write it like attack ="),
    ] {
        let error = load(&FORGE.replace(from, to), transport).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
    let two = format!("{FORGE}\non_path = true\n[[attacker]]\n{FORGE}\non_path = true");
    let error = load(&two, DCCP).unwrap_err().to_string();
    assert!(error.contains("two attackers are called \"mallory\""), "{error}");
    assert!(error.contains("\"call\" already has an on-path attacker"), "{error}");
    let floods = FORGE.replace("forge", "flood");
    let two = format!("{floods}\n[[attacker]]\n{}", floods.replace("mallory", "oscar"));
    let error = load(&two, DCCP).unwrap_err().to_string();
    assert!(error.contains("attacker[1].attack: another attacker floods \"call\": at most one is allowed"), "{error}");
}

/// Keys without effect were accepted silently.
#[test]
fn keys_of_attacks_without_effect_are_errors() {
    let on_path = "name = \"mallory\"\nat = \"b\"\ntarget = \"call\"\non_path = true\n";
    for (attack, key, condition) in [
        ("kind = \"forge\", data = \"9B\"", "data", "packet = \"data\" or \"data-ack\""),
        ("kind = \"lie\", packets = 9", "packets", "claim = \"ahead\""),
        ("kind = \"lie\", claim = \"ahead\", elapsed = \"1s\"", "elapsed", "claim = \"elapsed\""),
    ] {
        let error = load(&format!("{on_path}attack = {{ {attack} }}"), DCCP).unwrap_err().to_string();
        let expected = format!(
            "attacker[0].attack.{key}: this key has no effect without {condition}: write {condition}, or leave"
        );
        assert!(error.contains(&expected), "{error}");
    }
    load(&format!("{on_path}attack = {{ kind = \"forge\", packet = \"data\", data = \"9B\" }}"), DCCP).unwrap();
}
