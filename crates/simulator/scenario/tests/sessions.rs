//! Sources of sessions and pages.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a scenario that is not read is a failed test")]

use crate::common::SMALL;
use headway_media::{LognormalSizes, ObjectCounts, PagesOptions, SessionSizes, SourceOptions};
use headway_scenario::{NoFiles, load};
use headway_units::{Bytes, Dialect, Options as _};

#[test]
fn sessions_need_tcp_and_one_distribution_of_each_quantity() {
    let load_source = |transport: &str, arrivals: &str, sizes: &str| {
        let source = format!("{{ kind = \"sessions\", arrivals = {arrivals}, sizes = {sizes} }}");
        let text = SMALL.replace("{ kind = \"ftp\" }", &source);
        load("small.toml", &text.replace("tcp-newreno\", window = \"15packets\"", transport), &[], &NoFiles)
    };
    let (often, large) = ("{ poisson = \"45ms\" }", "{ pareto = { mean = \"10kB\", shape = 1.5 } }");
    for kind in ["tcp-tahoe", "tcp-reno", "tcp-newreno", "tcp-sack", "tcp-cubic"] {
        load_source(&format!("{kind}\""), often, large).unwrap();
    }
    for (transport, arrivals, sizes, expected) in [
        (
            "udp\"",
            often,
            large,
            "flow[0].source: udp does not open a connection for each session: give the flow a tcp transport",
        ),
        ("tcp-like\"", often, large, "flow[0].source: tcp-like does not open a connection for each session"),
        ("dccp\", ccid = 2", often, large, "flow[0].source: dccp-2 does not open a connection for each session"),
        (
            "tcp-reno\"",
            "{ poison = \"45ms\" }",
            large,
            r#"flow[0].source.arrivals: unknown value "poison"; did you mean "poisson"?"#,
        ),
        (
            "tcp-reno\"",
            "{ poisson = \"45ms\", every = \"45ms\" }",
            large,
            "flow[0].source.arrivals: 2 keys are too many: write one of poisson, every, at",
        ),
        ("tcp-reno\"", "{ poisson = \"45\" }", large, r#"flow[0].source.arrivals.poisson: "45" has no unit"#),
        (
            "tcp-reno\"",
            "{ poisson = \"1ns\" }",
            large,
            "flow[0].source.arrivals: 1ns from one session to the next is too short: at least 1us",
        ),
        (
            "tcp-reno\"",
            often,
            "{ pareto = { mean = \"10kB\", shape = 1 } }",
            "flow[0].source.sizes: sizes of shape 1 have no mean: write minimum instead of mean, or a shape above 1",
        ),
        (
            "tcp-reno\"",
            often,
            "{ pareto = { mean = \"10kB\", shap = 1.5 } }",
            r#"flow[0].source.sizes.pareto: unknown key "shap"; did you mean "shape"?"#,
        ),
    ] {
        let error = load_source(transport, arrivals, sizes).unwrap_err().to_string();
        assert!(error.contains(expected), "{transport} {arrivals} {sizes}:\n{error}");
    }
}

/// A written distribution replaces that of the preset completely, also if both have the same name.
#[test]
fn written_distributions_replace_those_of_the_preset() {
    let load_source = |keys: &str| {
        let text = SMALL.replace("{ kind = \"ftp\" }", &format!("{{ kind = \"pages\", {keys} }}"));
        load("small.toml", &text, &[], &NoFiles)
    };
    let pages = |keys: &str| {
        let scenario = load_source(keys).unwrap().scenario;
        let SourceOptions::Pages(pages) = &*scenario.flows[0].source else { panic!("{keys} is not a source of pages") };
        pages.clone()
    };
    let preset = pages("users = 3");
    assert_eq!(preset, PagesOptions { users: Some(3), ..PagesOptions::preset(Dialect::Rfc) });
    let constant = pages("main = { constant = \"9kB\" }, objects = { constant = 0 }");
    assert_eq!(constant.main, SessionSizes::Constant(Bytes::new(9000)));
    assert_eq!(constant.objects, ObjectCounts::Constant(0));
    let own = pages("main = { lognormal = { mean = \"3MB\", deviation = \"1MB\" } }").main;
    let (mean, deviation) = (Bytes::new(3_000_000), Bytes::new(1_000_000));
    assert_eq!(own, SessionSizes::Lognormal(LognormalSizes { mean, deviation, minimum: None, maximum: None }));
    for (keys, expected) in [
        ("main = { constant = \"9kB\", exponential = \"9kB\" }", "flow[0].source.main: 3 keys are too many"),
        (
            "main = { lognormal = { mean = \"20kB\", deviation = \"1kB\", minimum = \"1GB\" } }",
            "flow[0].source.main: hardly any size",
        ),
        (
            "main = { lognormal = { mean = \"20kB\" } }",
            "flow[0].source.main.lognormal: the key \"deviation\" is missing",
        ),
        (
            "objects = { pareto = { minimum = 60, shape = 2 } }",
            "flow[0].source.objects.pareto: the key \"maximum\" is missing",
        ),
        (
            "users = 2, arrivals = { every = \"1s\" }",
            "flow[0].source.users: pages come by arrivals or when users have read",
        ),
    ] {
        let error = load_source(keys).unwrap_err().to_string();
        assert!(error.contains(expected), "{keys}:\n{error}");
    }
}
