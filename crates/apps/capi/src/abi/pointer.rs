//! Memory of the caller: texts, datagrams, buffers and structures.

use crate::failure::Failure;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// Returns a text of the caller.
///
/// # Safety
///
/// The pointer is null, or that of a text with a zero byte at its end, which does not change during `'a`.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &'static str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::Null(name));
    }
    // SAFETY: the pointer is not null, so it is that of a text with a zero byte at its end.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| Failure::Argument { name, message: format!("the text is not UTF-8: {error}") })
}

/// Returns bytes of the caller. Without any, the pointer may be null.
///
/// # Safety
///
/// The pointer is null, or that of `len` bytes, which do not change during `'a`.
pub(super) unsafe fn bytes<'a>(pointer: *const u8, len: usize, name: &'static str) -> Result<&'a [u8], Failure> {
    if !is_memory(pointer, len, name)? {
        return Ok(&[]);
    }
    // SAFETY: the pointer is not null, so it is that of `len` bytes, and a slice may have as many.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// Returns a buffer of the caller. Without room, the pointer may be null.
///
/// # Safety
///
/// The pointer is null, or that of `size` bytes, which only this function uses during `'a`.
pub(super) unsafe fn buffer<'a>(
    pointer: *mut u8,
    size: usize,
    name: &'static str,
) -> Result<&'a mut [MaybeUninit<u8>], Failure> {
    if !is_memory(pointer, size, name)? {
        return Ok(&mut []);
    }
    // SAFETY: the pointer is not null, so it is that of `size` bytes, and a slice may have as many.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer.cast(), size) })
}

/// Returns whether there are bytes behind the pointer.
fn is_memory(pointer: *const u8, len: usize, name: &'static str) -> Result<bool, Failure> {
    if len > isize::MAX.unsigned_abs() {
        let message = format!("{len} bytes are more than the memory has; expected at most {}", isize::MAX);
        return Err(Failure::Argument { name, message });
    }
    if pointer.is_null() && len > 0 {
        return Err(Failure::Null(name));
    }
    Ok(len > 0)
}

/// Writes a structure, truncated to the size of the caller's structure, and sets the size field to the number of bytes
/// written. Later versions of the library may append fields. `least`: size of the structure in the first version, in
/// bytes.
///
/// # Safety
///
/// `T` is `repr(C)`, and its first field is its size with the type `usize`. The pointer is null, or that of such a
/// structure, which only this function uses.
pub(super) unsafe fn write_sized<T: Copy>(
    pointer: *mut T,
    value: T,
    least: usize,
    name: &'static str,
) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::Null(name));
    }
    // SAFETY: the first field of the structure is its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < least {
        let message = format!("size is {size}; expected at least {least}, the size of the structure");
        return Err(Failure::Argument { name, message });
    }
    let size = size.min(size_of::<T>());
    // SAFETY: the structure of the caller and `value` have at least `size` bytes, and `value` is a copy.
    unsafe {
        std::ptr::copy_nonoverlapping(std::ptr::from_ref(&value).cast::<u8>(), pointer.cast::<u8>(), size);
        pointer.cast::<usize>().write(size);
    }
    Ok(())
}
