//! The 22 test cases of appendix A of draft-ietf-ccwg-bbr-06. Each case holds for this implementation, and does not hold
//! for a copy that is broken on purpose: the case's last argument changes the model or hides an event from it.

use super::*;
use crate::TcpOptions;
use crate::delivery::Lost;
use crate::growth::{Acked, Growth};
use crate::kinds::rack_tlp::RackTlp;
use crate::options::Rules;
use crate::segment::Segment;
use crate::sender::Flow;
use crate::sink::Sink;
use crate::state::Cut;
use headway_units::{Dialect, Registry};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Deliberate faults of a copy.
#[derive(Clone, Copy, Default)]
struct Fault {
    /// Changes the sample before it is processed.
    before: Option<fn(&mut V3, &mut RateSample)>,
    /// Changes the model and the window afterwards.
    after: Option<fn(&mut V3, &mut Window, Instant)>,
    /// Hides lost segments.
    hides_losses: bool,
    /// Hides that a recovery was spurious.
    hides_undo: bool,
}

struct Tested {
    bbr: V3,
    fault: Fault,
}

impl Growth for Tested {
    type Options = Fault;

    fn new(rules: &Rules, fault: &Fault) -> Self {
        let bbr = V3::new(rules.payload().count(), rules.initial_window_segments(), false);
        Self { bbr, fault: *fault }
    }
    fn grow(&mut self, _window: &mut Window, _acked: Acked) {}
    fn decrease(&mut self, _cut: Cut, cwnd: f64, base: f64) -> f64 {
        self.bbr.recovery_begins(cwnd);
        base
    }
    fn settle(&self, cwnd: f64, _reduced: f64) -> f64 {
        cwnd
    }
    fn opened(&mut self, window: &mut Window, now: Instant, rtt: Option<Duration>) {
        self.bbr.opened(window, now, rtt);
    }
    fn sending(&mut self, window: &mut Window, now: Instant, app_limited: bool, random: &mut Random) {
        self.bbr.sending(window, now, app_limited, random);
    }
    fn segment_lost(&mut self, window: &Window, lost: &Lost) {
        if !self.fault.hides_losses {
            self.bbr.segment_lost(lost, window.cwnd);
        }
    }
    fn sampled(&mut self, window: &mut Window, sample: &RateSample, random: &mut Random) -> bool {
        let mut sample = *sample;
        if self.fault.hides_losses {
            (sample.newly_lost, sample.lost_ranges, sample.lost) = (0, 0, 0);
        }
        if let Some(before) = self.fault.before {
            before(&mut self.bbr, &mut sample);
        }
        let limits = self.bbr.sampled(window, &sample, random);
        if let Some(after) = self.fault.after {
            after(&mut self.bbr, window, sample.now);
        }
        limits
    }
    fn undone(&mut self, window: &mut Window) {
        if !self.fault.hides_undo {
            self.bbr.undone(window);
        }
    }
    fn pacing_rate(&self) -> Option<f64> {
        Some(self.bbr.pacing_rate).filter(|&rate| rate > 0.0)
    }
}

/// Path of one flow: a link, a delay in each direction, and a sink that acknowledges each segment.
#[derive(Clone, Copy)]
struct Path {
    /// Segments per second at a time in s; state of the sender.
    rate: fn(f64, State) -> f64,
    /// Round-trip time without the link, in ms.
    rtt_ms: u64,
    /// Segments that the queue holds.
    buffer: f64,
    /// Whether the first transmission of a segment is lost, sent at this time in s in this state.
    loses: fn(u64, f64, State) -> bool,
    /// Additional delay in ms of a segment sent at this time in s.
    delays_ms: fn(u64, f64) -> u64,
    /// Interval in ms at which acknowledgements are released together; 0: at once.
    aggregation_ms: u64,
    /// Segments of a token bucket filled at `rate`, which drops what exceeds it, and passes the rest at once.
    bucket: Option<f64>,
    /// Segments that the application writes at a time in s, called each 10 ms.
    writes: fn(f64) -> u64,
    seconds: u64,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            rate: |_, _| 1000.0,
            rtt_ms: 40,
            buffer: 1000.0,
            loses: |_, _, _| false,
            delays_ms: |_, _| 0,
            aggregation_ms: 0,
            bucket: None,
            writes: |_| 1_000,
            seconds: 12,
        }
    }
}

/// Model after an acknowledgement.
#[derive(Clone, Debug)]
struct Point {
    t: f64,
    bbr: V3,
    cwnd: f64,
    in_flight: u64,
    /// Segments received by the sink.
    received: u64,
    sent: u64,
    retransmitted: u64,
    timeouts: u64,
    recovering: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ack,
    Data,
    /// The link has transmitted a segment.
    Free,
    Write,
    Timer,
}

/// Runs a flow. Returns a point for each acknowledgement.
fn run(path: Path, fault: Fault) -> Vec<Point> {
    let mut options = TcpOptions::preset("tcp-bbr", Dialect::Rfc).unwrap();
    options.rules_mut().delayed_ack = None;
    options.rules_mut().min_rto = Duration::from_millis(200);
    options.rules_mut().window = "1000000packets".parse().unwrap();
    let mut flow = Flow::<RackTlp, Tested>::new(&options.rules, &(), &fault, Random::new(7, "bbr"));
    let mut sink = Sink::new(&options);
    let mut events = BinaryHeap::from([Reverse((0u64, 0u64, Event::Write))]);
    let (mut segments, mut order, mut points) = (BTreeMap::new(), 1u64, vec![]);
    let mut queue = VecDeque::new();
    let (mut tokens, mut filled_at) = (path.bucket.unwrap_or(0.0), 0.0);
    let half = path.rtt_ms * 500_000;
    while let Some(Reverse((at, number, event))) = events.pop() {
        let now = Instant::from_nanos(at);
        let t = at as f64 / 1e9;
        if t > path.seconds as f64 {
            break;
        }
        match event {
            Event::Write => {
                flow.write(now, (path.writes)(t));
                events.push(Reverse((at + 10_000_000, order, Event::Write)));
                order += 1;
            }
            Event::Timer if flow.state.poll_timeout() == Some(now) => flow.handle_timeout(now),
            Event::Timer => continue,
            Event::Free => {
                queue.pop_front();
                if !queue.is_empty() {
                    transmit(&path, at, flow.state.growth.bbr.state, &queue, &mut segments, &mut events, &mut order);
                }
                continue;
            }
            Event::Data => {
                sink.handle(now, &segments.remove(&number).unwrap());
                while let Some(ack) = sink.poll_transmit(now) {
                    let gap = path.aggregation_ms * 1_000_000;
                    let released = if gap == 0 { at } else { at.div_ceil(gap) * gap };
                    segments.insert(order, ack);
                    events.push(Reverse((released + half, order, Event::Ack)));
                    order += 1;
                }
                continue;
            }
            Event::Ack => {
                flow.handle(now, &segments.remove(&number).unwrap());
                let state = &flow.state;
                points.push(Point {
                    t,
                    bbr: state.growth.bbr.clone(),
                    cwnd: state.window.cwnd,
                    in_flight: state.max - state.una,
                    received: sink.received_segments(),
                    sent: state.counters.sent,
                    retransmitted: state.counters.retransmitted,
                    timeouts: state.counters.timeouts,
                    recovering: state.growth.bbr.recovering,
                });
            }
        }
        while let Some(segment) = flow.poll_transmit(now) {
            let state = flow.state.growth.bbr.state;
            if !segment.retransmission && (path.loses)(segment.seq, t, state) {
                continue;
            }
            let late_ms = (path.delays_ms)(segment.seq, t);
            if let Some(depth) = path.bucket {
                tokens = f64::min(depth, tokens + (path.rate)(t, state) * (t - filled_at));
                filled_at = t;
                if tokens >= 1.0 {
                    tokens -= 1.0;
                    segments.insert(order, segment);
                    events.push(Reverse((at + half, order, Event::Data)));
                    order += 1;
                }
            } else if (queue.len() as f64) < path.buffer {
                queue.push_back((segment, late_ms));
                if queue.len() == 1 {
                    transmit(&path, at, state, &queue, &mut segments, &mut events, &mut order);
                }
            }
        }
        if let Some(due) = flow.state.poll_timeout() {
            events.push(Reverse((due.as_nanos(), order, Event::Timer)));
            order += 1;
        }
    }
    points
}

/// Transmits the first segment of the queue.
fn transmit(
    path: &Path,
    at: u64,
    state: State,
    queue: &VecDeque<(Segment, u64)>,
    segments: &mut BTreeMap<u64, Segment>,
    events: &mut BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: &mut u64,
) {
    let Some(&(segment, late_ms)) = queue.front() else { return };
    let done = at + (1e9 / (path.rate)(at as f64 / 1e9, state)) as u64;
    events.push(Reverse((done, *order, Event::Free)));
    segments.insert(*order + 1, segment);
    events.push(Reverse((done + path.rtt_ms * 500_000 + late_ms * 1_000_000, *order + 1, Event::Data)));
    *order += 2;
}

/// Reason why a case does not hold.
#[derive(Debug)]
struct Miss(String);

impl From<&str> for Miss {
    fn from(reason: &str) -> Self {
        Self(reason.into())
    }
}

/// Asserts that a case holds, and that it does not hold for a broken copy.
fn case(path: Path, holds: fn(&[Point]) -> Result<(), Miss>, fault: Fault) {
    if let Err(Miss(reason)) = holds(&run(path, Fault::default())) {
        panic!("{reason}");
    }
    assert!(holds(&run(path, fault)).is_err(), "the broken copy passes");
}

fn require(holds: bool, reason: impl FnOnce() -> String) -> Result<(), Miss> {
    if holds { Ok(()) } else { Err(Miss(reason())) }
}

/// Returns the states in order, each with the index of its first point.
fn states(points: &[Point]) -> Vec<(State, usize)> {
    let mut states: Vec<(State, usize)> = vec![];
    for (index, point) in points.iter().enumerate() {
        if states.last().is_none_or(|&(state, _)| state != point.bbr.state) {
            states.push((point.bbr.state, index));
        }
    }
    states
}

/// Returns the points before and after each change from one state to one of `to`. An acknowledgement may change the state
/// twice.
fn changes<'p>(points: &'p [Point], from: State, to: &[State]) -> Vec<[&'p Point; 2]> {
    points
        .windows(2)
        .filter(|pair| pair[0].bbr.state == from && to.contains(&pair[1].bbr.state))
        .map(|pair| [&pair[0], &pair[1]])
        .collect()
}

fn after(change: fn(&mut V3, &mut Window, Instant)) -> Fault {
    Fault { after: Some(change), ..Fault::default() }
}
fn before(change: fn(&mut V3, &mut RateSample)) -> Fault {
    Fault { before: Some(change), ..Fault::default() }
}
const HIDDEN_LOSSES: Fault = Fault { before: None, after: None, hides_losses: true, hides_undo: false };
const HIDDEN_UNDO: Fault = Fault { before: None, after: None, hides_losses: false, hides_undo: true };

/// Case 1: in Startup, three rounds without growth of the rate fill the pipe; max_bw is the link's rate.
#[test]
fn case_01_startup_ends_at_the_plateau() {
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Startup, &[State::Drain, State::Cruise]);
        let [_, drain] = changes.first().ok_or("Startup did not end")?;
        let bbr = &drain.bbr;
        require(bbr.full_pipe.now && bbr.full_bw_reached && bbr.full_pipe.count == 3, || format!("{bbr:?}"))?;
        require((bbr.max_bw() / 1000.0 - 1.0).abs() < 0.02, || format!("max_bw {}", bbr.max_bw()))
    };
    case(Path::default(), holds, after(|bbr, _, _| bbr.full_pipe.count = 0));
}

/// Case 2: more than 2 % of losses in Startup end it, while the application limits the rate.
#[test]
fn case_02_losses_end_startup_while_limited_by_the_application() {
    let path = Path { rtt_ms: 400, writes: |_| 5, loses: |seq, t, _| t > 4.0 && seq % 10 == 0, ..Path::default() };
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Startup, &[State::Drain, State::Cruise]);
        let [_, drain] = changes.first().ok_or("Startup did not end")?;
        require(drain.t > 4.0 && drain.bbr.full_pipe.now && drain.bbr.full_bw_reached, || format!("{drain:?}"))
    };
    case(path, holds, HIDDEN_LOSSES);
}

/// Case 3: Drain ends when the flight is at most Inflight(1.0).
#[test]
fn case_03_drain_ends_by_the_flight() {
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Drain, &[State::Down, State::Cruise]);
        let [last, down] = changes.first().ok_or("Drain did not end")?;
        let inflight = last.bbr.inflight(1.0, last.bbr.bw);
        let gain = last.bbr.pacing_rate / last.bbr.bw / MARGIN;
        require((gain - State::Drain.gains().0).abs() < 1e-9, || format!("gain {gain}"))?;
        require(down.in_flight as f64 <= inflight + 1.0, || format!("{} > {inflight}", down.in_flight))?;
        require(down.bbr.round_count <= down.bbr.drain_start_round + DRAIN_ROUNDS, || "by time".into())
    };
    case(
        Path::default(),
        holds,
        before(|bbr, sample| {
            if bbr.state == State::Drain {
                sample.in_flight = u64::MAX;
            }
        }),
    );
}

/// Case 4: Drain ends after its rounds if the flight stays higher, here since the link's rate falls to 40 % at entry.
#[test]
fn case_04_drain_ends_by_time() {
    let path = Path { rate: |_, state| if state == State::Startup { 1000.0 } else { 400.0 }, ..Path::default() };
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Drain, &[State::Down, State::Cruise]);
        let [_, down] = changes.first().ok_or("Drain did not end")?;
        require(down.bbr.round_count == down.bbr.drain_start_round + DRAIN_ROUNDS + 1, || format!("{down:?}"))?;
        require(down.bbr.state == State::Down, || "by the flight".into())
    };
    case(path, holds, after(|bbr, _, _| bbr.drain_start_round = bbr.round_count));
}

/// Case 5: UP ends after three rounds without growth.
#[test]
fn case_05_up_ends_at_the_plateau() {
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Up, &[State::Down, State::Cruise]);
        let [up, down] = changes.first().ok_or("UP did not end")?;
        require(up.bbr.full_pipe.count >= 2 && down.bbr.full_pipe.now, || format!("{up:?}"))?;
        require(up.bbr.inflight_longterm.is_infinite(), || "a loss ended UP".into())
    };
    case(
        Path::default(),
        holds,
        after(|bbr, _, _| {
            if bbr.state == State::Up {
                bbr.full_pipe.count = 0;
            }
        }),
    );
}

/// Case 6: more than 2 % of losses in UP end it while the application limits the rate. `inflight_longterm` stays, by the
/// pseudocode.
#[test]
fn case_06_losses_end_up_while_limited_by_the_application() {
    let path = Path {
        writes: |t| if t < 2.0 { 12 } else { 5 },
        loses: |seq, t, state| t > 4.0 && state == State::Up && seq % 5 == 0,
        seconds: 16,
        ..Path::default()
    };
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Up, &[State::Down, State::Cruise]);
        let [up, down] = changes.iter().find(|[up, _]| up.t > 4.0).ok_or("UP did not end")?;
        require(down.bbr.prev_probe_too_high && !up.bbr.full_pipe.now, || format!("{down:?}"))?;
        require(down.bbr.inflight_longterm.is_infinite(), || format!("{}", down.bbr.inflight_longterm))
    };
    case(path, holds, HIDDEN_LOSSES);
}

/// Case 7: Startup stays while the application limits the rate and nothing is lost.
#[test]
fn case_07_startup_stays_while_limited_by_the_application() {
    let path = Path { writes: |_| 5, seconds: 20, ..Path::default() };
    let holds = |points: &[Point]| {
        let last = points.last().ok_or("no point")?;
        require(!last.bbr.full_bw_reached, || format!("{:?}", states(points)))
    };
    case(path, holds, before(|_, sample| sample.app_limited = false));
}

/// Case 8: DOWN ends when the flight is at most Inflight(1.0).
#[test]
fn case_08_down_ends_by_the_flight() {
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Down, &[State::Cruise]);
        let [down, cruise] = changes.first().ok_or("no CRUISE")?;
        let gain = down.bbr.pacing_rate / down.bbr.bw / MARGIN;
        require((gain - 0.9).abs() < 1e-9, || format!("gain {gain}"))?;
        require(cruise.in_flight as f64 <= cruise.bbr.inflight(1.0, cruise.bbr.max_bw()) + 1.0, || {
            format!("{cruise:?}")
        })
    };
    case(
        Path::default(),
        holds,
        before(|bbr, sample| {
            if bbr.state == State::Down {
                sample.in_flight = u64::MAX;
            }
        }),
    );
}

/// Case 9: DOWN goes to REFILL if the flight stays higher until the next probe, here since the rate fell to 80 %.
#[test]
fn case_09_down_ends_by_time() {
    let path = Path { rate: |t, _| if t < 1.5 { 1000.0 } else { 800.0 }, rtt_ms: 20, seconds: 5, ..Path::default() };
    let holds = |points: &[Point]| {
        require(!changes(points, State::Down, &[State::Refill]).is_empty(), || format!("{:?}", states(points)))
    };
    case(path, holds, after(|bbr, _, now| (bbr.cycle_at, bbr.rounds_since_probe) = (now, 0)));
}

/// Case 10: ProbeRTT starts 5 s after the last minimum, halves the flight for at least 200 ms, and returns to CRUISE.
#[test]
fn case_10_probe_rtt() {
    let holds = |points: &[Point]| {
        let states = states(points);
        let at = states.iter().position(|&(state, _)| state == State::ProbeRtt).ok_or("no ProbeRTT")?;
        let (_, from) = states[at];
        let &(next, to) = states.get(at + 1).ok_or("ProbeRTT did not end")?;
        require(next == State::Cruise && points[from].t > 5.0, || format!("{next:?}"))?;
        require(points[to].t - points[from].t >= 0.2, || "short".into())?;
        let last = &points[to - 1];
        require(last.in_flight as f64 <= last.bbr.probe_rtt_limit().ceil(), || format!("{last:?}"))?;
        require(points[to].cwnd > last.cwnd * 1.5, || "the window was not restored".into())
    };
    case(Path::default(), holds, before(|bbr, sample| bbr.min_rtt.probed(sample.now)));
}

/// Case 11: a silence of more than 5 s replaces ProbeRTT.
#[test]
fn case_11_a_silence_replaces_probe_rtt() {
    let path = Path { writes: |t| if (1.0..=7.0).contains(&t) { 0 } else { 30 }, seconds: 10, ..Path::default() };
    let holds = |points: &[Point]| {
        let later = points.iter().find(|point| point.bbr.state == State::ProbeRtt && point.t < 10.0);
        require(points.iter().any(|point| point.t > 9.5) && later.is_none(), || "ProbeRTT".into())
    };
    case(path, holds, before(|bbr, _| bbr.idle_restart = false));
}

/// Case 12: behind acknowledgements that are released each 20 ms, `extra_acked` is their number, and Startup opens the
/// window beyond two bandwidth-delay products.
#[test]
fn case_12_startup_behind_aggregation() {
    let path = Path { aggregation_ms: 20, seconds: 4, ..Path::default() };
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Startup, &[State::Drain, State::Cruise]);
        let [startup, _] = changes.first().ok_or("Startup did not end")?;
        let extra = startup.bbr.extra_acked.get();
        require((15.0..=25.0).contains(&extra) && startup.cwnd > 82.0, || format!("{extra}, cwnd {}", startup.cwnd))?;
        require(startup.bbr.max_bw() > 950.0, || format!("max_bw {}", startup.bbr.max_bw()))
    };
    case(path, holds, after(|bbr, _, _| bbr.extra_acked.forget()));
}

/// Case 13: behind acknowledgements that are released each 10 ms, CRUISE adds their number to the window and fills the
/// link.
#[test]
fn case_13_cruise_behind_aggregation() {
    let path = Path { aggregation_ms: 10, ..Path::default() };
    let holds = |points: &[Point]| {
        let cruise = points.iter().rfind(|point| point.bbr.state == State::Cruise).ok_or("no CRUISE")?;
        let augmented = cruise.cwnd - 2.0 * cruise.bbr.bdp(1.0, cruise.bbr.bw);
        require(augmented > 8.0, || format!("augmented by {augmented}"))?;
        let from = points.iter().find(|point| point.t > 6.0).ok_or("no point")?;
        let to = points.iter().rfind(|point| point.t < 10.0).ok_or("no point")?;
        let rate = (to.received - from.received) as f64 / (to.t - from.t);
        require(rate >= 950.0, || format!("rate {rate}"))
    };
    case(path, holds, before(|bbr, _| bbr.extra_acked.forget()));
}

/// Case 14: with a bandwidth-delay product of one packet, ProbeRTT keeps four packets in flight, and the pacing rate is
/// right. The four packets are a queue that hides the true round trip.
#[test]
fn case_14_less_than_a_packet_in_flight() {
    let path = Path { rate: |_, _| 8.0, rtt_ms: 10, seconds: 60, ..Path::default() };
    let holds = |points: &[Point]| {
        let last = points.iter().rfind(|point| point.bbr.state == State::Cruise).ok_or("no CRUISE")?;
        let probe = points.iter().rfind(|point| point.bbr.state == State::ProbeRtt).ok_or("no ProbeRTT")?;
        require(probe.cwnd == MIN_PIPE_CWND, || format!("cwnd {}", probe.cwnd))?;
        require((last.bbr.pacing_rate / (8.0 * MARGIN) - 1.0).abs() < 0.05, || format!("{}", last.bbr.pacing_rate))
    };
    case(path, holds, after(|_, window, _| window.cwnd = 8.0));
}

/// Case 15: after the rate rose tenfold, the flow fills the link within 12 rounds and one wait for a probe, although
/// losses had set `inflight_longterm`.
#[test]
fn case_15_ten_times_the_rate() {
    let path = Path {
        rate: |t, _| if t < 6.0 { 100.0 } else { 1000.0 },
        rtt_ms: 100,
        buffer: 12.0,
        loses: |seq, t, state| t < 6.0 && state == State::Up && seq % 6 == 0,
        seconds: 14,
        ..Path::default()
    };
    let holds = |points: &[Point]| {
        let set = points.iter().rfind(|point| point.t < 6.0).ok_or("no point")?;
        require(set.bbr.inflight_longterm.is_finite(), || "inflight_longterm is not set".into())?;
        let full = points.iter().find(|point| point.bbr.max_bw() > 900.0).ok_or("the link was not filled")?;
        require(full.t <= 6.0 + 3.0 + 1.2 + 1.0, || format!("after {} s", full.t - 6.0))
    };
    case(path, holds, after(|bbr, _, _| bbr.slope.stop()));
}

/// Case 16: after the rate fell to a tenth, bw_shortterm falls at once, and max_bw after two cycles.
#[test]
fn case_16_a_tenth_of_the_rate() {
    let path = Path { rate: |t, _| if t < 6.0 { 1000.0 } else { 100.0 }, buffer: 20.0, seconds: 24, ..Path::default() };
    let holds = |points: &[Point]| {
        let falls = |point: &&Point| point.t > 6.0 && point.bbr.bw <= 700.5 && point.bbr.max_bw() > 900.0;
        require(points.iter().find(falls).is_some_and(|point| point.t < 8.0), || "bw_shortterm did not fall".into())?;
        let last = points.last().ok_or("no point")?;
        require((last.bbr.max_bw() / 100.0 - 1.0).abs() < 0.05, || format!("max_bw {}", last.bbr.max_bw()))
    };
    case(path, holds, before(|bbr, _| bbr.loss_in_round = false));
}

/// Case 17: behind a token bucket, the flow gets at least 85 % of its rate, with at most 5 % of losses (each
/// probe loses some, 3.6 % in total).
#[test]
fn case_17_policer() {
    let path = Path { bucket: Some(100.0), seconds: 30, ..Path::default() };
    let holds = |points: &[Point]| {
        let from = points.iter().find(|point| point.t > 10.0).ok_or("no point")?;
        let to = points.last().ok_or("no point")?;
        let rate = (to.received - from.received) as f64 / (to.t - from.t);
        let lost = (to.retransmitted - from.retransmitted) as f64 / (to.sent - from.sent) as f64;
        require(rate >= 850.0, || format!("rate {rate}, lost {lost}"))?;
        require(lost <= 0.05, || format!("lost {lost}"))
    };
    case(path, holds, HIDDEN_LOSSES);
}

/// Case 18: after a spurious fast recovery, the model and the window are those from before.
#[test]
fn case_18_spurious_fast_recovery() {
    let path = Path {
        // Twenty segments are late by 60 ms.
        delays_ms: |_, t| if (3.0..3.02).contains(&t) { 60 } else { 0 },
        seconds: 4,
        ..Path::default()
    };
    let holds = |points: &[Point]| {
        let prior = points.iter().rfind(|point| point.t < 3.0).ok_or("no point")?;
        require(points.iter().any(|point| point.recovering), || "no recovery".into())?;
        let restored = points.iter().find(|point| point.t > 3.3).ok_or("no point")?;
        require(restored.bbr.bw_shortterm.is_infinite(), || format!("bw_shortterm {}", restored.bbr.bw_shortterm))?;
        require(restored.timeouts == 0 && restored.bbr.state == prior.bbr.state, || {
            format!("{:?}", restored.bbr.state)
        })?;
        require(restored.cwnd >= 0.9 * prior.cwnd, || format!("cwnd {} {}", restored.cwnd, prior.cwnd))
    };
    case(path, holds, HIDDEN_UNDO);
}

/// Case 19: after a spurious timeout, the model and the window are those from before.
#[test]
fn case_19_spurious_timeout() {
    let path = Path {
        // All segments sent in 0.5 s arrive together afterwards.
        delays_ms: |_, t| if (2.8..3.3).contains(&t) { ((3.3 - t) * 1e3) as u64 } else { 0 },
        seconds: 4,
        ..Path::default()
    };
    let holds = |points: &[Point]| {
        let prior = points.iter().rfind(|point| point.t < 2.8).ok_or("no point")?;
        let restored = points.iter().find(|point| point.t > 3.6).ok_or("no point")?;
        require(restored.timeouts > 0, || "no timeout".into())?;
        require(restored.bbr.bw_shortterm.is_infinite(), || format!("bw_shortterm {}", restored.bbr.bw_shortterm))?;
        require(restored.cwnd >= 0.9 * prior.cwnd, || format!("cwnd {} {}", restored.cwnd, prior.cwnd))
    };
    case(path, holds, HIDDEN_UNDO);
}

/// Case 20: ProbeRTT in Startup returns to Startup.
#[test]
fn case_20_probe_rtt_in_startup() {
    let path = Path { writes: |_| 5, seconds: 8, ..Path::default() };
    let holds = |points: &[Point]| {
        let states: Vec<State> = states(points).into_iter().map(|(state, _)| state).collect();
        require(states == [State::Startup, State::ProbeRtt, State::Startup], || format!("{states:?}"))
    };
    case(path, holds, after(|bbr, _, _| bbr.full_bw_reached = true));
}

/// Case 21: losses in UP lower `inflight_longterm` and end UP.
#[test]
fn case_21_losses_in_up() {
    let path = Path { loses: |seq, _, state| state == State::Up && seq % 20 == 0, ..Path::default() };
    let holds = |points: &[Point]| {
        let changes = changes(points, State::Up, &[State::Down, State::Cruise]);
        let [_, down] = changes.first().ok_or("UP did not end")?;
        let longterm = down.bbr.inflight_longterm;
        require(down.bbr.prev_probe_too_high, || format!("{down:?}"))?;
        // 1000 segments per second for 40 ms: at least 0.7 times the target of 40, at most the flight of UP.
        require((28.0 * MARGIN..=60.0).contains(&longterm), || format!("inflight_longterm {longterm}"))
    };
    case(path, holds, HIDDEN_LOSSES);
}

/// Case 22: an application that limits the rate from REFILL on does not lower max_bw, and UP follows.
#[test]
fn case_22_limited_by_the_application_in_refill() {
    let path = Path { writes: |t| if t < 1.0 { 12 } else { 3 }, seconds: 16, ..Path::default() };
    let holds = |points: &[Point]| {
        let limited = changes(points, State::Refill, &[State::Up]);
        let [_, up] = limited.iter().find(|[_, up]| up.t > 5.0).ok_or("no UP")?;
        require(up.bbr.max_bw() > 950.0, || format!("max_bw {}", up.bbr.max_bw()))?;
        let last = points.last().ok_or("no point")?;
        require(last.bbr.max_bw() > 950.0, || format!("max_bw {}", last.bbr.max_bw()))
    };
    case(path, holds, before(|_, sample| sample.app_limited = false));
}
