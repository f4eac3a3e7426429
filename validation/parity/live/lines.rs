//! What a scenario's flows are between real sockets, and which scenarios there can be.

use crate::program::Program;
use headway_dccp::ConnectionOptions;
use headway_media::{Backlog, Framing};
use headway_net::{Clock, Dtls, DtlsVersions, Options, Secure, SecureError, Trust};
use headway_scenario::{Flow, FlowDscp, Link, Links, Scenario, Transport};
use headway_sim::{FlowClocks, FlowStart, SetupError, dccp_cut};
use headway_units::Bytes;

/// Each flow has four threads.
const MOST_FLOWS: usize = 64;
/// IPv4's header, which a packet has in the simulator; UDP's is the link's `overhead`.
const IP_HEADER: i32 = 20;

/// Why a scenario cannot be run so.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// It has what real sockets of one machine have not.
    #[error("{0}")]
    Unfit(String),
    /// A flow cannot begin.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// There is no security.
    #[error("there is no security: {0}")]
    Security(#[from] SecureError),
}

/// A flow, with what both of its ends are told.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) program: Program,
    pub(crate) clocks: Option<FlowClocks>,
    /// The endpoints' options, its client's first; none of plain UDP.
    pub(crate) endpoints: Option<Box<[Options; 2]>>,
    /// What a datagram counts on the link beside its payload.
    pub(crate) beside: i32,
}

/// The scenario's link, the way of its flows first.
pub(crate) fn link(scenario: &Scenario) -> Result<[Link; 2], LineError> {
    let unfit = |why: &str| {
        LineError::Unfit(format!("{why}: `headway run` simulates it, sockets of one machine cannot carry it"))
    };
    if scenario.nodes.len() != 2 {
        return Err(unfit(&format!("there are {} nodes, and two ends to a link", scenario.nodes.len())));
    }
    if scenario.flows.is_empty() {
        return Err(LineError::Unfit("there is no flow: write one [[flow]] with `dccp` or `udp`".to_owned()));
    }
    if scenario.flows.len() > MOST_FLOWS {
        return Err(unfit(&format!("there are {} flows, of which {MOST_FLOWS} run at once", scenario.flows.len())));
    }
    if !scenario.attackers.is_empty() {
        return Err(unfit("there are attackers"));
    }
    if scenario.hosts.iter().any(Option::is_some) {
        return Err(unfit("a node has a `host`, and real ones take the time that they take"));
    }
    let links = Links { seed: scenario.seed, ties: scenario.ties, links: scenario.links.clone() };
    let [there, back] = links.duplex(None).map_err(|error| LineError::Unfit(error.to_string()))?.map(Clone::clone);
    Ok([there, back])
}

/// The ends of a flow over this link.
pub(crate) fn line(scenario: &Scenario, flow: &Flow, link: &Link, dtls: bool) -> Result<Line, LineError> {
    let name = &flow.name;
    let unfit = |why: String| LineError::Unfit(format!("flow \"{name}\": {why}"));
    if (flow.from, flow.to) != (link.from, link.to) {
        let [from, to] = [link.from, link.to].map(|node| &scenario.nodes[node]);
        return Err(unfit(format!(
            "it goes the other way than its link is written: right would be from \"{from}\" to \"{to}\""
        )));
    }
    if flow.dscp != FlowDscp::default() {
        return Err(unfit("it has a `dscp`, which the link between sockets does not see".to_owned()));
    }
    let beginning = FlowStart::new(scenario, flow)?;
    if beginning.source.backlog() != Backlog::None {
        return Err(unfit("its source has no times of its own: a source that writes has, such as `cbr`".to_owned()));
    }
    let (cut, beside, endpoints) = match &*flow.transport {
        Transport::Udp(udp) => (udp.clone(), udp.header.count() as i32, None),
        Transport::Dccp(options) => {
            let (endpoints, sealed) = endpoints(flow, &options.carrier.connection, beginning.clocks, dtls)?;
            (dccp_cut(&options.carrier.connection), IP_HEADER - sealed as i32, Some(Box::new(endpoints)))
        }
        Transport::Tcp(_) | Transport::Agent(_) => {
            return Err(unfit("its transport is neither `dccp` nor `udp`, and sockets carry no other here".to_owned()));
        }
    };
    let FlowStart { start, clocks, source } = beginning;
    let program = Program { source, cut, framing: Framing::default(), start, stop: flow.stop };
    Ok(Line { program, clocks, endpoints, beside })
}

/// The options of both ends of a connection, and what security adds to each packet.
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
    let sealed = sealed(&mut client, &mut server)?;
    let clocks = clocks.map(|clocks| [clocks.sender, clocks.receiver]);
    for (end, options) in [&mut client, &mut server].into_iter().enumerate() {
        options.connection = connection.clone();
        // What security adds is not the connection's.
        options.connection.mtu = Bytes::new(connection.mtu.count() + sealed as u64);
        options.queue = (*flow.send_queue).clone();
        options.unread = 1 << 16;
        if let Some(clocks) = clocks {
            options.clock = Clock::new().shown_by(clocks[end]);
        }
    }
    Ok(([client, server], sealed))
}

/// Bytes that DTLS adds to each packet: 1.3, which two ends of ours speak. Nothing without.
fn sealed(client: &mut Options, server: &mut Options) -> Result<usize, SecureError> {
    let mut sealed = 0;
    for dtls in [client, server].into_iter().filter_map(|options| options.dtls.as_mut()) {
        dtls.versions = DtlsVersions::Dtls13;
        sealed = Dtls::new(dtls.clone(), Clock::new())?.overhead();
    }
    Ok(sealed)
}
