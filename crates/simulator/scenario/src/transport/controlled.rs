//! Transports with a rate controller, whose options are in the table `controller`.

use headway_rate::{ControllerOptions, Need};
use headway_units::{OptionError, Registry, SchemaRegistry, schema_of_kinds};
use schemars::JsonSchema as _;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;

const CONTROLLER: &str = "controller";

/// Number of series: throughput and losses, and the controller's rate, round-trip time and loss event rate.
pub(super) const SERIES: usize = 5;

/// Options of a transport with a rate controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Controlled<T> {
    /// Options of the transport, without those of the controller.
    pub carrier: T,
    /// Rate controller and its options.
    pub controller: ControllerOptions,
}

/// Options of a transport that can have a rate controller.
pub(crate) trait Carrier: headway_units::Options {
    /// Checks that the transport meets a need of the controller. The error names the key that would.
    fn fulfils(&self, need: Need) -> Result<(), OptionError>;
}

impl<T: headway_units::Options> Controlled<T> {
    /// Returns the presets of the transport and of the controller `kind`.
    pub(super) fn with(kind: &str, dialect: headway_units::Dialect) -> Option<Self> {
        Some(Self { carrier: T::preset(dialect), controller: ControllerOptions::preset(kind, dialect)? })
    }

    /// Returns a copy with another controller, if the transport meets its needs.
    pub(super) fn with_controller(&self, controller: ControllerOptions) -> Result<Self, OptionError>
    where
        T: Carrier + Clone,
    {
        let options = Self { carrier: self.carrier.clone(), controller };
        options.check_both().map(|()| options)
    }

    pub(super) fn check_both(&self) -> Result<(), OptionError>
    where
        T: Carrier,
    {
        self.carrier.check()?;
        self.controller.needs().try_for_each(|need| self.carrier.fulfils(need))?;
        self.controller.check().map_err(|error| error.within(CONTROLLER))
    }

    /// Returns the keys of the controller that have no effect, and `line_rate` in the table `tables` if the controller
    /// does not use it.
    pub(super) fn unused_of_both(&self, tables: &[&'static str]) -> Vec<OptionError> {
        let of_controller = self.controller.unused().into_iter().map(|error| error.within(CONTROLLER));
        let message =
            "this controller does not use the line rate, so that line_rate has no effect: leave line_rate out";
        let line_rate = (!self.controller.needs().any(|need| need == Need::LineRate)).then(|| {
            tables.iter().rev().fold(OptionError::new("line_rate", message), |error, table| error.within(table))
        });
        of_controller.chain(line_rate).collect()
    }
}

impl<T: DeserializeOwned> Controlled<T> {
    /// Reads a table whose `controller` is of `kind`, a kind of [`ControllerOptions`].
    pub(super) fn read<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        options.deserialize_map(TableVisitor { kind, carrier: PhantomData })
    }
}

struct TableVisitor<'k, T> {
    kind: &'k str,
    carrier: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> Visitor<'de> for TableVisitor<'_, T> {
    type Value = Controlled<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut controller = None;
        let rest = WithoutController { map, kind: self.kind, controller: &mut controller };
        let carrier = T::deserialize(MapAccessDeserializer::new(rest))?;
        let controller = controller.ok_or_else(|| serde::de::Error::missing_field(CONTROLLER))?;
        Ok(Controlled { carrier, controller })
    }
}

/// Map without the key `controller`, which is read separately.
struct WithoutController<'k, A> {
    map: A,
    kind: &'k str,
    controller: &'k mut Option<ControllerOptions>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithoutController<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if key != CONTROLLER {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            *self.controller = Some(self.map.next_value_seed(OfKind(self.kind))?);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

struct OfKind<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for OfKind<'_> {
    type Value = ControllerOptions;

    fn deserialize<D: Deserializer<'de>>(self, options: D) -> Result<ControllerOptions, D::Error> {
        <ControllerOptions as SchemaRegistry>::deserialize(self.0, options)
    }
}

impl<T: Serialize> Serialize for Controlled<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Table<'a, T> {
            #[serde(flatten)]
            carrier: &'a T,
            controller: serde_json::Value,
        }
        let mut controller = serde_json::to_value(&self.controller).map_err(serde::ser::Error::custom)?;
        // The kind of the transport determines that of the controller.
        if let Some(table) = controller.as_object_mut() {
            table.remove("kind");
        }
        Table { carrier: &self.carrier, controller }.serialize(serializer)
    }
}

/// Returns the schemas of the transport with each controller. `name` maps kinds of controllers to kinds of transports.
pub(super) fn schemas<T: schemars::JsonSchema>(
    generator: &mut schemars::SchemaGenerator,
    name: impl Fn(&'static str) -> Option<&'static str>,
) -> Vec<serde_json::Value> {
    let controllers = ControllerOptions::json_schema(generator).to_value();
    let of_kind = |kind: &str| {
        let all = controllers.get("oneOf").and_then(|kinds| kinds.as_array()).into_iter().flatten();
        let mut schema = all.clone().find(|schema| schema["properties"]["kind"]["const"] == kind)?.clone();
        schema.get_mut("properties")?.as_object_mut()?.remove("kind");
        schema.as_object_mut()?.remove("required");
        Some(schema)
    };
    let carrier = T::json_schema(generator);
    let kinds = ControllerOptions::KINDS.iter().filter_map(|kind| Some((name(kind)?, of_kind(kind)?)));
    kinds
        .filter_map(|(name, controller)| {
            let mut schema = schema_of_kinds(vec![(name, carrier.clone())]).to_value()["oneOf"][0].clone();
            schema.get_mut("properties")?.as_object_mut()?.insert(CONTROLLER.into(), controller);
            Some(schema)
        })
        .collect()
}
