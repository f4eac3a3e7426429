//! `[[attacker]]`: an attacker on a DCCP flow.

use crate::chosen::Chosen;
use crate::document::Value;
use crate::flow::Flow;
use crate::names::{Named, Names, check_name};
use crate::path::Path;
use crate::reader::Reader;
use crate::suggest::{hint, quoted};
use crate::vocabulary::VOCABULARY;
use headway_attack::{AttackOptions, Way};
use headway_dccp::Ccid;
use headway_units::{Dialect, Duration, Instant};
use schemars::JsonSchema;
use serde::Serialize;

/// An attacker on a DCCP flow.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct AttackerTable {
    /// Letters, digits and _ - . : up to 64.
    pub(crate) name: String,
    /// The node where it sits, which is neither end of the flow.
    pub(crate) at: String,
    /// The flow that it attacks, of transport dccp.
    pub(crate) target: String,
    /// Whether the flow's packets, there and back, are led by way of its node. Otherwise it sees nothing, and knows addresses, ports
    /// and the service code only.
    #[schemars(default)]
    pub(crate) on_path: bool,
    /// When it begins.
    #[schemars(default)]
    pub(crate) start: Duration,
    /// When it stops; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Duration>,
    /// What it does.
    pub(crate) attack: Chosen<AttackOptions>,
}

/// An attacker on a DCCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Attacker {
    /// No two attackers have the same.
    pub name: String,
    /// Where it sits: index into [`Scenario::nodes`](crate::Scenario::nodes), neither end of its target.
    pub at: usize,
    /// Whom it attacks: index into [`Scenario::flows`](crate::Scenario::flows), a DCCP flow.
    pub target: usize,
    /// Whether the target's packets are led by way of its node; for each flow there is at most one such attacker.
    pub on_path: bool,
    /// When it begins.
    pub start: Instant,
    /// When it stops; after the start.
    pub stop: Option<Instant>,
    /// What it does.
    pub attack: AttackOptions,
}

/// Reads an `[[attacker]]`.
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
    if let Some(chosen) = &attack
        && chosen.options.needs_path()
        && !on_path
    {
        let message = "this attack needs an on-path attacker: write on_path = true, or an off-path attack such as \
                       { kind = \"forge\", unknown_bits = 48 }";
        open.wrong("attack", message);
        return None;
    }
    Some(AttackerTable { name: name?, at: at?, target: target?, on_path, start, stop, attack: attack? })
}

/// Resolves the names of attackers.
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
            if lie.towards == Way::ToServer {
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
