//! Flows with real programs and the kernel's TCP, for `headway lab`.

use headway_scenario::{ExternalOptions, NoFiles, ProgramOptions, load};

const LINK: &str = "duration = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n";

fn scenario(keys: &str) -> String {
    format!("{LINK}[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{keys}\n")
}

/// The resolved scenario is the same run.
#[test]
fn a_program_replaces_transport_and_source() {
    let text = scenario("program = \"iperf3 -c {to}\"\nserver = \"iperf3 -s\"\ncount = 2");
    let loaded = load("lab.toml", &text, &[], &NoFiles).unwrap();
    let expected = ExternalOptions::Program(ProgramOptions {
        program: "iperf3 -c {to}".to_owned(),
        server: Some("iperf3 -s".to_owned()),
    });
    let flows = &loaded.scenario.flows;
    assert_eq!(flows.len(), 2);
    assert!(flows.iter().all(|flow| flow.transport.external() == Some(&expected)));
    let again = load("lab.toml", &loaded.resolved_toml, &[], &NoFiles).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
}

#[test]
fn the_kernels_tcp_has_the_default_of_linux() {
    let congestion = |keys: &str| {
        let text = scenario(&format!("transport = {{ kind = \"kernel-tcp\"{keys} }}\nsource = {{ kind = \"ftp\" }}"));
        let loaded = load("lab.toml", &text, &[], &NoFiles).unwrap();
        match loaded.scenario.flows[0].transport.external() {
            Some(ExternalOptions::KernelTcp(options)) => options.congestion.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(congestion(""), "cubic");
    assert_eq!(congestion(", congestion = \"bbr\""), "bbr");
}

#[test]
fn wrong_programs_are_errors() {
    for (keys, expected) in [
        ("program = \"\"", "lab.toml:10:11: flow[0].program: a program is a shell command, such as"),
        ("program = 3", "flow[0].program: 3 is not text in quotes"),
        (
            "server = \"x\"\ntransport = { kind = \"kernel-tcp\" }\nsource = { kind = \"ftp\" }",
            "flow[0].server: server has no effect without program: add program, or leave server out",
        ),
        (
            "program = \"x\"\ntransport = { kind = \"udp\" }",
            "flow[0].transport: a flow with a program has no transport: leave out transport or program",
        ),
        (
            "program = \"x\"\nsource = { kind = \"ftp\" }",
            "flow[0].source: a flow with a program has no source: leave out source or program",
        ),
        (
            "transport = { kind = \"kernel-tcp\", congestion = \"not a name\" }\nsource = { kind = \"ftp\" }",
            "flow[0].transport.congestion: a congestion control has a name of 1 to 15 letters, digits and _ -: write one such as",
        ),
        (
            "transport = { kind = \"kernel-tcp\" }\nsource = { kind = \"cbr\", rate = \"1Mbps\", size = \"1000B\" }",
            "flow[0].source: kernel-tcp sends all that its connection can carry: write source = { kind = \"ftp\" }",
        ),
        (
            "transport = { kind = \"program\" }\nsource = { kind = \"ftp\" }",
            "flow[0].transport.kind: unknown transport \"program\"",
        ),
    ] {
        let error = load("lab.toml", &scenario(keys), &[], &NoFiles).unwrap_err().to_string();
        assert!(error.contains(expected), "{keys}:\n{error}");
        assert_eq!(error.matches("flow[0]").count(), 1, "one error: {error}");
    }
}
