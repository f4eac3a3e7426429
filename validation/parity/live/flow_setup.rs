//! Setup of a scenario's flows between real sockets, and checks that the scenario can run there.

use crate::application::Application;
use headway_dccp::ConnectionOptions;
use headway_media::{Backlog, Framing, UdpOptions};
use headway_net::{Clock, Dtls, DtlsVersions, EncoderOptions, Options, Secure, SecureError, Trust};
use headway_scenario::{Controlled, Flow, FlowDscp, Link, Links, Scenario, Transport};
use headway_sim::{FlowClocks, FlowStart, SetupError, dccp_cut};
use headway_units::Bytes;

/// Maximum number of flows; each has four threads.
const MAX_FLOWS: usize = 64;
/// Size of the IPv4 header, which packets of the simulator include. The UDP header is the `overhead` of the link.
const IP_HEADER: i32 = 20;

/// Reason why a scenario cannot run between sockets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupFailure {
    /// The scenario needs more than sockets of one machine.
    #[error("{0}")]
    Unsupported(String),
    /// A flow cannot be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// DTLS cannot be set up.
    #[error("cannot set up DTLS: {0}")]
    Security(#[from] SecureError),
}

/// Application, clocks and endpoint options of a flow.
#[derive(Debug)]
pub(crate) struct FlowSetup {
    pub(crate) application: Application,
    pub(crate) clocks: Option<FlowClocks>,
    /// Options of the endpoints, the client first; `None` for UDP.
    pub(crate) endpoints: Option<Box<[Options; 2]>>,
    /// Bytes that a datagram has on the link in addition to its payload.
    pub(crate) overhead: i32,
}

/// Returns the directions of the scenario's link, that of the flows first.
pub(crate) fn link(scenario: &Scenario) -> Result<[Link; 2], SetupFailure> {
    let unsupported =
        |why: &str| SetupFailure::Unsupported(format!("{why}: only the simulator (`headway run`) supports this"));
    if scenario.nodes.len() != 2 {
        return Err(unsupported(&format!("there are {} nodes; expected the two ends of a link", scenario.nodes.len())));
    }
    if scenario.flows.is_empty() {
        return Err(SetupFailure::Unsupported(
            "there is no flow: write one [[flow]] with `dccp`, a rate controller or `udp`".to_owned(),
        ));
    }
    if scenario.flows.len() > MAX_FLOWS {
        return Err(unsupported(&format!("there are {} flows: at most {MAX_FLOWS} run at once", scenario.flows.len())));
    }
    if !scenario.attackers.is_empty() {
        return Err(unsupported("there are attackers"));
    }
    if scenario.hosts.iter().any(Option::is_some) {
        return Err(unsupported("a node has a `host`, whose CPU time sockets cannot emulate"));
    }
    let links = Links { seed: scenario.seed, ties: scenario.ties, links: scenario.links.clone() };
    Ok(links.duplex(None).map_err(|error| SetupFailure::Unsupported(error.to_string()))?.map(Clone::clone))
}

/// Sets up a flow over this link.
pub(crate) fn flow_setup(scenario: &Scenario, flow: &Flow, link: &Link, dtls: bool) -> Result<FlowSetup, SetupFailure> {
    let name = &flow.name;
    let unsupported = |why: String| SetupFailure::Unsupported(format!("flow \"{name}\": {why}"));
    if (flow.from, flow.to) != (link.from, link.to) {
        let [from, to] = [link.from, link.to].map(|node| &scenario.nodes[node]);
        return Err(unsupported(format!(
            "its direction is the reverse of its link; expected from \"{from}\" to \"{to}\""
        )));
    }
    if flow.dscp != FlowDscp::default() {
        return Err(unsupported("it has a `dscp`, which the proxy cannot read".to_owned()));
    }
    let flow_start = FlowStart::new(scenario, flow)?;
    if flow_start.source.backlog() != Backlog::None {
        return Err(unsupported("its source has no schedule; expected one that has, such as `cbr`".to_owned()));
    }
    let (cut, overhead, endpoints) = match &*flow.transport {
        Transport::Udp(udp) => (udp.clone(), udp.header.count() as i32, None),
        Transport::Dccp(options) => {
            let (endpoints, dtls_overhead) = endpoints(flow, &options.carrier.connection, flow_start.clocks, dtls)?;
            (dccp_cut(&options.carrier.connection), IP_HEADER - dtls_overhead as i32, Some(Box::new(endpoints)))
        }
        // The same controller over DCCP.
        Transport::Agent(Controlled { carrier, controller }) => {
            let options = Options::insecure().with_controller_options(controller.clone());
            let mut connection = options.map_err(|error| unsupported(error.to_string()))?.connection;
            connection.ecn = carrier.ecn;
            let (endpoints, dtls_overhead) = endpoints(flow, &connection, flow_start.clocks, dtls)?;
            let cut = UdpOptions { datagram: carrier.datagram, header: carrier.header };
            (cut, IP_HEADER - dtls_overhead as i32, Some(Box::new(endpoints)))
        }
        Transport::Tcp(_) | Transport::External(_) => {
            return Err(unsupported("its transport is `kernel-tcp`, a program or a simulated TCP".to_owned()));
        }
    };
    let FlowStart { start, clocks, source } = flow_start;
    let application = Application { source, cut, framing: Framing::default(), start, stop: flow.stop };
    Ok(FlowSetup { application, clocks, endpoints, overhead })
}

/// Returns the options of both endpoints of a connection, and the bytes that DTLS adds to each packet.
fn endpoints(
    flow: &Flow,
    connection: &ConnectionOptions,
    clocks: Option<FlowClocks>,
    dtls: bool,
) -> Result<([Options; 2], usize), SecureError> {
    let (mut client, mut server) = if dtls {
        let server = Options::server()?;
        (Options::client(Trust::Fingerprints(server.fingerprint().into_iter().collect()))?, server)
    } else {
        (Options::insecure(), Options::insecure())
    };
    let dtls_overhead = dtls_overhead(&mut client, &mut server)?;
    let clocks = clocks.map(|clocks| [clocks.sender, clocks.receiver]);
    for (end, options) in [&mut client, &mut server].into_iter().enumerate() {
        options.connection = connection.clone();
        // The MTU of the scenario does not include DTLS.
        options.connection.mtu = Bytes::new(connection.mtu.count() + dtls_overhead as u64);
        options.queue = (*flow.send_queue).clone();
        // As in the simulator, the source follows the controller's target rate itself.
        options.encoder = EncoderOptions { headroom: 0.0, dead_band: 0.0, growth: 100.0, ..EncoderOptions::default() };
        options.unread = 1 << 16;
        if let Some(clocks) = clocks {
            options.clock = Clock::new().with_model(clocks[end]);
        }
    }
    Ok(([client, server], dtls_overhead))
}

/// Selects DTLS 1.3 and returns the bytes that it adds to each packet; 0 without DTLS.
fn dtls_overhead(client: &mut Options, server: &mut Options) -> Result<usize, SecureError> {
    let mut overhead = 0;
    for dtls in [client, server].into_iter().filter_map(|options| options.dtls.as_mut()) {
        dtls.versions = DtlsVersions::Dtls13;
        overhead = Dtls::new(dtls.clone(), Clock::new())?.overhead();
    }
    Ok(overhead)
}
