//! Sources of sessions: what is wrong is said with its key, and with what would be right.
#![allow(clippy::unwrap_used, reason = "a scenario that is not read is a failed test")]

mod common;

use common::SMALL;
use headway_scenario::{NoFiles, load};

/// What a source of sessions may be told, and who can carry it.
#[test]
fn sessions_need_a_tcp_and_one_law_each() {
    let told = |transport: &str, arrivals: &str, sizes: &str| {
        let source = format!("{{ kind = \"sessions\", arrivals = {arrivals}, sizes = {sizes} }}");
        let text = SMALL.replace("{ kind = \"ftp\" }", &source);
        load("small.toml", &text.replace("tcp-newreno\", window = \"15packets\"", transport), &[], &NoFiles)
    };
    let (often, large) = ("{ poisson = \"45ms\" }", "{ pareto = { mean = \"10kB\", shape = 1.5 } }");
    for kind in ["tcp-tahoe", "tcp-reno", "tcp-newreno", "tcp-sack", "tcp-cubic"] {
        told(&format!("{kind}\""), often, large).unwrap();
    }
    for (transport, arrivals, sizes, expected) in [
        (
            "udp\"",
            often,
            large,
            "flow[0].source: udp opens no connection for each session: give the flow a tcp transport",
        ),
        ("tcp-like\"", often, large, "flow[0].source: tcp-like opens no connection for each session"),
        ("dccp\", ccid = 2", often, large, "flow[0].source: dccp-2 opens no connection for each session"),
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
            "flow[0].source.arrivals: 2 keys do not say which it is: write one of poisson, every, at",
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
        let error = told(transport, arrivals, sizes).unwrap_err().to_string();
        assert!(error.contains(expected), "{transport} {arrivals} {sizes}:\n{error}");
    }
}
