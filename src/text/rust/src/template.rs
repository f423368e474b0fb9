//! One compiled chat template, set up as the models' authors expect (Jinja2 as `transformers` uses it).

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

use crate::context::Context;
use crate::json;

const NAME: &str = "chat template";
/// Instructions and bytes that one rendering may cost; ends loops in well under a second.
const FUEL: u64 = 5_000_000;
/// Marks the text of raise_exception among other errors.
const RAISED: char = '\u{1}';

pub struct Template {
    environment: Environment<'static>,
}

impl Template {
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Template, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|error| error.to_string())?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(100);
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", json::tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_global("bos_token", bos);
        environment.add_global("eos_token", eos);
        environment
            .add_template_owned(NAME, without_generation_tags(source))
            .map_err(|error| format!("the chat template does not compile: {}", describe(&error)))?;
        Ok(Template { environment })
    }

    pub fn render(&self, context: &Context) -> Result<String, String> {
        self.environment
            .get_template(NAME)
            .and_then(|template| template.render(context.to_value()))
            .map_err(|error| match raised(&error) {
                Some(message) => format!("the chat template refuses these messages: {message}"),
                None => format!("the chat template failed: {}", describe(&error)),
            })
    }
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, format!("{RAISED}{message}")))
}

/// The message of raise_exception, if that is how `error` began.
fn raised(error: &Error) -> Option<String> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        let detail = current.downcast_ref::<Error>().and_then(Error::detail);
        if let Some(message) = detail.and_then(|text| text.strip_prefix(RAISED)) {
            return Some(message.to_string());
        }
        cause = current.source();
    }
    None
}

fn describe(error: &Error) -> String {
    if error.kind() == ErrorKind::OutOfFuel {
        return "it runs too long".to_string();
    }
    error.to_string()
}

/// `{% generation %}` only marks the assistant's part for training: it becomes a block that does
/// nothing, so that its whitespace control still counts.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(begin) = rest.find("{%") {
        let Some(length) = rest[begin..].find("%}").map(|end| end + 2) else { break };
        let tag = &rest[begin..begin + length];
        let word = tag[2..length - 2].trim_matches(|c: char| c.is_whitespace() || "+-".contains(c));
        out.push_str(&rest[..begin]);
        match word {
            "generation" => out.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => out.push_str(&tag.replace("endgeneration", "endif")),
            _ => out.push_str(tag),
        }
        rest = &rest[begin + length..];
    }
    out.push_str(rest);
    out
}

/// The C library's broken-down time: only it looks inside.
#[repr(C, align(8))]
struct BrokenDownTime([u8; 128]);

extern "C" {
    fn time(seconds: *mut i64) -> i64;
    fn localtime_r(seconds: *const i64, out: *mut BrokenDownTime) -> *mut BrokenDownTime;
    fn strftime(
        out: *mut u8,
        size: usize,
        format: *const std::ffi::c_char,
        time: *const BrokenDownTime,
    ) -> usize;
}

fn strftime_now(format: String) -> Result<String, Error> {
    let wrong = || Error::new(ErrorKind::InvalidOperation, "strftime_now: unusable format");
    if format.len() > 256 {
        return Err(wrong());
    }
    let format = std::ffi::CString::new(format).map_err(|_| wrong())?;
    let mut broken_down = BrokenDownTime([0; 128]);
    let mut out = [0u8; 4096];
    // SAFETY: both buffers are larger than what the C library writes; `out` is written up to its size.
    let length = unsafe {
        let now = time(std::ptr::null_mut());
        if localtime_r(&now, &mut broken_down).is_null() {
            return Err(wrong());
        }
        strftime(out.as_mut_ptr(), out.len(), format.as_ptr(), &broken_down)
    };
    Ok(String::from_utf8_lossy(&out[..length]).into_owned())
}
