//! Controllers provided by code run like the same controllers in a scenario.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_rate::{
    AnyReceiverHalf, AnySenderHalf, ControllerOptions, ExternalController, ExternalOptions, Receiver, ReceiverContext,
    Sender, SenderContext,
};
use headway_scenario::Scenario;
use std::sync::Arc;

/// Controllers of this project, used as external ones.
#[derive(Debug)]
struct Known(ControllerOptions);

impl ExternalController for Known {
    fn sender(&self, context: SenderContext) -> Box<dyn AnySenderHalf> {
        Box::new(Sender::new(&self.0, context))
    }

    fn receiver(&self, context: ReceiverContext) -> Box<dyn AnyReceiverHalf> {
        Box::new(Receiver::new(&self.0, context))
    }
}

/// Returns the scenario with the first flow's controller as an external one, or an error.
fn with_external(scenario: &Scenario) -> Result<Scenario, String> {
    let mut scenario = scenario.clone();
    let transport = Arc::clone(&scenario.flows[0].transport);
    let controller = transport.controller().cloned();
    let controller = controller.unwrap_or(ControllerOptions::None(headway_rate::NoneOptions {}));
    let (reports, needs) = (controller.reports(), controller.needs().collect());
    let external = ExternalOptions { reports, needs, controller: Arc::new(Known(controller)) };
    let transport = transport.with_controller(ControllerOptions::External(external));
    scenario.flows[0].transport = Arc::new(transport.map_err(|error| error.to_string())?);
    Ok(scenario)
}

fn with_transport(transport: &str) -> Scenario {
    common::scenario(&format!(
        "duration = \"20s\"\nlink = [{{ between = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"20ms\" }}]\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = {transport}\nsource = {{ kind = \"cbr\", rate = \"2Mbps\", size = \"1000B\" }}\n"
    ))
}

#[test]
fn an_external_controller_runs_as_a_builtin_one() {
    for transport in [
        "{ kind = \"tcp-like\" }",
        "{ kind = \"tfrc\" }",
        "{ kind = \"udpm\" }",
        "{ kind = \"spacing\", line_rate = \"10Mbps\" }",
        "{ kind = \"dccp\", ccid = 248 }",
        "{ kind = \"dccp\", ccid = 249, connection = { line_rate = \"10Mbps\" } }",
    ] {
        let ours = with_transport(transport);
        let theirs = with_external(&ours).unwrap();
        assert_ne!(ours, theirs);
        let [ours, theirs] = [ours, theirs].map(|scenario| common::run(&scenario, ()));
        assert!(ours.summary.flows[0].received_packets > 100, "{transport}");
        assert_eq!(ours.fingerprint.value(), theirs.fingerprint.value(), "{transport}");
    }
}

#[test]
fn a_flow_that_cannot_use_it_is_refused() {
    for (transport, why) in [
        ("{ kind = \"udp\" }", "no rate controller"),
        ("{ kind = \"tcp-reno\" }", "no rate controller"),
        ("{ kind = \"dccp\", ccid = 3 }", "use an experimental CCID"),
    ] {
        let refused = with_external(&with_transport(transport)).unwrap_err();
        assert!(refused.contains(why), "{transport}: {refused}");
    }
}

/// Scenario files cannot name external controllers.
#[test]
fn no_scenario_names_it() {
    use headway_units::Registry;
    assert!(!ControllerOptions::KINDS.contains(&"external"));
    assert!(!headway_scenario::schema().to_string().contains("external"));
}
