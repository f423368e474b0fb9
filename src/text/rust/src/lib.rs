//! The C ABI of text/: Jinja chat templates. The C++ side declares the same functions in
//! `text/rust_abi.h`; keep the two together.
//!
//! Rules of every entry point: no panic crosses it, a failure returns null or false and leaves one
//! line for `pt_last_error` on the same thread, strings are UTF-8 with their length.

mod context;
mod json;
mod template;

use std::any::Any;
use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};

use context::Context;
use template::Template;

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| text.to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    format!("internal error in the template engine: {text}")
}

/// Runs `body`; an error or a panic becomes the thread's last error.
fn guarded<T>(body: impl FnOnce() -> Result<T, String>) -> Option<T> {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panic_text(panic)));
    outcome
        .map_err(|message| LAST_ERROR.with(|last| *last.borrow_mut() = message.replace('\n', " ")))
        .ok()
}

/// # Safety
/// `text` points to `length` readable bytes, or `length` is 0.
unsafe fn utf8<'a>(text: *const u8, length: usize) -> Result<&'a str, String> {
    if length == 0 {
        return Ok("");
    }
    let bytes = unsafe { std::slice::from_raw_parts(text, length) };
    std::str::from_utf8(bytes).map_err(|_| "not well-formed UTF-8".to_string())
}

/// The last failure of this thread; valid until its next call here.
#[no_mangle]
pub extern "C" fn pt_last_error(length: &mut usize) -> *const u8 {
    LAST_ERROR.with(|last| {
        let text = last.borrow();
        *length = text.len();
        text.as_ptr()
    })
}

/// # Safety
/// The three strings are readable. The result, if not null, ends in `pt_template_free`.
#[no_mangle]
pub unsafe extern "C" fn pt_template_new(
    source: *const u8,
    source_length: usize,
    bos: *const u8,
    bos_length: usize,
    eos: *const u8,
    eos_length: usize,
) -> *mut Template {
    guarded(|| {
        let (source, bos, eos) =
            unsafe { (utf8(source, source_length)?, utf8(bos, bos_length)?, utf8(eos, eos_length)?) };
        Template::new(source, bos, eos).map(|template| Box::into_raw(Box::new(template)))
    })
    .unwrap_or(std::ptr::null_mut())
}

/// # Safety
/// `template` is null or from `pt_template_new`, and not used again.
#[no_mangle]
pub unsafe extern "C" fn pt_template_free(template: *mut Template) {
    if !template.is_null() {
        guarded(|| {
            drop(unsafe { Box::from_raw(template) });
            Ok(())
        });
    }
}

/// # Safety
/// `json` is readable. The result, if not null, ends in `pt_context_free`.
#[no_mangle]
pub unsafe extern "C" fn pt_context_new(json: *const u8, length: usize) -> *mut Context {
    guarded(|| {
        let json = unsafe { utf8(json, length)? };
        Context::new(json).map(|context| Box::into_raw(Box::new(context)))
    })
    .unwrap_or(std::ptr::null_mut())
}

/// # Safety
/// `context` is null or from `pt_context_new`, and not used again.
#[no_mangle]
pub unsafe extern "C" fn pt_context_free(context: *mut Context) {
    if !context.is_null() {
        guarded(|| {
            drop(unsafe { Box::from_raw(context) });
            Ok(())
        });
    }
}

/// How many strings the context holds.
#[no_mangle]
pub extern "C" fn pt_context_size(context: &Context) -> usize {
    context.strings.len()
}

/// String `index`, or null if there is none; valid until it is set.
#[no_mangle]
pub extern "C" fn pt_context_get(context: &Context, index: usize, length: &mut usize) -> *const u8 {
    match context.strings.get(index) {
        Some(text) => {
            *length = text.len();
            text.as_ptr()
        }
        None => std::ptr::null(),
    }
}

/// Replaces string `index`.
///
/// # Safety
/// `text` is readable.
#[no_mangle]
pub unsafe extern "C" fn pt_context_set(
    context: &mut Context,
    index: usize,
    text: *const u8,
    length: usize,
) -> bool {
    guarded(|| {
        let text = unsafe { utf8(text, length)? };
        let slot = context.strings.get_mut(index).ok_or("no such string")?;
        *slot = text.to_string();
        Ok(())
    })
    .is_some()
}

/// The rendered text, or null. It ends in `pt_string_free` with the same length.
#[no_mangle]
pub extern "C" fn pt_template_render(
    template: &Template,
    context: &Context,
    length: &mut usize,
) -> *mut u8 {
    let Some(text) = guarded(|| template.render(context)) else {
        return std::ptr::null_mut();
    };
    *length = text.len();
    Box::into_raw(text.into_bytes().into_boxed_slice()) as *mut u8
}

/// # Safety
/// `text` and `length` are from `pt_template_render`, and not used again.
#[no_mangle]
pub unsafe extern "C" fn pt_string_free(text: *mut u8, length: usize) {
    if !text.is_null() {
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, length)) });
    }
}
