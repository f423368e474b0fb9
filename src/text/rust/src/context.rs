//! What a template sees: a JSON object whose string values can be looked at and replaced from outside
//! before they become template values. Keys stay as they are.

use minijinja::value::Value;
use serde_json::Value as Json;

pub struct Context {
    tree: Json,
    /// Every string value of `tree`, in the order of a walk through it.
    pub strings: Vec<String>,
}

impl Context {
    pub fn new(json: &str) -> Result<Context, String> {
        // serde_json stops at 128 levels, so the walks below cannot run out of stack.
        let mut tree: Json =
            serde_json::from_str(json).map_err(|error| format!("chat messages: {error}"))?;
        if !tree.is_object() {
            return Err("chat messages: not a JSON object".to_string());
        }
        let mut strings = Vec::new();
        take_strings(&mut tree, &mut strings);
        Ok(Context { tree, strings })
    }

    pub fn to_value(&self) -> Value {
        to_value(&self.tree, &mut self.strings.iter())
    }
}

fn take_strings(json: &mut Json, strings: &mut Vec<String>) {
    match json {
        Json::String(text) => strings.push(std::mem::take(text)),
        Json::Array(items) => items.iter_mut().for_each(|item| take_strings(item, strings)),
        Json::Object(members) => members.values_mut().for_each(|item| take_strings(item, strings)),
        _ => {}
    }
}

fn to_value<'a>(json: &Json, strings: &mut impl Iterator<Item = &'a String>) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => number
            .as_i64()
            .map(Value::from)
            .or_else(|| number.as_u64().map(Value::from))
            .unwrap_or_else(|| Value::from(number.as_f64().unwrap_or(f64::NAN))),
        Json::String(_) => Value::from(strings.next().map(String::as_str).unwrap_or_default()),
        Json::Array(items) => {
            Value::from(items.iter().map(|item| to_value(item, strings)).collect::<Vec<_>>())
        }
        Json::Object(members) => {
            let pairs: Vec<_> =
                members.iter().map(|(key, item)| (key.clone(), to_value(item, strings))).collect();
            Value::from_pairs(pairs)
        }
    }
}
