//! Scheduling of the thread of a direction: it preempts ordinary programs, if the process may (sched(7)).

use headway_units::{Duration, Instant};
use nix::time::{ClockId, clock_gettime};
use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue,
    ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

/// Time between two checks of the thread's use of its processor.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Largest share of a processor for which the thread preempts others. Above it, programs would starve, and the kernel
/// would stop the thread for 50 ms in each second.
const MAX_CPU_SHARE: f64 = 0.5;

/// Whether the thread preempts ordinary programs.
#[derive(Debug)]
pub(crate) struct Urgency {
    is_urgent: bool,
    checked_at: Instant,
    cpu_time: Duration,
}

impl Urgency {
    /// Lets this thread preempt ordinary programs. Does nothing without the right CAP_SYS_NICE.
    pub(crate) fn raise(now: Instant) -> Self {
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
        let is_urgent = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_ok();
        Self { is_urgent, checked_at: now, cpu_time: cpu_time() }
    }

    /// Makes this thread an ordinary one if it uses too much of its processor. Must be called often.
    pub(crate) fn check(&mut self, now: Instant) {
        let elapsed = now.since(self.checked_at);
        if !self.is_urgent || elapsed < CHECK_INTERVAL {
            return;
        }
        let used = cpu_time();
        if used.saturating_sub(self.cpu_time).as_secs_f64() > MAX_CPU_SHARE * elapsed.as_secs_f64() {
            self.lower();
        }
        (self.checked_at, self.cpu_time) = (now, used);
    }

    /// Makes this thread an ordinary one.
    pub(crate) fn lower(&mut self) {
        if !std::mem::take(&mut self.is_urgent) {
            return;
        }
        // A nice value of 0.
        if let Ok(middle) = ThreadPriorityValue::try_from(50) {
            let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
            let priority = ThreadPriority::Crossplatform(middle);
            let _ = set_thread_priority_and_policy(thread_native_id(), priority, policy);
        }
    }
}

/// Returns the time for which this thread used a processor.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(std::time::Duration::ZERO, Into::into);
    Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
