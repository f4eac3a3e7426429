//! Receiver half of TFRC (RFC 5348 section 6, RFC 4342 sections 8 and 10).

use super::arrivals::Arrivals;
use super::average::{Average, Interval};
use super::counter::CounterRtt;
use super::equation::Equation;
use super::events::Arrival;
use super::losses::{Change, LossHistory};
use super::options::{FeedbackClock, FirstInterval, LossEvents, Segment, TfrcOptions};
use super::segment::SegmentSize;
use crate::contract::{LossClassification, Received, ReceiverContext, ReceiverHalf, Timing};
use crate::loss_filter::Seen;
use crate::report::{LossForm, LossInterval, Losses, Report, ReportForm, TfrcReport};
use crate::toolbox::{HEALTHY_LOSS, MIN_PACKETS_BETWEEN, MIN_REPORTS_BETWEEN, MIN_SILENCE};
use headway_units::{Duration, Ecn, Instant, Probability, Rate};

/// R in s before a measurement (RFC 4340 section 3.4).
const DEFAULT_RTT: f64 = 0.2;

/// Receiver half of TFRC and its variants (controllers `tfrc`, `tfrc-sp`, `tfrc-filtered`, `spacing-equation`), which
/// reports losses and the receive rate.
#[derive(Debug)]
pub struct TfrcReceiver {
    options: TfrcOptions,
    equation: Equation,
    form: LossForm,
    full: f64,
    /// Loss history, created by the first data packet, which shows whether packets carry the sender's clock.
    history: Option<LossHistory>,
    average: Average,
    arrivals: Arrivals,
    counter_rtt: CounterRtt,
    size: SegmentSize,
    timing: Option<Timing>,
    rtt: Option<Duration>,
    /// Length of the interval before the first loss.
    first_interval: f64,
    p: f64,
    /// p to report once in place of the average (ns-2's first loss).
    first_p: Option<f64>,
    greatest_x_recv: f64,
    last_x_recv: f64,
    /// Rate at which a filter holds the sender, in bytes/s.
    held: Option<f64>,
    reports: Reports,
    intervals: Vec<LossInterval>,
    /// Whether a silence may restart the loss history. With Loss Intervals the sender does.
    may_restart: bool,
    /// Intervals of the last average; the allocation is reused.
    averaged: Vec<Interval>,
}

/// State of the report timing.
#[derive(Debug, Default)]
struct Reports {
    due: bool,
    last: Option<Instant>,
    /// Highest number and window counter at the last report.
    highest: u64,
    counter: u64,
    timer: Option<Instant>,
    /// R at which the timer was set, in s.
    timer_r: f64,
    data_since: bool,
    last_arrival: Option<Instant>,
    /// Whether the timer expired with nothing to report.
    missed: bool,
    loss_since: bool,
    /// Reports since the restart of the loss history, and data packets received since then.
    since_restart: u32,
    packets_since_restart: u64,
}

/// Parameters of the inverse of the equation.
struct Inverse {
    /// Packet size, in bytes.
    s: f64,
    /// Packet size of the equation, in bytes.
    nominal: f64,
    /// Round-trip time, in s.
    r: f64,
    /// Retransmission timeout, in s.
    t_rto: f64,
}

impl TfrcReceiver {
    pub(crate) fn new(options: &TfrcOptions, context: ReceiverContext) -> Self {
        Self {
            equation: Equation::new(options),
            form: context.tfrc.losses,
            full: context.packet_size.count().max(1) as f64,
            history: None,
            average: Average::new(options),
            arrivals: Arrivals::default(),
            counter_rtt: CounterRtt::new(options.expert.counter_samples),
            size: SegmentSize::new(options.expert.segment, context.packet_size.count()),
            timing: None,
            rtt: None,
            first_interval: 0.0,
            p: 0.0,
            first_p: None,
            greatest_x_recv: 0.0,
            last_x_recv: 0.0,
            held: None,
            reports: Reports::default(),
            intervals: Vec::new(),
            may_restart: options.silence_restarts,
            averaged: Vec::new(),
            options: options.clone(),
        }
    }

    /// Returns R in s: the sender's, or the estimate from its counter.
    fn r(&self) -> Option<f64> {
        match self.timing {
            Some(_) => self.rtt.map(Duration::as_secs_f64).filter(|r| *r > 0.0),
            None => self.counter_rtt.rtt(),
        }
    }

    fn clock(&self) -> FeedbackClock {
        match self.options.feedback {
            FeedbackClock::Timer | FeedbackClock::Arrival if self.timing.is_none() => FeedbackClock::WindowCounter,
            clock => clock,
        }
    }

    /// Returns the time over which the receive rate is measured, in s.
    fn window(&self, now: Instant) -> f64 {
        let since = self.reports.last.map_or(0.0, |last| now.since(last).as_secs_f64());
        match (self.clock(), self.r()) {
            // The window contains all data received after an expiry with nothing to report.
            (FeedbackClock::Timer, _) if self.reports.timer_r > 0.0 => self.reports.timer_r,
            (FeedbackClock::WindowCounterSettled, _) => since,
            (_, r) => r.unwrap_or(0.0).max(since),
        }
    }

    fn x_recv(&self, now: Instant) -> f64 {
        if self.clock() == FeedbackClock::Arrival && !self.reports.data_since {
            // ns-2's `est_thput`: one packet per second if nothing has arrived since the last report.
            return self.arrivals.mean_size().unwrap_or(self.full);
        }
        if self.clock() == FeedbackClock::WindowCounterSettled && self.reports.loss_since && self.last_x_recv > 0.0 {
            return self.last_x_recv;
        }
        self.arrivals.rate(now, self.window(now))
    }

    fn loss_event_rate(&mut self) -> f64 {
        let Some(history) = &self.history else { return 0.0 };
        let intervals = &mut self.averaged;
        let open_counts = history.intervals(self.first_interval, self.options.expert.short_intervals, intervals);
        // Linux excludes the open interval until a second loss, which a filter may prevent.
        let as_linux = self.options.first_interval == FirstInterval::SinceReport && self.options.loss_filter.is_none();
        if as_linux && history.remembers_first() {
            match &mut intervals[..] {
                // Linux does so for any length of the first interval. This is not copied: an outage would set it to one
                // packet, and p would remain 1.
                [open, first] if first.length >= 4.0 || open.length <= first.length => open.length = 0.0,
                [_, _] => {}
                _ => drop(intervals.pop()),
            }
        }
        self.average.loss_event_rate(intervals, open_counts)
    }

    /// Returns the parameters of the inverse of the equation.
    fn inverse(&self) -> Inverse {
        let s = match self.options.expert.segment {
            Segment::Smoothed => self.size.s(),
            Segment::Average | Segment::Full => self.arrivals.mean_size().unwrap_or(self.full),
        };
        let r = self.r().unwrap_or(DEFAULT_RTT);
        let t_rto = match self.timing.and_then(|timing| timing.t_rto) {
            Some(t_rto) => t_rto.as_secs_f64(),
            None => (4.0 * r).max(self.options.min_rto.as_secs_f64()),
        };
        Inverse { s, nominal: self.options.nominal(s), r, t_rto }
    }

    /// Returns the p that holds the sender at the receive rate of the filter's request; zero without a request.
    fn holding_p(&mut self, x_recv: f64) -> f64 {
        if !self.history.as_ref().is_some_and(LossHistory::holds) {
            self.held = None;
            return 0.0;
        }
        let held = *self.held.get_or_insert(x_recv);
        let Inverse { nominal, r, t_rto, .. } = self.inverse();
        if held > 0.0 { self.equation.inverse(held, nominal, r, t_rto) } else { 0.0 }
    }

    /// Sets the first loss interval (RFC 5348 section 6.3.1).
    #[cold]
    #[inline(never)]
    fn begin_losses(&mut self, now: Instant, first_data: bool) {
        let Inverse { s, nominal, r, t_rto } = self.inverse();
        let x_recv = self.x_recv(now);
        let p = match self.options.first_interval {
            FirstInterval::GreatestRate => {
                // At least 0.5 packets per round trip; exactly that if the first data packet was lost.
                let x_target = if first_data { 0.0 } else { self.greatest_x_recv.max(x_recv) };
                self.equation.inverse(x_target.max(0.5 * s / r), nominal, r, t_rto)
            }
            FirstInterval::LastRtt => self.equation.coarse_inverse(x_recv, nominal, r, t_rto),
            FirstInterval::SinceReport => {
                let since = self.reports.last.map_or(0.0, |last| now.since(last).as_secs_f64());
                let x_recv = self.arrivals.rate(now, since);
                let x_target = if x_recv > 0.0 { x_recv } else { self.greatest_x_recv };
                self.equation.inverse(x_target, nominal, r, t_rto)
            }
        };
        self.first_interval = match self.options.first_interval {
            FirstInterval::GreatestRate => 1.0 / p,
            FirstInterval::LastRtt | FirstInterval::SinceReport => (1.0 / p).floor(),
        };
        if self.options.first_interval == FirstInterval::LastRtt {
            self.first_p = Some(p);
            let at = self.timing.map_or(now, |timing| timing.sent).as_secs_f64();
            let round = self.timing.map_or(0, |timing| timing.round);
            if let Some(history) = &mut self.history {
                let start = self.reports.highest.min(history.highest().unwrap_or(0));
                history.restart(start, at, round);
            }
        }
    }

    fn rule(&self) -> LossEvents {
        if self.timing.is_some() { self.options.expert.loss_events } else { LossEvents::WindowCounter }
    }

    fn arrival(&self, now: Instant, packet: &Received) -> Arrival {
        let by_sender = self.rule() == LossEvents::SendTime;
        let at = self.timing.filter(|_| by_sender).map_or(now, |timing| timing.sent).as_secs_f64();
        Arrival {
            number: packet.number,
            data: packet.data,
            marked: packet.ecn == Ecn::Ce,
            ndp_count: packet.ndp_count.unwrap_or(0),
            ccval: packet.ccval,
            at,
            r: self.r().unwrap_or(0.0),
            round: self.timing.map_or(0, |timing| timing.round),
            rare: self.p <= HEALTHY_LOSS && !self.options.events_in_a_gap,
            restarts: self.p <= HEALTHY_LOSS && self.may_restart,
        }
    }

    /// Restarts after a silence, which gives no information about the path after it.
    #[cold]
    #[inline(never)]
    fn restart(&mut self) {
        // Losses directly after the restart occur at the initial rate.
        let initial = self.r().map_or(0.0, |r| self.options.expert.initial_window.bytes(self.size.s()) / r);
        (self.first_interval, self.greatest_x_recv) = (0.0, initial);
        self.average.restart();
        (self.reports.since_restart, self.reports.packets_since_restart) = (0, 0);
        self.may_restart = false;
    }

    fn add(&mut self, now: Instant, packet: &Received) -> Change {
        let (rule, arrival) = (self.rule(), self.arrival(now, packet));
        let history = self.history.get_or_insert_with(|| LossHistory::new(&self.options, rule));
        if self.options.loss_filter.is_none() {
            return history.on_packet(&arrival);
        }
        Self::add_filtered(history, now, packet, &arrival)
    }

    /// Adds the packet to the filter first, which may detect congestion, and to the history.
    #[cold]
    #[inline(never)]
    fn add_filtered(history: &mut LossHistory, now: Instant, packet: &Received, arrival: &Arrival) -> Change {
        let newest = history.highest().is_none_or(|highest| packet.number > highest);
        if packet.data
            && newest
            && let Some(timing) = packet.timing
        {
            let (number, size) = (packet.number, packet.size.count());
            history.filter_packet(&Seen { number, arrived: now, sent: timing.sent, size, rtt: packet.rtt });
        }
        let change = history.on_packet(arrival);
        if history.poll_early() && history.mark(arrival).new_event {
            return Change { new_event: true, ..change };
        }
        change
    }

    /// Returns whether a data packet without changes makes a report due.
    fn is_time(&self, now: Instant, newest: bool) -> bool {
        let Some(last) = self.reports.last else { return true };
        match (self.clock(), self.r()) {
            // Without a round-trip time each packet is reported.
            (FeedbackClock::Timer | FeedbackClock::Arrival, None) => true,
            (FeedbackClock::Timer, Some(_)) => self.reports.missed || self.reports.timer.is_none(),
            (FeedbackClock::Arrival, Some(r)) => {
                let waited = now.since(last) >= Duration::from_secs_f64(r);
                let urgent = self.timing.is_some_and(|timing| timing.urgent);
                urgent || newest && waited
            }
            (FeedbackClock::WindowCounterSettled, _) if self.history.as_ref().is_some_and(LossHistory::is_pending) => {
                false
            }
            (FeedbackClock::WindowCounter | FeedbackClock::WindowCounterSettled, r) => {
                let counter = self.history.as_ref().map_or(0, LossHistory::counter);
                // The counter of four bits wraps after four round trips, so that the difference is meaningless,
                // possibly zero after an outage.
                let has_wrapped = now.since(last).as_secs_f64() >= 4.0 * r.unwrap_or(DEFAULT_RTT);
                has_wrapped || counter.saturating_sub(self.reports.counter) >= 4
            }
        }
    }

    /// Handles a loss event caused by a packet without new data, or by a mark of an older packet.
    #[inline(never)]
    fn on_loss(&mut self, now: Instant, change: Change, had_losses: bool) {
        if change.new_event && !had_losses {
            self.begin_losses(now, self.reports.last.is_none());
        }
        self.reports.loss_since |= change.new_event;
        // Without data since the last report, the report waits for data: only the first report may contain a receive
        // rate of zero (RFC 5348 section 4.3), which would stop the sender.
        self.reports.due |= change.new_event && self.reports.last.is_some() && self.reports.data_since;
    }

    fn set_timer(&mut self, now: Instant) {
        self.reports.timer = None;
        let Some(r) = self.r() else { return };
        let wait = match self.clock() {
            FeedbackClock::Timer => r,
            FeedbackClock::Arrival => 1.5 * r,
            FeedbackClock::WindowCounter | FeedbackClock::WindowCounterSettled => return,
        };
        self.reports.timer_r = r;
        self.reports.timer = Some(now + Duration::from_secs_f64(wait).max(Duration::from_micros(1)));
    }

    #[inline(never)]
    fn report(&mut self, now: Instant) -> Option<Report<'_>> {
        let first = self.reports.last.is_none();
        let average = self.loss_event_rate();
        self.p = self.first_p.take().unwrap_or(average);
        // RFC 5348 section 6.3: the first report contains a rate of zero.
        let x_recv = if first { 0.0 } else { self.x_recv(now) };
        self.greatest_x_recv = self.greatest_x_recv.max(x_recv);
        self.last_x_recv = x_recv;
        let reported_p = self.p.max(self.holding_p(x_recv));
        self.reports.since_restart = self.reports.since_restart.saturating_add(1);
        self.may_restart = self.options.silence_restarts
            && self.form == LossForm::EventRate
            && (self.reports.since_restart >= MIN_REPORTS_BETWEEN
                || self.p <= 0.0 && self.reports.packets_since_restart >= MIN_PACKETS_BETWEEN);
        let new_loss_event = std::mem::take(&mut self.reports.loss_since);
        let history = self.history.as_ref()?;
        self.reports.last = Some(now);
        self.reports.highest = history.highest().unwrap_or(0);
        self.reports.counter = history.counter();
        self.reports.data_since = false;
        self.reports.missed = false;
        let skip = match self.form {
            LossForm::EventRate => 0,
            LossForm::Intervals => history.report(self.first_interval, &mut self.intervals),
        };
        self.set_timer(now);
        let window = self.r().unwrap_or(0.0).max(self.reports.timer_r);
        self.arrivals.on_report(now, 2.0 * window);
        let losses = match self.form {
            LossForm::EventRate => Losses::EventRate(Probability::new(reported_p).unwrap_or(Probability::ZERO)),
            LossForm::Intervals => Losses::Intervals { skip, intervals: &self.intervals },
        };
        Some(Report::Tfrc(TfrcReport {
            // A positive rate is not rounded to zero, which is reserved for the first report.
            x_recv: Rate::from_bits_per_second((x_recv * 8.0).round().max(if x_recv > 0.0 { 1.0 } else { 0.0 }) as u64),
            losses,
            new_loss_event,
        }))
    }
}

impl ReceiverHalf for TfrcReceiver {
    const REPORTS: ReportForm = ReportForm::Tfrc;

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        if packet.timing.is_some() {
            (self.timing, self.rtt) = (packet.timing, packet.rtt);
        }
        let had_losses = self.history.as_ref().is_some_and(LossHistory::has_losses);
        let highest = self.history.as_ref().and_then(LossHistory::highest);
        let change = self.add(now, packet);
        if change.restarted {
            self.restart();
        }
        if change.duplicate || !packet.data {
            self.on_loss(now, change, had_losses);
            return;
        }
        let newest = highest.is_none_or(|highest| packet.number > highest);
        self.size.add(packet.size.count());
        // Linux samples only while no packet is missing (net/dccp/ccids/ccid3.c, `ccid3_hc_rx_packet_recv`).
        let whole = |history: &LossHistory| {
            self.options.feedback != FeedbackClock::WindowCounterSettled || !history.is_pending()
        };
        if newest && let Some(history) = self.history.as_ref().filter(|history| whole(history)) {
            let silence = self.reports.last_arrival.map_or(Duration::ZERO, |last| now.since(last));
            if silence >= MIN_SILENCE
                && silence >= Duration::from_secs_f64(4.0 * self.counter_rtt.rtt().unwrap_or(0.0))
                && !self.options.silent_samples
            {
                self.counter_rtt.skip_silence();
            }
            self.counter_rtt.on_packet(now, history.counter());
        }
        let window = self.r().unwrap_or(0.0);
        self.arrivals.add(now, packet.size.count(), window);
        self.reports.data_since = true;
        self.reports.packets_since_restart += 1;
        self.reports.last_arrival = Some(now);
        if change.new_event {
            if !had_losses {
                self.begin_losses(now, self.reports.last.is_none());
            }
            self.reports.loss_since = true;
        }
        // RFC 5348 section 6.1: a new loss event, or one revoked by a late packet, is reported immediately.
        self.reports.due |= self.reports.loss_since || change.filled || self.is_time(now, newest);
    }

    fn on_corrupt(&mut self, now: Instant, number: u64) {
        let (size, ccval, ndp_count, timing) = Default::default();
        let packet =
            Received { number, size, data: true, ecn: Ecn::Ce, ccval, ndp_count, timing, ..Received::default() };
        let arrival = self.arrival(now, &packet);
        let Some(history) = &mut self.history else { return };
        let had_losses = history.has_losses();
        let change = history.mark(&arrival);
        self.on_loss(now, change, had_losses);
    }

    fn on_channel_loss(&mut self, number: u64) {
        // A loss before the first arrival leaves no gap.
        if let Some(history) = &mut self.history {
            history.on_channel_loss(number);
        }
    }

    fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        self.history.as_mut()?.poll_loss_classification()
    }

    #[inline]
    fn poll_report(&mut self, now: Instant) -> Option<Report<'_>> {
        if std::mem::take(&mut self.reports.due) { self.report(now) } else { None }
    }

    fn on_change(&mut self, context: &ReceiverContext) {
        self.form = context.tfrc.losses;
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.reports.timer.is_none_or(|at| at > now) {
            return;
        }
        // ns-2 compares times, so that a report sent on an arrival is followed by one more without any.
        let again = self.clock() == FeedbackClock::Arrival && self.reports.last_arrival >= self.reports.last;
        if self.reports.data_since || again {
            self.reports.due = true;
        } else {
            // Until data arrives, the timer would only expire again; then the report is due immediately.
            self.reports.missed = true;
        }
        self.reports.timer = None;
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.reports.timer
    }
}

#[cfg(test)]
mod tests;
