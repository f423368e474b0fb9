//! The `tojson` filter as chat templates expect it: Python's `json.dumps`, nothing escaped for HTML.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

const DEEPEST: usize = 200;

struct Style {
    ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sorted: bool,
}

/// `value | tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)`
pub fn tojson(_: &State, value: &Value, args: Kwargs) -> Result<Value, Error> {
    let indent: Option<Value> = args.get("indent")?;
    let indent = match indent {
        Some(value) if !value.is_none() => Some(match value.as_str() {
            Some(text) => text.to_string(),
            None => " ".repeat(usize::try_from(value)?.min(64)),
        }),
        _ => None,
    };
    let separators: Option<Value> = args.get("separators")?;
    let (item_separator, key_separator) = match separators {
        Some(value) if !value.is_none() => {
            let part = |index| Ok::<_, Error>(value.get_item_by_index(index)?.to_string());
            (part(0)?, part(1)?)
        }
        _ if indent.is_some() => (",".to_string(), ": ".to_string()),
        _ => (", ".to_string(), ": ".to_string()),
    };
    let style = Style {
        ascii: args.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        indent,
        item_separator,
        key_separator,
        sorted: args.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    args.assert_all_used()?;
    let mut out = String::new();
    write(&style, value, 0, &mut out)?;
    Ok(Value::from(out))
}

fn write(style: &Style, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(Error::new(ErrorKind::InvalidOperation, "tojson: nested too deeply"));
    }
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::String => write_string(style, value.as_str().unwrap_or_default(), out),
        ValueKind::Map => write_map(style, value, depth, out)?,
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> = value.try_iter()?.collect();
            write_items(style, ('[', ']'), items.len(), depth, out, |index, out| {
                write(style, &items[index], depth + 1, out)
            })?
        }
        kind => {
            let message = format!("tojson: {kind} has no JSON form");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
    }
    Ok(())
}

fn write_map(style: &Style, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
    let mut keys: Vec<Value> = value.try_iter()?.collect();
    if style.sorted {
        keys.sort();
    }
    write_items(style, ('{', '}'), keys.len(), depth, out, |index, out| {
        write_string(style, &keys[index].to_string(), out);
        out.push_str(&style.key_separator);
        write(style, &value.get_item(&keys[index])?, depth + 1, out)
    })
}

fn write_items(
    style: &Style,
    brackets: (char, char),
    count: usize,
    depth: usize,
    out: &mut String,
    mut item: impl FnMut(usize, &mut String) -> Result<(), Error>,
) -> Result<(), Error> {
    let line = |depth: usize, out: &mut String| {
        if let Some(indent) = &style.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    };
    out.push(brackets.0);
    for index in 0..count {
        if index > 0 {
            out.push_str(&style.item_separator);
        }
        line(depth + 1, out);
        item(index, out)?;
    }
    if count > 0 {
        line(depth, out);
    }
    out.push(brackets.1);
    Ok(())
}

fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(float) if !value.is_integer() => match float {
            _ if float.is_nan() => "NaN".to_string(),
            _ if float.is_infinite() => if float > 0.0 { "Infinity" } else { "-Infinity" }.to_string(),
            _ => python_float(float),
        },
        _ => value.to_string(),
    }
}

/// Shortest digits, as Python's repr: exponents from 1e16 up and below 1e-4.
fn python_float(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{float:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(rest) => ('-', rest),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{float:?}")
}

fn write_string(style: &Style, text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ..='\u{1f}' => out.push_str(&format!("\\u{:04x}", character as u32)),
            // Private-use planes stay as they are: the C++ side's placeholders live there.
            '\u{7f}'..='\u{effff}' if style.ascii => {
                let mut units = [0u16; 2];
                for unit in character.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}
