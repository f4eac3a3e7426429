//! Tins of DSCPs, and their weights (Linux `net/sched/sch_cake.c`; tc-cake(8), "PRIORITY QUEUE PARAMETERS").

use headway_units::Dscp;
use serde::{Deserialize, Serialize};

/// How DSCPs are mapped to tins, the priority classes of CAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tins {
    /// One tin (priority class) for all packets.
    Besteffort,
    /// Eight tins (priority classes), by the first three bits of the DSCP.
    Precedence,
    /// Three tins (priority classes): bulk (CS1, LE), best effort, voice (EF, VA, CS6, CS7, TOS4).
    Diffserv3,
    /// Four tins (priority classes): bulk (CS1, LE), best effort, video (AF2x, AF3x, AF4x, CS2, CS3, TOS4), voice (EF,
    /// VA, CS4 to CS7).
    Diffserv4,
    /// Eight tins (priority classes), from LE to network control.
    Diffserv8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// The threshold rate is `bandwidth`, times 7/8 this many times, then shifted right by `shift`.
    pub(super) sevenths: u32,
    pub(super) shift: u32,
    /// Bytes per round if no bandwidth is given.
    pub(super) quantum: i64,
}

impl Tins {
    pub(super) fn shares(self) -> Vec<Share> {
        let of_shifts = |shifts: &[u32]| {
            shifts.iter().map(|shift| Share { sevenths: 0, shift: *shift, quantum: 1024 >> shift }).collect()
        };
        match self {
            Self::Besteffort => vec![Share { sevenths: 0, shift: 0, quantum: 65_535 }],
            Self::Diffserv3 => of_shifts(&[0, 4, 2]),
            Self::Diffserv4 => of_shifts(&[0, 4, 1, 2]),
            Self::Precedence | Self::Diffserv8 => {
                let share = |sevenths| Share {
                    sevenths,
                    shift: 0,
                    quantum: (0..sevenths).fold(256, |quantum, _| (quantum * 7) >> 3),
                };
                (0..8).map(share).collect()
            }
        }
    }

    pub(super) fn of(self, dscp: Dscp) -> usize {
        // LE, and the bits of the old Type of Service: TOS1 is equal to LE, TOS2 is throughput, TOS4 is low delay.
        const LE: u8 = 1;
        const TOS2: u8 = 2;
        const TOS4: u8 = 4;
        const VA: u8 = 44;
        const EF: u8 = 46;
        let value = dscp.value();
        // The class selector, if it is one, and the x of AFxy.
        let (class, selector) = (value >> 3, value & 7 == 0);
        let assured = ((1..=4).contains(&class) && matches!(value & 7, 2 | 4 | 6)).then_some(class);
        match self {
            Self::Besteffort => 0,
            Self::Precedence => usize::from(class),
            Self::Diffserv3 => match value {
                LE => 1,
                TOS4 | VA | EF => 2,
                _ if selector && class == 1 => 1,
                _ if selector && class >= 6 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match value {
                LE => 1,
                TOS4 => 2,
                VA | EF => 3,
                _ if selector => [0, 1, 2, 2, 3, 3, 3, 3][usize::from(class)],
                _ => assured.map_or(0, |class| if class == 1 { 0 } else { 2 }),
            },
            Self::Diffserv8 => match value {
                LE => 0,
                TOS2 => 1,
                TOS4 => 4,
                VA | EF => 6,
                _ if selector => [2, 1, 5, 3, 6, 6, 7, 7][usize::from(class)],
                _ => assured.map_or(2, |class| [2, 1, 4, 3, 3][usize::from(class)]),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sch_cake.c`, tables `diffserv3`, `diffserv4` and `diffserv8`: the DSCPs that are not in the best-effort tin.
    #[test]
    fn each_dscp_has_the_tin_that_linux_gives_it() {
        let expected = |tins: &[(usize, &[u8])], rest| {
            let mut of = [rest; Dscp::COUNT];
            for (tin, dscps) in tins {
                dscps.iter().for_each(|dscp| of[usize::from(*dscp)] = *tin);
            }
            of
        };
        let video = [4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38];
        for (tins, expected) in [
            (Tins::Diffserv3, expected(&[(1, &[1, 8]), (2, &[4, 44, 46, 48, 56])], 0)),
            (Tins::Diffserv4, expected(&[(1, &[1, 8]), (2, &video), (3, &[32, 40, 44, 46, 48, 56])], 0)),
            (
                Tins::Diffserv8,
                expected(
                    &[
                        (0, &[1]),
                        (1, &[2, 8, 10, 12, 14]),
                        (3, &[24, 26, 28, 30, 34, 36, 38]),
                        (4, &[4, 18, 20, 22]),
                        (5, &[16]),
                        (6, &[32, 40, 44, 46]),
                        (7, &[48, 56]),
                    ],
                    2,
                ),
            ),
        ] {
            let of: Vec<_> = (0..64).map(|value| tins.of(Dscp::new(value).unwrap())).collect();
            assert_eq!(of, expected, "{tins:?}");
        }
    }

    #[test]
    fn eight_tins_are_worth_seven_eighths_of_the_one_before() {
        let quanta: Vec<_> = Tins::Precedence.shares().iter().map(|share| share.quantum).collect();
        assert_eq!(quanta, [256, 224, 196, 171, 149, 130, 113, 98]);
    }
}
