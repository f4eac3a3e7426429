//! The JSON Schema agrees with the reader.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a schema with another shape is a failed test")]

use crate::common::{SMALL, changed, shipped, with};
use serde_json::{Value, json};

/// Collects the reasons why `value` violates the schema. Supports the keywords that the schema uses and rejects others.
fn violations(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else {
        assert_eq!(schema, &json!(true), "at {path}");
        return;
    };
    let fails = |schema: &Value| {
        let mut found = Vec::new();
        violations(root, schema, value, path, &mut found);
        found
    };
    for (keyword, rule) in schema {
        let ok = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap();
                violations(root, target, value, path, found);
                true
            }
            "type" => match rule.as_str().expect("one type") {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                other => panic!("type {other} at {path}"),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
            "required" => value.as_object().is_none_or(|object| {
                rule.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
            }),
            "anyOf" => rule.as_array().unwrap().iter().any(|schema| fails(schema).is_empty()),
            "oneOf" => rule.as_array().unwrap().iter().filter(|schema| fails(schema).is_empty()).count() == 1,
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    violations(root, rule, item, &format!("{path}[{index}]"), found);
                }
                true
            }
            "properties" => {
                for (key, schema) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        violations(root, schema, value, &format!("{path}.{key}"), found);
                    }
                }
                true
            }
            "additionalProperties" if rule == &json!(false) => {
                let known = schema.get("properties").and_then(Value::as_object);
                value
                    .as_object()
                    .is_none_or(|object| object.keys().all(|key| known.is_some_and(|known| known.contains_key(key))))
            }
            "additionalProperties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    violations(root, rule, value, &format!("{path}.{key}"), found);
                }
                true
            }
            other => panic!("the keyword {other} at {path} is not known here"),
        };
        if !ok {
            found.push(format!("{path}: {keyword} {rule}, found {value}"));
        }
    }
}

fn judged(text: &str) -> Vec<String> {
    let schema = headway_scenario::schema();
    let value: Value = toml::from_str(text).unwrap();
    let mut found = Vec::new();
    violations(&schema, &schema, &value, "", &mut found);
    found
}

#[test]
fn shipped_scenarios_are_valid() {
    for (name, text) in shipped() {
        assert_eq!(judged(&text), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn resolved_scenarios_are_valid() {
    let off = "[[flow]]\nname = 'x'\nfrom = 'a'\nto = 'b'\ntransport = { kind = 'tcp-reno', delayed_ack = false }\n\
               source = { kind = 'ftp' }\n";
    for loaded in [changed("20packets", "30packets").unwrap(), with(off).unwrap()] {
        assert_eq!(judged(&loaded.resolved_toml), Vec::<String>::new());
    }
}

/// TOML has no null.
#[test]
fn no_default_is_null() {
    fn defaults(value: &Value, found: &mut Vec<Value>) {
        if let Some(object) = value.as_object() {
            found.extend(object.get("default").cloned());
        }
        let objects = value.as_object().into_iter().flat_map(|object| object.values());
        objects.chain(value.as_array().into_iter().flatten()).for_each(|inner| defaults(inner, found));
    }
    let mut found = Vec::new();
    defaults(&headway_scenario::schema(), &mut found);
    assert!(found.contains(&json!("headway-1")) && !found.contains(&Value::Null), "{found:?}");
}

#[test]
fn the_schema_and_the_reader_reject_invalid_scenarios() {
    for (from, to) in [
        ("duration = \"10s\"", ""),
        ("duration = \"10s\"", "duration = 10"),
        ("\"10s\"\n", "\"10s\"\nseed = -1\n"),
        ("\"10s\"\n", "\"10s\"\nseeds = 1\n"),
        ("\"10s\"\n", "\"10s\"\ndialect = \"ns4\"\n"),
        ("\"10s\"\n", "\"10s\"\nrecord = { series = true, every = 1 }\n"),
        ("[\"a\", \"b\"]", "[\"a\"]"),
        ("[\"a\", \"b\"]", "[\"a\", \"b\", \"c\"]"),
        ("\"droptail\"", "\"drop-tail\""),
        ("kind = \"droptail\"", "drop = \"tail\""),
        ("limit", "limits"),
        ("limit = \"20packets\"", "counts = \"none\""),
        ("\"20packets\"", "20"),
        ("from = \"a\"\n", ""),
        ("from = \"a\"\n", "from = \"a\"\ncount = 0\n"),
        ("from = \"a\"\n", "from = \"a\"\nstart = { uniform = [\"1s\"] }\n"),
        ("\"tcp-newreno\"", "\"newreno\""),
        ("window", "size"),
        ("[[flow]]", "[flow]"),
    ] {
        assert!(changed(from, to).is_err(), "{from} -> {to}");
        assert!(!judged(&SMALL.replace(from, to)).is_empty(), "{from} -> {to}");
    }
}

#[test]
fn every_key_is_described() {
    fn walk(value: &Value, path: &str) {
        for (key, property) in value.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let described =
                property.get("description").is_some() || property.get("const").is_some() || key == "dialect";
            assert!(described, "{path}.{key}");
        }
        match value {
            Value::Object(object) => object.iter().for_each(|(key, value)| walk(value, &format!("{path}.{key}"))),
            Value::Array(items) => items.iter().for_each(|value| walk(value, path)),
            _ => {}
        }
    }
    walk(&headway_scenario::schema(), "");
}
