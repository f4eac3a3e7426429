//! A scenario under the wall clock: programs and the kernel's TCP at the ends of some flows, simulated endpoints at the
//! others, on the same links.
//!
//! Each node with such an end is a network namespace with a TUN device. One thread reads packets from the devices,
//! injects them into the simulation, and writes delivered packets to the devices.

mod addresses;
mod error;
mod kernel_tcp;
mod node;
mod program;
mod report;

pub use error::LabError;
pub use report::LabReport;

use crate::ip_header::{IpHeader, set_ecn};
use crate::namespace;
use crate::shell::ShellError;
use crate::shell::device::mtu;
use crate::spin::Spin;
use crate::urgency::{Urgency, cpu_time};
use crate::waiter::Waiter;
use addresses::{End, address};
use headway_net::Clock;
use headway_record::Histogram;
use headway_scenario::{ExternalOptions, Flow, Scenario};
use headway_sim::{ExternalPacket, FlowStart, Observer, RunError, Simulation};
use headway_units::{Duration, Instant};
use kernel_tcp::KernelTcp;
use node::Node;
use program::{Program, ProgramCommand};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Maximum number of flows with real ends. Each has up to two threads and two processes.
const MAX_FLOWS: usize = 1000;
/// Maximum number of packets on the links: 200 MB of Ethernet packets. Further packets are dropped, and the run is not
/// valid.
const MAX_PACKETS: usize = 1 << 17;
/// Maximum number of packets that are read from a device before departures are sent.
const BATCH: usize = 64;
/// Time between two returns to the caller, which writes the record.
const SLICE: Duration = Duration::from_millis(200);

/// Options of a lab.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// Program that calls [`run_init`](crate::run_init) with the arguments after `shell-init`.
    pub program: PathBuf,
    /// Maximum 99th percentile of the release error in a valid run. The release error is the time from the departure of
    /// a packet from its last simulated link until the kernel has accepted it.
    pub bound: Duration,
    /// Folder into which the output of the programs of each flow is written: `FLOW.log`, and `FLOW.server.log` of the
    /// `server`.
    pub logs: PathBuf,
}

/// The right to create network namespaces.
#[derive(Clone, Copy, Debug)]
pub struct LabRights {
    is_user_namespace: bool,
}

impl LabRights {
    /// Acquires the right to create network namespaces. A process without privileges must have a single thread, and is
    /// moved into a user namespace.
    ///
    /// # Errors
    /// The system does not grant the right.
    pub fn acquire() -> Result<Self, LabError> {
        Ok(Self { is_user_namespace: namespace::acquire_rights()? })
    }
}

/// The ends of a scenario's flows outside the simulation: programs and the kernel's TCP, in network namespaces.
#[derive(Debug)]
pub struct Lab {
    bound: Duration,
    /// Clock and scheduling of the thread, from the first call of [`advance`](Self::advance).
    running: Option<(Clock, Urgency)>,
    spin: Spin,
    nodes: Vec<Node>,
    /// Flow of the scenario and the nodes of its ends, by the number in [`addresses`].
    flows: Vec<ExternalFlow>,
    waiter: Waiter,
    /// Starts and stops that are not done yet, the next one last.
    schedule: Vec<(Instant, usize, Action)>,
    ends: Vec<Ends>,
    buffer: Vec<u8>,
    release_error: Histogram,
    report: LabReport,
    /// Time at which the thread is due to run.
    due: Instant,
    failure: Option<ShellError>,
}

#[derive(Debug)]
struct ExternalFlow {
    /// Index in the scenario.
    flow: usize,
    name: String,
    from: usize,
    to: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Start,
    Stop,
}

/// Real ends of a flow.
#[derive(Debug)]
enum Ends {
    KernelTcp(KernelTcp),
    Programs { program: Program, server: Option<Program> },
}

impl Lab {
    /// Creates a network namespace for each node with a real end, and starts the `server` commands.
    ///
    /// # Errors
    /// Too many flows with real ends, a flow without a start, or failures of the system.
    pub fn new(rights: LabRights, scenario: &Scenario, options: &LabOptions) -> Result<Self, LabError> {
        let external = |flow: &&(usize, &Flow)| flow.1.transport.external().is_some();
        let described: Vec<_> = scenario.flows.iter().enumerate().collect();
        let described: Vec<_> = described.iter().filter(external).copied().collect();
        if described.len() > MAX_FLOWS {
            return Err(LabError::TooManyFlows { flows: described.len(), limit: MAX_FLOWS });
        }
        let (nodes, flows) = create_nodes(scenario, &described)?;
        let waiter = Waiter::new().map_err(ShellError::Link)?;
        for (number, node) in nodes.iter().enumerate() {
            waiter.add(&node.device.tun, number as u64).map_err(ShellError::Link)?;
        }
        if !described.is_empty() {
            let failed = |error| LabError::Logs { path: options.logs.clone(), error };
            std::fs::create_dir_all(&options.logs).map_err(failed)?;
        }
        let mut ends = Vec::new();
        let mut schedule = Vec::new();
        for (number, ((_, described), flow)) in described.iter().zip(&flows).enumerate() {
            let Some(external) = described.transport.external() else { continue };
            let (from, to) = (&nodes[flow.from], &nodes[flow.to]);
            ends.push(match external {
                ExternalOptions::KernelTcp(tcp) => {
                    let connection = KernelTcp::prepare(from, to, address(number, End::To), &tcp.congestion);
                    let failed = |error| LabError::KernelTcp { flow: flow.name.clone(), error };
                    Ends::KernelTcp(connection.map_err(failed)?)
                }
                ExternalOptions::Program(programs) => {
                    let command = |text: &str, node: &Node, log: &str| ProgramCommand {
                        init: options.program.clone(),
                        flow: flow.name.clone(),
                        command: with_addresses(text, number),
                        node: node.clone(),
                        log: options.logs.join(format!("{}{log}", flow.name)),
                        is_user_namespace: rights.is_user_namespace,
                    };
                    let serve = |text: &String| Program::serve(command(text, to, ".server.log"));
                    let server = programs.server.as_ref().map(serve).transpose()?;
                    Ends::Programs { program: Program::prepare(command(&programs.program, from, ".log"))?, server }
                }
            });
            schedule.push((FlowStart::new(scenario, described)?.start, number, Action::Start));
            schedule.extend(described.stop.map(|stop| (stop, number, Action::Stop)));
        }
        schedule.sort_by_key(|(at, number, _)| std::cmp::Reverse((*at, *number)));
        Ok(Self {
            bound: options.bound,
            running: None,
            spin: Spin::new(),
            nodes,
            flows,
            waiter,
            schedule,
            ends,
            buffer: vec![0; usize::from(u16::MAX)],
            release_error: Histogram::default(),
            report: LabReport::default(),
            due: Instant::ZERO,
            failure: None,
        })
    }

    /// Runs the simulation by the wall clock for a fraction of a second. Time zero is that of the first call. Returns
    /// whether the run has ended: at its end, or because a device failed.
    ///
    /// # Errors
    /// Those of the simulation.
    pub fn advance<O: Observer>(&mut self, simulation: &mut Simulation<'_, O>) -> Result<bool, RunError> {
        let (clock, mut urgency) = self.running.take().unwrap_or_else(|| {
            let clock = Clock::new();
            (clock, Urgency::raise(clock.now()))
        });
        let ended = self.advance_slice(simulation, clock, &mut urgency);
        self.running = Some((clock, urgency));
        ended
    }

    fn advance_slice<O: Observer>(
        &mut self,
        simulation: &mut Simulation<'_, O>,
        clock: Clock,
        urgency: &mut Urgency,
    ) -> Result<bool, RunError> {
        let slice_end = clock.now() + SLICE;
        let mut ready = Vec::new();
        loop {
            let now = clock.now();
            self.report.longest_stall_s = self.report.longest_stall_s.max(now.since(self.due).as_secs_f64());
            self.act(now);
            let ended = simulation.advance(now)?;
            self.send(simulation.take_delivered(), clock);
            if ended || self.failure.is_some() {
                return Ok(true);
            }
            let now = clock.now();
            let next = [simulation.next_event(), self.schedule.last().map(|(at, ..)| *at)];
            let until = next.into_iter().flatten().fold(slice_end, Instant::min).max(now);
            self.due = until;
            if now >= slice_end {
                return Ok(false);
            }
            urgency.check(now);
            let wake = now + until.since(now).saturating_sub(self.spin.time());
            if let Err(error) = self.waiter.wait(now, wake, &mut ready) {
                self.failure = Some(ShellError::Link(error));
            }
            if wake > now && ready.is_empty() {
                self.spin.observe(clock.now().since(wake));
            }
            for node in ready.drain(..) {
                self.receive(node as usize, simulation, clock)?;
            }
        }
    }

    /// Ends all programs and connections, and removes the network namespaces. Returns the report of the run.
    ///
    /// # Errors
    /// A device failed during the run.
    pub fn finish(mut self) -> Result<LabReport, LabError> {
        let cpu_time = cpu_time();
        let elapsed_s = self.running.take().map_or(0.0, |(clock, mut urgency)| {
            urgency.lower();
            clock.now().as_secs_f64()
        });
        self.ends.iter().for_each(Ends::stop);
        let mut report = std::mem::take(&mut self.report);
        for (ends, flow) in self.ends.drain(..).zip(&self.flows) {
            ends.finish(&flow.name, &mut report.failures);
        }
        report.elapsed_s = elapsed_s;
        report.cpu_share = cpu_time.as_secs_f64() / elapsed_s.max(1e-3);
        report.release_error_s = self.release_error.summary();
        report.unread_packets = self.nodes.iter().map(Node::unread_packets).sum();
        match self.failure {
            Some(error) => Err(error.into()),
            None => Ok(report.with_faults(self.bound)),
        }
    }

    /// Starts and stops what is due.
    fn act(&mut self, now: Instant) {
        while let Some((_, number, action)) = self.schedule.pop_if(|(at, ..)| *at <= now) {
            match (action, &self.ends[number]) {
                (Action::Start, Ends::KernelTcp(connection)) => connection.start(),
                (Action::Start, Ends::Programs { program, .. }) => program.start(),
                (Action::Stop, ends) => ends.stop(),
            }
        }
    }

    /// Reads packets from the device of a node and injects them.
    fn receive<O: Observer>(
        &mut self,
        node: usize,
        simulation: &mut Simulation<'_, O>,
        clock: Clock,
    ) -> Result<(), RunError> {
        for _ in 0..BATCH {
            let device = &self.nodes[node].device;
            let length = match device.tun.recv(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(error) => {
                    self.failure = Some(ShellError::Device { device: device.name.clone(), error });
                    break;
                }
            };
            let bytes = &self.buffer[..length];
            let (Some((number, sender)), Some(header)) = (addresses::sender(bytes), IpHeader::read(bytes)) else {
                self.report.other_packets += 1;
                continue;
            };
            // A program may send packets with the addresses of other flows.
            let flow = self.flows.get(number).filter(|flow| flow.node(sender) == node);
            let Some(flow) = flow else {
                self.report.other_packets += 1;
                continue;
            };
            if simulation.packets() >= MAX_PACKETS {
                self.report.no_room_packets += 1;
                continue;
            }
            self.report.packets += 1;
            let (forward, at) = (sender == End::From, clock.now());
            let IpHeader { ecn, dscp, .. } = header;
            simulation.advance(at)?;
            simulation.inject(ExternalPacket { flow: flow.flow, forward, at, ecn, dscp, bytes: bytes.to_vec() });
        }
        Ok(())
    }

    /// Writes delivered packets to the devices of their nodes.
    fn send(&mut self, delivered: Vec<ExternalPacket>, clock: Clock) {
        for ExternalPacket { flow, forward, at, ecn, mut bytes, .. } in delivered {
            let place = self.flows.binary_search_by_key(&flow, |flow| flow.flow);
            let Some(flow) = place.ok().and_then(|place| self.flows.get(place)) else { continue };
            if IpHeader::read(&bytes).is_some_and(|header| header.ecn != ecn) {
                set_ecn(&mut bytes, ecn);
            }
            let device = &self.nodes[if forward { flow.to } else { flow.from }].device;
            match device.tun.send(&bytes) {
                Ok(_) => self.release_error.record(clock.now().since(at).as_nanos()),
                Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EBADFD as i32) => {
                    self.failure = Some(ShellError::Device { device: device.name.clone(), error });
                }
                // The device is set down, or the kernel has no memory for the packet.
                Err(_) => self.report.unsent_packets += 1,
            }
        }
    }
}

impl ExternalFlow {
    fn node(&self, end: End) -> usize {
        match end {
            End::From => self.from,
            End::To => self.to,
        }
    }
}

impl Ends {
    fn stop(&self) {
        match self {
            Self::KernelTcp(connection) => connection.stop(),
            Self::Programs { program, server } => {
                program.terminate();
                server.iter().for_each(Program::terminate);
            }
        }
    }

    /// Waits for the end, and adds what failed.
    fn finish(self, flow: &str, failures: &mut Vec<String>) {
        let mut add = |what: String| failures.push(format!("flow \"{flow}\": {what}"));
        match self {
            Self::KernelTcp(connection) => {
                if let Err(error) = connection.finish() {
                    add(error.to_string());
                }
            }
            Self::Programs { program, server } => {
                for (name, program) in [("program", Some(program)), ("server", server)] {
                    match program.map(Program::finish) {
                        Some(Ok(Some(status))) if !status.success() => add(format!("the {name} ended with {status}")),
                        Some(Err(error)) => add(error.to_string()),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Creates the nodes of flows whose ends are outside the simulation.
fn create_nodes(scenario: &Scenario, described: &[(usize, &Flow)]) -> Result<(Vec<Node>, Vec<ExternalFlow>), LabError> {
    let mut pairs: BTreeMap<usize, Vec<node::AddressPair>> = BTreeMap::new();
    for (number, (_, flow)) in described.iter().enumerate() {
        let [from, to] = [End::From, End::To].map(|end| address(number, end));
        pairs.entry(flow.from).or_default().push([from, to]);
        pairs.entry(flow.to).or_default().push([to, from]);
    }
    let mtu = mtu(scenario.links.iter().map(|link| &*link.config));
    let numbers: BTreeMap<usize, usize> = pairs.keys().enumerate().map(|(number, node)| (*node, number)).collect();
    let nodes = pairs.into_values().map(|pairs| Node::new(pairs, mtu)).collect::<Result<_, _>>()?;
    let flows = described.iter().map(|(index, flow)| ExternalFlow {
        flow: *index,
        name: flow.name.clone(),
        from: numbers[&flow.from],
        to: numbers[&flow.to],
    });
    Ok((nodes, flows.collect()))
}

/// Replaces `{from}` and `{to}` in a command by the addresses of a flow.
fn with_addresses(command: &str, number: usize) -> String {
    let [from, to] = [End::From, End::To].map(|end| address(number, end).to_string());
    command.replace("{from}", &from).replace("{to}", &to)
}
