//! `[[attacker]]`: an attacker on a DCCP flow.

use crate::document::Value;
use crate::flow::Flow;
use crate::kind_options::KindOptions;
use crate::names::{Named, Names, check_name};
use crate::path::Path;
use crate::reader::Reader;
use crate::suggest::{hint, quoted};
use crate::vocabulary::VOCABULARY;
use headway_attack::{AttackOptions, Direction};
use headway_dccp::Ccid;
use headway_units::{Dialect, Duration, Instant};
use schemars::JsonSchema;
use serde::Serialize;

/// An attacker on a DCCP flow.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct AttackerTable {
    /// Name: 1 to 64 letters, digits and _ - . :
    pub(crate) name: String,
    /// Node of the attacker, neither end of the flow.
    pub(crate) at: String,
    /// Attacked flow, with transport dccp.
    pub(crate) target: String,
    /// Whether both directions of the flow are routed through the attacker's node. An off-path attacker sees no
    /// packets; it knows only the addresses, ports and service code.
    #[schemars(default)]
    pub(crate) on_path: bool,
    /// Start time of the attack, since the start of the run.
    #[schemars(default)]
    pub(crate) start: Duration,
    /// Stop time of the attack, since the start of the run and after `start`; the end of the run if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Duration>,
    /// Attack and its options.
    pub(crate) attack: KindOptions<AttackOptions>,
}

/// An attacker on a DCCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Attacker {
    /// Unique name of the attacker.
    pub name: String,
    /// Node of the attacker: index into [`Scenario::nodes`](crate::Scenario::nodes); neither end of the attacked flow.
    pub at: usize,
    /// Attacked DCCP flow: index into [`Scenario::flows`](crate::Scenario::flows).
    pub target: usize,
    /// Whether both directions of the attacked flow are routed through the node `at`. A flow has at most one on-path
    /// attacker.
    pub on_path: bool,
    /// Start time of the attack, since the start of the run.
    pub start: Instant,
    /// Stop time of the attack, since the start of the run and later than [`start`](Self::start); `None` for the end of
    /// the run.
    pub stop: Option<Instant>,
    /// Attack and its options.
    pub attack: AttackOptions,
}

pub(crate) fn read<'a>(
    reader: &mut Reader<'a>,
    value: &'a Value,
    path: &Path,
    dialect: Dialect,
) -> Option<AttackerTable> {
    let mut open = reader.open(value, path, &VOCABULARY.attacker)?;
    let name: Option<String> = open.required("name", "\"mallory\"");
    if let Some(name) = &name {
        check_name(&mut open, name, |_| false);
    }
    let at: Option<String> = open.required("at", "\"elsewhere\"");
    let target: Option<String> = open.required("target", "\"video\"");
    let on_path: bool = open.optional("on_path").unwrap_or_default();
    let start: Duration = open.optional("start").unwrap_or_default();
    let stop: Option<Duration> = open.optional("stop");
    if let Some(stop) = stop
        && stop <= start
    {
        open.wrong("stop", format!("{stop} is not after the start at {start}"));
    }
    let attack = open.options::<AttackOptions>("attack", dialect, &VOCABULARY.attack);
    if open.value("attack").is_none() {
        open.missing("attack", "{ kind = \"forge\", packet = \"reset\" } or { kind = \"flood\" }");
    }
    if let Some(attack) = &attack
        && attack.options.needs_path()
        && !on_path
    {
        let message = "this attack needs an on-path attacker: write on_path = true, or an off-path attack such as \
                       { kind = \"forge\", unknown_bits = 48 }";
        open.wrong("attack", message);
        return None;
    }
    Some(AttackerTable { name: name?, at: at?, target: target?, on_path, start, stop, attack: attack? })
}

/// Resolves the names of nodes and flows in the attackers' tables.
pub(crate) fn expand(
    reader: &mut Reader<'_>,
    tables: &[AttackerTable],
    names: &Names,
    flows: &[Flow],
) -> Vec<Attacker> {
    let mut attackers: Vec<Attacker> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        if reader.problems.is_full() {
            break;
        }
        let path = Path::default().key("attacker").index(index);
        if attackers.iter().any(|attacker| attacker.name == table.name) {
            reader.wrong(&path.key("name"), format!("two attackers are called \"{}\"", table.name));
        }
        let at = names.find(reader, &path.key("at"), &table.at);
        let Some(target) = flows.iter().position(|flow| flow.name == table.target) else {
            let hint = hint(&table.target, flows.iter().map(|flow| flow.name.as_str()));
            reader.wrong(&path.key("target"), format!("unknown flow \"{}\"{hint}", quoted(&table.target)));
            continue;
        };
        let Some(at) = at else { continue };
        let flow = &flows[target];
        if flow.transport.connection().is_none() {
            let message =
                format!("\"{}\" is not a connection: only flows with transport dccp can be attacked", flow.name);
            reader.wrong(&path.key("target"), message);
        }
        let Named::One(at) = at else {
            let message = format!("\"{}\" has replicas: name one of them, such as \"{}1\"", table.at, table.at);
            reader.wrong(&path.key("at"), message);
            continue;
        };
        if at == flow.from || at == flow.to {
            let message = format!("\"{}\" is an end of \"{}\": expected another node", table.at, flow.name);
            reader.wrong(&path.key("at"), message);
        }
        if table.on_path && attackers.iter().any(|other| other.on_path && other.target == target) {
            let message = format!("\"{}\" already has an on-path attacker: at most one is allowed", flow.name);
            reader.wrong(&path.key("on_path"), message);
        }
        let floods = |attack: &AttackOptions| matches!(attack, AttackOptions::Flood(_));
        if floods(&table.attack.options)
            && attackers.iter().any(|other| floods(&other.attack) && other.target == target)
        {
            let message = format!("another attacker floods \"{}\": at most one is allowed", flow.name);
            reader.wrong(&path.key("attack"), message);
        }
        if let (AttackOptions::Lie(lie), Some(connection)) = (&table.attack.options, flow.transport.connection()) {
            let path = path.key("attack");
            let mut ccids = connection.send_ccids.iter();
            if let Some(ccid) = ccids.find(|ccid| !lie.claim.concerns(Ccid(**ccid))) {
                let own = if Ccid(*ccid) == Ccid::TCP_LIKE {
                    "no-marks"
                } else {
                    "one-event, first-interval or receive-rate"
                };
                let message = format!(
                    "a receiver of CCID {ccid} does not report what this claim changes: expected no-losses, ahead, elapsed, {own}"
                );
                reader.wrong(&path.key("claim"), message);
            }
            if lie.towards == Direction::ToServer {
                let message =
                    "the client sends all data, and claims go to the sender: write to-client, or leave towards out";
                reader.wrong(&path.key("towards"), message);
            }
        }
        attackers.push(Attacker {
            name: table.name.clone(),
            at,
            target,
            on_path: table.on_path,
            start: Instant::ZERO + table.start,
            stop: table.stop.map(|stop| Instant::ZERO + stop),
            attack: table.attack.options.clone(),
        });
    }
    attackers
}
